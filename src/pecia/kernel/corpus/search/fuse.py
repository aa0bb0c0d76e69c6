"""Candidates, and their lexical and semantic scores fused by convex combination. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from pecia.kernel.corpus.keyword.analysis.analyzer import SHORT_FILE_CHUNKS
from pecia.kernel.corpus.keyword.analysis.token_filters import detect_language
from pecia.kernel.corpus.keyword.entry import KeywordHit
from pecia.kernel.corpus.search.named_files import NamedFiles

# Chosen on the training queries of SciFact; docs/retrieval.md has the curve.
SEMANTIC_WEIGHT = 0.4
# A model of one language still matches names and numbers in another.
FOREIGN_SEMANTIC_WEIGHT = 0.2
# Best unnamed files that keep a hit beside the named ones: a query may contain a file's name by
# accident.
MAX_UNNAMED_FILES = 1

NO_SCORES: Mapping[int, float] = MappingProxyType({})

_LETTER = re.compile(r"[^\W\d_]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")


class FusedHit(NamedTuple):
    """One candidate. `words` and `meaning` are its lexical and semantic scores, from 0 to 1.

    `meaning` and `cosine` are None for a candidate that has no vector yet. `file` is the
    bonus of a named file, part of the score.
    """

    id: int
    score: float
    words: float
    meaning: float | None = None
    cosine: float | None = None
    file: float = 0.0


@dataclass(frozen=True, slots=True)
class CandidatePool:
    """Chunks with their lexical scores and what the file of each adds.

    The best hit of each file of `close` comes among the first hits. `unnamed` are best hits of
    files that the query does not name: they are always read. `nearest` are chunks of `close` files
    with their cosines, nearest first: what says it in other words. They are not fused.
    """

    scores: Mapping[int, float]
    by_file: Mapping[int, float] = field(default_factory=dict[int, float])
    close: tuple[int, ...] = ()
    unnamed: tuple[int, ...] = ()
    nearest: Mapping[int, float] = field(default_factory=dict[int, float])

    def top(self, fused: Sequence[FusedHit], depth: int) -> list[FusedHit]:
        """The first `depth`, in order, with those that are always read."""
        late = [it for it in fused[depth:] if it.id in self.unnamed]
        return [*fused[: depth - len(late)], *late]


def build_pool(found: Sequence[KeywordHit]) -> CandidatePool:
    """The pool of a query that names no file."""
    return CandidatePool({it.id: it.score for it in found})


def has_context(hits: Sequence[KeywordHit]) -> bool:
    """Whether the file of one has other chunks that count. Else no score by context is needed."""
    return any(1 < it.chunks <= SHORT_FILE_CHUNKS for it in hits)


def apply_context(
    hits: Sequence[KeywordHit], context: Mapping[int, float], depth: int
) -> list[KeywordHit]:
    """The hits, the first `depth` of them with their scores by context, and by those; the others
    stay below.
    """
    first, rest = hits[:depth], hits[depth:]
    if not has_context(first):
        return [*hits]
    scored = [it._replace(score=context.get(it.id, it.score)) for it in first]
    scored.sort(key=lambda it: (-it.score, it.id))
    share = min(1.0, scored[-1].score / first[-1].score) if first[-1].score else 1.0
    return [*scored, *(it._replace(score=it.score * share) for it in rest)]


def merge_pools(
    found: Sequence[KeywordHit], inside: Sequence[KeywordHit], named: NamedFiles
) -> CandidatePool:
    """The best hits everywhere and the best inside the named files, best first each, as one pool.

    The two searches use different words, so scores are normalised by the best. A score inside a
    file is scaled by the file's score for the whole query: without that, the best page of a file
    that is named by accident is as good as the best of all.
    """
    best = _best(found)
    reach = {it.group: it.score / best for it in reversed(found)}
    scores = {it.id: it.score / best for it in found}
    best_inside = _best(inside)
    scores |= {it.id: it.score / best_inside * reach.get(it.group, 1.0) for it in inside}
    first_of = {it.group: it.id for it in reversed(found) if it.group not in named.files}
    order = [it.group for it in found if first_of.get(it.group) == it.id][:MAX_UNNAMED_FILES]
    return CandidatePool(
        scores,
        {it.id: named.files[it.group] for it in inside},
        (*named.close, *order),
        tuple(first_of[it] for it in order),
    )


def fuse(
    scores_by_words: Mapping[int, float],
    cosines: Mapping[int, float],
    *,
    weight: float = SEMANTIC_WEIGHT,
    by_file: Mapping[int, float] = NO_SCORES,
) -> list[FusedHit]:
    """The candidates of both retrievers, best first; ties by id.

    Lexical scores are divided by the best. Cosines, exact for every candidate that has a vector,
    are min-max normalised. `by_file` is the bonus of a candidate's file.
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
    words: float,
    meaning: float | None,
    *,
    weight: float,
    trust: float = 1.0,
    closeness: float = 1.0,
) -> float:
    """Both scores in one number. `trust` scales the lexical score for this query, `closeness` the
    semantic one.

    Without a vector the semantic score is taken to equal the lexical one, so that a text loses no
    rank while it waits to be embedded.
    """
    semantic = words if meaning is None else closeness * meaning
    return (1 - weight) * trust * words + weight * semantic


def choose_semantic_weight(query: str, language: str) -> float:
    """The semantic weight of a query, lower if it is not in the embedder's language.

    An empty language: a multilingual embedder.
    """
    if not language or _may_be_in(query, language):
        return SEMANTIC_WEIGHT
    return FOREIGN_SEMANTIC_WEIGHT


def _best(hits: Sequence[KeywordHit]) -> float:
    return max((it.score for it in hits), default=0.0) or 1.0


def _min_max_normalize(cosine: float, low: float, high: float) -> float:
    # A lone cosine, or equal ones, say nothing against any candidate.
    return (cosine - low) / (high - low) if high > low else 1.0


def _may_be_in(query: str, language: str) -> bool:
    spoken = detect_language(query)
    if spoken:
        return spoken == language
    # Too few words to detect a language: use the script. Every such model so far is Latin.
    return 2 * len(_LATIN.findall(query)) >= len(_LETTER.findall(query))
