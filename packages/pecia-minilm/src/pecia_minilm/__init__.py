"""Where the model and its tokenizer lie. No other code: whoever reads them brings the runtime."""

from pathlib import Path

NAME = "all-MiniLM-L6-v2-int8"
DIMENSION = 384
MAX_TOKENS = 256

MODEL_SHA256 = "dfbfe594a288d33240689a8d8aa593312e050544d1228f218133024ceb6091ba"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"


def model_path() -> Path:
    """Token ids and mask in, one vector of length one a text out."""
    return Path(__file__).parent / "model.int8.onnx"


def tokenizer_path() -> Path:
    """The tokenizer as its authors published it."""
    return Path(__file__).parent / "tokenizer.json"
