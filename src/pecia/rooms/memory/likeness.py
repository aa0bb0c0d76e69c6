"""How like two texts are by their words, for what has no vector and beside what has. Pure."""

import re

from pecia.kernel.corpus.index.words import cjk_wanted, content_words, without_cjk, words_of

ENOUGH_WORDS = 4

_ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|s|e)$")


def terms(text: str) -> frozenset[str]:
    """The words that carry a text, without common endings; where there are no blanks, pairs."""
    words = (_ENDING.sub("", it) for it in content_words(text) if without_cjk(it))
    return frozenset(words) | frozenset(cjk_wanted(text))


def stems(text: str) -> frozenset[str]:
    """All words of a text, in the same shape. Cheaper, for texts that are only looked into."""
    return frozenset(_ENDING.sub("", it) for it in words_of(text)) | frozenset(cjk_wanted(text))


class Asked:
    """A query, to be compared with many texts."""

    def __init__(self, query: str) -> None:
        self._terms = terms(query)
        self._trust = 0.5 + 0.5 * min(1.0, len(self._terms) / ENOUGH_WORDS)

    def coverage(self, text: str) -> float:
        """Which share of the query's words a text holds, from 0 to 1."""
        held = len(self._terms & stems(text))
        return held / len(self._terms) if self._terms else 0.0

    def similarity(self, text: str, cosine: float | None) -> float:
        """By meaning, or by words where those say more.

        Half of the words are worth a quarter, and few words less than many: one word that is there
        says little. Rounded, so that what is shown and what is compared are the same number.
        """
        by_words = self._trust * self.coverage(text) ** 2
        return round(min(1.0, max(0.0, cosine or 0.0, by_words)), 6)


def coverage(query: str, text: str) -> float:
    return Asked(query).coverage(text)


def overlap(one: str, other: str) -> float:
    """Which share of the words of both are in each, from 0 to 1."""
    a, b = terms(one), terms(other)
    return len(a & b) / len(a | b) if a | b else 0.0
