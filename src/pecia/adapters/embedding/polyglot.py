"""English by MiniLM, every other language by its student: two models, one vector space.

The student was trained to give a text the vector that MiniLM gives its English translation, so a
question in one language finds text in another. The student
is loaded with the first text that is not English.
"""

import re
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Self

import orjson
from anyio.to_thread import run_sync

from pecia.adapters.embedding.model_files import ModelFiles, find_shipped_model
from pecia.adapters.embedding.onnx import OnnxEmbedder
from pecia.kernel.corpus.keyword.analysis.token_filters import detect_language
from pecia.kernel.corpus.vectors.embedder import Embedder, Vectors

# Of texts whose function words say nothing: English has this share of its words in MiniLM's
# vocabulary. Chosen on strings of programs in 26 languages: of four to seven words, 3 % of the
# others pass, and 3 % of the English ones go to the student, which knows English too.
MIN_KNOWN_SHARE = 0.6
# Of the letters of an English text: more than a name or a quotation in another script.
MAX_FOREIGN_SHARE = 0.2
LAST_LATIN = "\u024f"
# Acronyms are of no language.
MAX_ACRONYM = 6
ENDINGS = ("s", "es", "ed", "ing", "ly", "er", "ers", "al", "ity", "ation", "ment", "able", "ness")
# A text shows its language at the beginning.
SAMPLE_CHARS = 2000

_WORD = re.compile(r"[^\W_]{2,}")


class PolyglotEmbedder:
    """Embeds each text with the model that knows its language."""

    language = ""

    def __init__(self, english: Embedder, others: Embedder) -> None:
        """`english` runs the shipped model, `others` its student."""
        self.name = f"{english.name}+{others.name}"
        self._english = english
        self._others = others
        self._tokenizer = find_shipped_model().tokenizer
        self._known: frozenset[str] = frozenset()

    @classmethod
    def in_process(cls, *, threads: int = 2) -> Self:
        """With both models in this process."""
        english, others = find_shipped_model(), find_student()
        return cls(OnnxEmbedder(english, threads=threads), OnnxEmbedder(others, threads=threads))

    async def dimension(self) -> int:
        return await self._english.dimension()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        if not self._known:
            self._known = await run_sync(read_vocabulary, self._tokenizer)
        english = [is_english(it, self._known) for it in texts]
        if len(set(english)) <= 1:
            # A query: nothing to put together, and no other model to wait for.
            return await (self._english if all(english) else self._others).embed(texts)
        vectors = np.zeros((len(texts), await self.dimension()), np.float32)
        for embedder, chosen in ((self._english, True), (self._others, False)):
            rows = [at for at, it in enumerate(english) if it is chosen]
            vectors[rows] = await embedder.embed([texts[at] for at in rows])
        return vectors


def is_english(text: str, known: frozenset[str]) -> bool:
    """Whether a text is English, as far as its words tell. One without words is."""
    sample = text[:SAMPLE_CHARS]
    if _is_mostly_foreign(sample):
        return False
    if detected := detect_language(sample):
        return detected == "en"
    words = [it for it in _WORD.findall(sample) if _may_tell(it)]
    return sum(_is_known(it.lower(), known) for it in words) >= MIN_KNOWN_SHARE * len(words)


def _is_mostly_foreign(text: str) -> bool:
    """Whether much of a text is in other scripts: MiniLM would read its English paragraph alone."""
    letters = [it for it in text if it.isalpha()]
    foreign = sum(it > LAST_LATIN for it in letters)
    return foreign > MAX_FOREIGN_SHARE * len(letters)


def _is_known(word: str, known: frozenset[str]) -> bool:
    stems = (word.removesuffix(it) for it in ENDINGS if word.endswith(it))
    return word in known or any(
        len(stem) > 2 and (stem in known or f"{stem}e" in known) for stem in stems
    )


def _may_tell(word: str) -> bool:
    if word.isupper() and word.isascii() and len(word) <= MAX_ACRONYM:
        return False
    return not any(map(str.isdigit, word))


@cache
def read_vocabulary(tokenizer: Path) -> frozenset[str]:
    """The whole words among the pieces of MiniLM's tokenizer: frequent words of English."""
    pieces: dict[str, int] = orjson.loads(tokenizer.read_bytes())["model"]["vocab"]
    return frozenset(it for it in pieces if len(it) > 1 and it.isascii() and it.isalpha())


def find_student() -> ModelFiles:
    """The model of the package `pecia-polyglot`."""
    package = import_module("pecia_polyglot")
    return ModelFiles(
        package.NAME,
        package.model_path(),
        package.tokenizer_path(),
        package.MAX_TOKENS,
        alone=True,
    )
