"""Where the model and its tokenizer lie, and which languages it was taught. No other code: whoever
reads them brings the runtime.
"""

from pathlib import Path

NAME = "polyglot-minilm-2"
DIMENSION = 384
MAX_TOKENS = 256

MODEL_SHA256 = "7123000ec56f7c87b5844c627c256a1400025a4177dd04a04dafa0699c2ebc35"
LEXICON_SHA256 = "7a861d0d5e92e1291ac61ea47bcf2701bb2ef2ca6e79f7a70ec178badc7499e1"
TOKENIZER_SHA256 = "714da34f7d8857770219c1e0cc08d5b96253628103a51f1514da3bc3465e4195"


def model_path() -> Path:
    """Token ids and mask in, one vector of length one a text out: MiniLM's of its translation."""
    return Path(__file__).parent / "model.onnx"


def tokenizer_path() -> Path:
    """Byte pairs over 63 languages, with the signs around a text."""
    return Path(__file__).parent / "tokenizer.json"


def lexicon_path() -> Path:
    """Words of 63 languages with their translations into English, and trigrams of 64."""
    return Path(__file__).parent / "lexicon.zip"
