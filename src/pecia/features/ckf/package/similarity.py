"""Pairs near-duplicate items of two lists. Symmetric.

Only texts that share one of their rarest words are compared (prefix filtering): any pair above the
threshold must.
"""

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

MIN_SIMILARITY = 0.85


@dataclass(frozen=True, slots=True)
class SimilarPair:
    """Indices into both lists, and the Jaccard similarity."""

    first: int
    second: int
    score: float


def normalize_words(text: str) -> str:
    """Words only, in lower case, without accents."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    letters = "".join(it for it in decomposed if not unicodedata.combining(it))
    return " ".join(_WORD.findall(letters))


def word_set(text: str) -> frozenset[str]:
    return frozenset(normalize_words(text).split())


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    if not first or not second:
        return 0.0
    shared = len(first & second)
    return shared / (len(first) + len(second) - shared)


def pair_similar(
    first: list[str], second: list[str], least: float = MIN_SIMILARITY
) -> list[SimilarPair]:
    """The best pairs, each index in one at most."""
    sets = [word_set(it) for it in first], [word_set(it) for it in second]
    found = [it for it in _candidates(*sets, least) if it.score >= least]
    # Ties are broken by the texts, so that swapping the lists swaps the pairs.
    found.sort(key=lambda it: (-it.score, *sorted((first[it.first], second[it.second]))))
    used: tuple[set[int], set[int]] = set(), set()
    chosen: list[SimilarPair] = []
    for it in found:
        if it.first not in used[0] and it.second not in used[1]:
            used[0].add(it.first)
            used[1].add(it.second)
            chosen.append(it)
    return chosen


def _candidates(
    first: list[frozenset[str]], second: list[frozenset[str]], least: float
) -> Iterator[SimilarPair]:
    counts = Counter(word for words in (*first, *second) for word in words)
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for number, words in enumerate(second):
        for word in _rarest(words, counts, least):
            holders[word].append(number)
    for number, words in enumerate(first):
        others = {it for word in _rarest(words, counts, least) for it in holders[word]}
        for other in sorted(others):
            yield SimilarPair(number, other, jaccard(words, second[other]))


def _rarest(words: frozenset[str], counts: Counter[str], least: float) -> list[str]:
    size = len(words) - math.ceil(least * len(words)) + 1
    return sorted(words, key=lambda it: (counts[it], it))[:size]


_WORD = re.compile(r"\w+")
