"""What two arms found, made one list, by convex combination. Pure: no index, no clock."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from pecia.kernel.corpus.keyword.analysis.token_filters import detect_language

# Chosen on the training queries of SciFact; docs/retrieval.md has the curve.
SEMANTIC_WEIGHT = 0.4
# A model of one language still sees names and numbers in another.
FOREIGN_SEMANTIC_WEIGHT = 0.2

NO_SCORES: Mapping[int, float] = MappingProxyType({})

_LETTER = re.compile(r"[^\W\d_]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")


class FusedHit(NamedTuple):
    """One candidate. `words` and `meaning` are what the arms gave, from 0 to 1.

    `meaning` and `cosine` are None for a candidate that has no vector yet. `file` is what its file
    earned by being named, and a part of the score.
    """

    id: int
    score: float
    words: float
    meaning: float | None = None
    cosine: float | None = None
    file: float = 0.0


def fuse(
    scores_by_words: Mapping[int, float],
    cosines: Mapping[int, float],
    *,
    weight: float = SEMANTIC_WEIGHT,
    by_file: Mapping[int, float] = NO_SCORES,
) -> list[FusedHit]:
    """The candidates of both arms, best first; ties by id.

    The keyword arm is divided by its best score. Cosines, exact for every candidate that has a
    vector, are stretched between the worst and the best. `by_file` is what to add for a
    candidate's file.
    """
    best = max(scores_by_words.values(), default=0.0) or 1.0
    low, high = min(cosines.values(), default=0.0), max(cosines.values(), default=0.0)
    found: list[FusedHit] = []
    for id_ in {*scores_by_words, *cosines}:
        words = scores_by_words.get(id_, 0.0) / best
        cosine = cosines.get(id_)
        meaning = None if cosine is None else _min_max_normalize(cosine, low, high)
        file = by_file.get(id_, 0.0)
        score = combine_scores(words, meaning, weight=weight) + file
        found.append(FusedHit(id_, score, words, meaning, cosine, file))
    return sorted(found, key=lambda it: (-it.score, it.id))


def combine_scores(
    words: float, meaning: float | None, *, weight: float, trust: float = 1.0
) -> float:
    """Both arms in one number. `trust` is how far the keyword arm is believed for this query.

    Without a vector the meaning is taken to be as good as the words are, so that a text loses no
    rank for waiting.
    """
    return (1 - weight) * trust * words + weight * (words if meaning is None else meaning)


def choose_semantic_weight(query: str, language: str) -> float:
    """How much meaning counts for a query, where the embedder understands one language well.

    An empty language is an embedder that understands many.
    """
    if not language or _may_be_in(query, language):
        return SEMANTIC_WEIGHT
    return FOREIGN_SEMANTIC_WEIGHT


def _min_max_normalize(cosine: float, low: float, high: float) -> float:
    # A lone cosine, or equal ones, say nothing against any candidate.
    return (cosine - low) / (high - low) if high > low else 1.0


def _may_be_in(query: str, language: str) -> bool:
    spoken = detect_language(query)
    if spoken:
        return spoken == language
    # Too few words to tell; the script still may. Every model of one language so far is Latin.
    return 2 * len(_LATIN.findall(query)) >= len(_LETTER.findall(query))
