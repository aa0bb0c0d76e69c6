"""A list in which one file does not take every place, and nothing is said twice. Pure.

It only permutes: what gives way comes later, and nothing is dropped. The best stays first.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from pecia.kernel.corpus.rank.evidence import Reading
from pecia.kernel.corpus.rank.rerank import Ranked

# So many hits of one file lose nothing; each one more is held to be worth so much of the last.
FREE_HITS = 3
DECAY = 0.85

# Texts are twins when they share so much of their words, and a twin is worth little.
TWINS = 0.8
TWIN_WORTH = 0.3


def diversify(ranked: Sequence[Ranked], readings: Mapping[int, Reading]) -> list[Ranked]:
    """The same candidates, best first; ties stay in order. Every candidate needs its reading."""
    hits: Counter[Hashable] = Counter()
    kept: list[frozenset[str]] = []
    worth: dict[int, float] = {}
    for it in ranked:
        hits[it.file] += 1
        words = frozenset(readings[it.id].text.lower().split())
        value = it.score * DECAY ** max(0, hits[it.file] - FREE_HITS)
        if any(_are_twins(words, other) for other in kept):
            value *= TWIN_WORTH
        else:
            kept.append(words)
        worth[it.id] = value
    return sorted(ranked, key=lambda it: -worth[it.id])


def _are_twins(one: frozenset[str], other: frozenset[str]) -> bool:
    small, large = sorted((len(one), len(other)))
    # Sets of very different size cannot share enough: no need to compare them.
    if small < TWINS * large:
        return False
    shared = len(one & other)
    return shared >= TWINS * (len(one) + len(other) - shared)
