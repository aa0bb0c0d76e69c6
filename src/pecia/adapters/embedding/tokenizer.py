"""Texts as token ids, cut to what the model reads. Imports the tokenizer at the first use."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from pecia.adapters.embedding.model_files import ModelFiles, unusable_file_error


class ModelTokenizer:
    """The tokenizer of one model."""

    def __init__(self, files: ModelFiles, *, special: bool) -> None:
        """`special`: with the signs that a model expects around a text."""
        # Its stubs are incomplete.
        kind: Any = import_module("tokenizers").Tokenizer
        try:
            self._tokenizer = kind.from_file(str(files.tokenizer))
        # It raises plain exceptions for a bad file.
        except Exception as error:
            raise unusable_file_error(files.tokenizer, type(error).__name__) from error
        self._tokenizer.enable_truncation(files.max_tokens)
        self._tokenizer.no_padding()
        self._special = special
        self._max_chars = files.max_chars

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        # A lone surrogate is no character, and the tokenizer takes none.
        cut = [text[: self._max_chars].encode(errors="replace").decode() for text in texts]
        found = self._tokenizer.encode_batch(cut, add_special_tokens=self._special)
        return [it.ids for it in found]
