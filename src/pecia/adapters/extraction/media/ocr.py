"""The engine that reads letters in pictures, when the extra [ocr] is installed."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

# What the extra consists of: that works beside a checkout and beside a wheel.
WITHOUT_OCR = (
    "Letters in pictures are read when the extra [ocr] is installed beside Pecia: "
    "pip install 'rapidocr>=3.10,<4'."
)


@cache
def find_ocr() -> "RapidOcr | None":
    """The engine, loaded once a child. Nothing is fetched: its weights are in its package."""
    return RapidOcr() if find_spec("rapidocr") is not None else None


class RapidOcr:
    name = "rapidocr"
    library = "rapidocr"

    def __init__(self) -> None:
        self._engine: Any = None

    def read(self, picture: bytes) -> str:
        """The lines in the picture, top to bottom."""
        if self._engine is None:
            self._engine = import_module("rapidocr").RapidOCR()
        found = self._engine(picture)
        return "\n".join(found.txts or ())
