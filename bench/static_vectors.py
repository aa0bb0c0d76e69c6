"""Cheap vectors of real words: every word a random direction, a text the sum of its words.

No model: they cost what a model's cost to find, and texts that share rare words lie near each
other, as a model's would. Points drawn at random lie all equally far, and no index finds those.
"""

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

DIMS = 384
ROWS = 2**16
# Enough to know which words are common.
SAMPLED = 20_000
TOGETHER = 2000

_WORD = re.compile(r"[a-z]{2,}")


class StaticVectors:
    """Vectors of texts. A word lies where the texts lie that hold it, in a sample of all."""

    def __init__(self, sample: Iterable[str]) -> None:
        texts = [[*{*_rows(it)}] for it in islice(sample, SAMPLED)]
        held = Counter(row for text in texts for row in text)
        weights = np.array([math.log(1 + len(texts) / (1 + held[it])) for it in range(ROWS)])
        chance = np.random.default_rng(3).normal(size=(ROWS, DIMS))
        words = (chance * weights[:, None]).astype(np.float32)
        learnt = np.zeros_like(words)
        for text in texts:
            learnt[text] += _unit(words[text].sum(axis=0, keepdims=True))
        # Words that few texts hold keep some of a direction of their own.
        mixed = _unit(learnt - learnt.mean(axis=0)) + 0.3 * _unit(words)
        self._words = (_unit(mixed) * weights[:, None]).astype(np.float32)

    def of(self, texts: Sequence[str]) -> Any:
        """One row of length one for each text, as a database with half the precision holds it."""
        near = _unit(np.stack([self._sum(it) for it in texts]))
        return near.astype(np.float16).astype(np.float32)

    def each(self, texts: Iterable[str]) -> Iterator[Any]:
        """The same of many texts, a portion at a time."""
        waiting = iter(texts)
        while portion := list(islice(waiting, TOGETHER)):
            yield from self.of(portion)

    def _sum(self, text: str) -> Any:
        # A text without words lies somewhere: everything has a place.
        rows = list(dict.fromkeys(_rows(text))) or [0]
        return self._words[rows].sum(axis=0)


def _unit(rows: Any) -> Any:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def _rows(text: str) -> Iterator[int]:
    return (zlib.crc32(it.encode()) % ROWS for it in _WORD.findall(text.lower()))
