"""Where the model and its tokenizer lie, and which languages it was taught. No other code: whoever
reads them brings the runtime.
"""

from pathlib import Path

NAME = "polyglot-minilm-1"
DIMENSION = 384
MAX_TOKENS = 256

MODEL_SHA256 = "5eafd845858cfb86fbf0381cf76a336a89eae5571cce77239048632e72670ddf"
LEXICON_SHA256 = "186fad61fa76c7a495727abec490a200579938cb047d1c8d3305e0ffdd61a2ad"
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
