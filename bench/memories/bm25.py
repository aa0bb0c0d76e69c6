"""Plain BM25 over whole texts, to compare with: lower case, no stemming, no stop words."""

import math
import re
from collections import Counter
from collections.abc import Sequence

K1, B = 1.2, 0.75
_WORD = re.compile(r"[a-z0-9]+")


class Bm25:
    def __init__(self, texts: Sequence[str]) -> None:
        self._counts = [Counter(_WORD.findall(it.lower())) for it in texts]
        self._lengths = [it.total() for it in self._counts]
        self._mean = sum(self._lengths) / max(1, len(texts))
        self._documents = Counter(word for it in self._counts for word in it)

    def rank(self, query: str) -> list[int]:
        """The texts that have a word of the query, best first."""
        words = {*_WORD.findall(query.lower())} & self._documents.keys()
        scores = {n: self._score(n, words) for n in range(len(self._counts))}
        found = [n for n, score in scores.items() if score > 0]
        return sorted(found, key=lambda n: (-scores[n], n))

    def _score(self, n: int, words: set[str]) -> float:
        total = 0.0
        norm = K1 * (1 - B + B * self._lengths[n] / self._mean)
        for word in words:
            if count := self._counts[n][word]:
                having = self._documents[word]
                idf = math.log(1 + (len(self._counts) - having + 0.5) / (having + 0.5))
                total += idf * count * (K1 + 1) / (count + norm)
        return total
