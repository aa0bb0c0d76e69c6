"""Reranks the best candidates by their texts, and diversifies them. Pure, without a model.

A candidate without a text is not visible to the caller, and is left out. Diversification only
permutes: what gives way comes later, and nothing is dropped. The best stays first.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from pecia.kernel.corpus.keyword.analysis.tokenizer import interpret_query
from pecia.kernel.corpus.keyword.entry import KeywordHit
from pecia.kernel.corpus.keyword.query.parser import Query
from pecia.kernel.corpus.search.evidence import CandidateText, Evidence, measure_best_evidence
from pecia.kernel.corpus.search.fuse import SEMANTIC_WEIGHT, FusedHit, combine_scores

# How many candidates are read.
RERANK_DEPTH = 30

# Chosen on the training queries of SciFact, where words in the title gain nothing more: the
# keyword index counts them twice, and the vector holds them. No training text has headings.
EVIDENCE_WEIGHTS = Evidence(proximity=0.1, phrase=0.02, headings=0.02)
NO_EVIDENCE = Evidence()

# How much the match of a hit adds to its score, which is 1 for the best: words of a file's name, or
# a common one often said, bring up texts that hold little of the query. ADR 301 has the curves.
MATCH_WEIGHT = 0.5
NO_MATCHES: Mapping[int, float] = MappingProxyType({})

# A query whose nearest candidate is farther than this is near none: a third of SciFact's training
# queries are. docs/retrieval.md has the curve.
CLOSE_COSINE = 0.6

# This many hits of one file lose nothing; each further one is discounted by this factor.
# A file that the query names loses nothing.
MAX_UNDECAYED_HITS = 3
DECAY = 0.85

# A near-duplicate of a text above, and another hit of the same place, add little: a hit shows its
# neighbours, and its page is opened with it.
DUPLICATE_JACCARD = 0.8
DUPLICATE_FACTOR = 0.3

# Where files that were asked for all have a hit: as many as agents are shown.
FIRST_PAGE_HITS = 8

# Of these places, so many are for what is nearest in meaning in a file that the query names.
NEAREST_PLACES = 3

# Of so many hits in a row as a page has, at most this many are of one file, while others have any
# and the query does not name it.
MAX_PAGE_SHARE = 4


class RankedHit(NamedTuple):
    """A candidate with its final score, and what it is made of."""

    id: int
    file: Hashable
    score: float
    fused: FusedHit
    trust: float = 1.0
    evidence: Evidence = NO_EVIDENCE
    closeness: float = 1.0
    match: float = 0.0


def rerank(
    fused: Sequence[FusedHit],
    readings: Mapping[int, CandidateText],
    query: Query,
    *,
    weight: float = SEMANTIC_WEIGHT,
    weights: Evidence = EVIDENCE_WEIGHTS,
    matches: Mapping[int, float] = NO_MATCHES,
) -> list[RankedHit]:
    """The readable candidates, best first; ties by id. `weight` is that of `fuse`, `matches` how
    likely each answers.

    Lexical scores are scaled by how much of the query the best lexical candidate covers. Otherwise
    the best of bad matches would score like a perfect one and outweigh the semantic score. For the
    same reason semantic scores are scaled by how near the nearest candidate is.
    """
    asked = {it: interpret_query(query, it) for it in {it.language for it in readings.values()}}
    measured = [
        (it, reading, measure_best_evidence(reading, asked[reading.language]))
        for it in fused
        if (reading := readings.get(it.id)) is not None
    ]
    trust, closeness = _lexical_trust(measured), _semantic_closeness(measured)
    found = [
        RankedHit(
            it.id,
            reading.file,
            combine_scores(it.words, it.meaning, weight=weight, trust=trust, closeness=closeness)
            + evidence.weighted_sum(weights)
            + it.file
            + MATCH_WEIGHT * matches.get(it.id, 0.0),
            it,
            trust,
            evidence,
            closeness,
            matches.get(it.id, 0.0),
        )
        for it, reading, evidence in measured
    ]
    return sorted(found, key=lambda it: (-it.score, it.id))


def rerank_lexical(
    fused: Sequence[FusedHit],
    readings: Mapping[int, CandidateText],
    matches: Mapping[int, float],
) -> list[RankedHit]:
    """The readable candidates of a lexical search, best first; ties as they were fused."""
    found = [
        it._replace(score=it.score + MATCH_WEIGHT * match, match=match)
        for it in keep_fused_order(fused, readings)
        for match in (matches.get(it.id, 0.0),)
    ]
    return sorted(found, key=lambda it: -it.score)


def keep_fused_order(
    fused: Sequence[FusedHit], readings: Mapping[int, CandidateText]
) -> list[RankedHit]:
    """The candidates as they were fused: where no reranking was asked for."""
    return [
        RankedHit(it.id, readings[it.id].file, it.score, it) for it in fused if it.id in readings
    ]


def diversify(
    ranked: Sequence[RankedHit],
    readings: Mapping[int, CandidateText],
    close: Collection[Hashable] = (),
    first: int | None = None,
) -> list[RankedHit]:
    """The same candidates, best first; ties stay in order. Every candidate needs its reading.

    The best hit of each `close` file keeps a place among the first. `first` is how many places are
    looked at: those after them may stay as they were.
    """
    order = _sort_by_worth(ranked, _decayed_scores(ranked, readings, None if close else first))
    if _is_crowded(order[:first]):
        # Who comes instead is after those that were looked at.
        order = _spread_files(_sort_by_worth(ranked, _decayed_scores(ranked, readings, None)))
    return _promote_close_files(order, close)


def promote_nearest(
    order: Sequence[RankedHit],
    nearest: Mapping[int, float],
    readings: Mapping[int, CandidateText],
    kept: Collection[int] = (),
) -> list[RankedHit]:
    """The same, and three of the first places for what is nearest, each place of a file once: words
    find most pages of a named file, but not one that says it in others. Those `kept` stay first.
    """
    first = order[:FIRST_PAGE_HITS]
    promised = [it for it in first[-NEAREST_PLACES:] if it.id in kept]
    above = [it for it in first if it not in promised][
        : FIRST_PAGE_HITS - NEAREST_PLACES - len(promised)
    ]
    if not above:
        return [*order]
    ranked = {it.id: it for it in order}
    shown = {place for it in (*above, *promised) for place in _places(readings[it.id])}
    added: dict[int, RankedHit] = {}
    for id_, cosine in nearest.items():
        reading = readings.get(id_)
        if len(added) == NEAREST_PLACES:
            break
        is_above = any(it.id == id_ for it in (*above, *promised))
        if reading is None or is_above or not shown.isdisjoint(_places(reading)):
            continue
        shown |= _places(reading)
        # Its score is what the file's name gives: it was not fused.
        score = above[-1].score
        fused = FusedHit(id_, score, 0.0, cosine=cosine, file=score)
        added[id_] = ranked.get(id_) or RankedHit(id_, reading.file, score, fused)
    if not added:
        return [*order]
    leading = [*above, *added.values(), *promised]
    ids = {it.id for it in leading}
    return [*leading, *(it for it in order if it.id not in ids)]


def rank_unread(fused: Sequence[FusedHit], above: Sequence[RankedHit]) -> Iterator[RankedHit]:
    """Candidates whose text was not read, below those that were."""
    lowest = above[-1].score if above else 1.0
    for it in fused:
        yield RankedHit(it.id, None, min(lowest, it.score), it)


def rank_lexical_tail(
    hits: Sequence[KeywordHit], above: Sequence[RankedHit]
) -> Iterator[RankedHit]:
    """Lexical hits that were not ranked, below those that were."""
    lowest = above[-1].score if above else 1.0
    ranked = {it.id for it in above}
    best = hits[0].score if hits else 0.0
    for it in hits:
        if it.id not in ranked:
            ratio = it.score / best if best else 0.0
            yield RankedHit(it.id, it.group, lowest * ratio, FusedHit(it.id, lowest * ratio, ratio))


def assign_ranks(order: Sequence[RankedHit]) -> Iterator[tuple[RankedHit, float]]:
    """Each with its rank: 1 for the best, never above the one before."""
    best = order[0].score if order else 0.0
    rank = 1.0
    for it in order:
        rank = min(rank, it.score / best if best > 0 else 0.0)
        yield it, rank


def _lexical_trust(measured: Sequence[tuple[FusedHit, CandidateText, Evidence]]) -> float:
    best = max((it.words for it, _, _ in measured), default=0.0)
    return max((evidence.coverage for it, _, evidence in measured if it.words == best), default=1.0)


def _semantic_closeness(measured: Sequence[tuple[FusedHit, CandidateText, Evidence]]) -> float:
    nearest = max((it.cosine for it, _, _ in measured if it.cosine is not None), default=1.0)
    return min(1.0, max(0.0, nearest) / CLOSE_COSINE)


def _decayed_scores(
    ranked: Sequence[RankedHit], readings: Mapping[int, CandidateText], first: int | None
) -> dict[int, float]:
    """What each is worth beside those before it, as far as that is needed for the first."""
    hits: Counter[Hashable] = Counter()
    places: set[tuple[Hashable, str, int]] = set()
    kept: list[frozenset[str]] = []
    worth: dict[int, float] = {}
    for it in ranked:
        if first and _is_settled(worth, it, first):
            break
        reading = readings[it.id]
        hits[it.file] += 1
        words = frozenset(reading.text.lower().split())
        value = (
            it.score
            if it.fused.file
            else it.score * DECAY ** max(0, hits[it.file] - MAX_UNDECAYED_HITS)
        )
        if _is_shown(reading, places) or any(_are_duplicates(words, other) for other in kept):
            value *= DUPLICATE_FACTOR
        else:
            kept.append(words)
            places |= _places(reading)
        worth[it.id] = value
    return worth


def _is_shown(reading: CandidateText, places: Collection[tuple[Hashable, str, int]]) -> bool:
    """Whether a hit above shows this place: it is on the page, or the next chunk."""
    return any(it in places for it in _places(reading))


def _places(reading: CandidateText) -> set[tuple[Hashable, str, int]]:
    """Its page; or, where there are none, its chunk and those whose windows show it."""
    if reading.page is not None:
        return {(reading.file, "page", reading.page)}
    if reading.seq is None:
        return set()
    return {(reading.file, "gap", reading.seq), (reading.file, "gap", reading.seq + 1)}


def _is_settled(worth: Mapping[int, float], next_: RankedHit, first: int) -> bool:
    """Whether neither this one nor any after it comes among the first: nothing is worth more than
    it scores.
    """
    return sum(held >= next_.score for held in worth.values()) >= first


def _sort_by_worth(ranked: Sequence[RankedHit], worth: Mapping[int, float]) -> list[RankedHit]:
    weighed = sorted(ranked[: len(worth)], key=lambda it: -worth[it.id])
    return [*weighed, *ranked[len(worth) :]]


def _is_crowded(order: Sequence[RankedHit]) -> bool:
    return any(_is_over_share(it, order[:place]) for place, it in enumerate(order))


def _is_over_share(hit: RankedHit, above: Sequence[RankedHit]) -> bool:
    """Whether the hits just above have as many of its file as may be."""
    last = above[-(FIRST_PAGE_HITS - 1) :]
    return not hit.fused.file and sum(it.file == hit.file for it in last) >= MAX_PAGE_SHARE


def _spread_files(order: Sequence[RankedHit]) -> list[RankedHit]:
    """The same, each the best that is not over its share; the best of all where all are."""
    found: list[RankedHit] = []
    left = [*order]
    while left:
        best = next((it for it in left if not _is_over_share(it, found)), left[0])
        left.remove(best)
        found.append(best)
    return found


def _promote_close_files(order: list[RankedHit], close: Collection[Hashable]) -> list[RankedHit]:
    """The same, but that the best hit of each close file comes among the first."""
    best = {it.file: it.id for it in reversed(order) if it.file in close}
    first, rest = order[:FIRST_PAGE_HITS], order[FIRST_PAGE_HITS:]
    giving = [it for it in reversed(first[1:]) if best.get(it.file) != it.id]
    late = [it for it in rest if best.get(it.file) == it.id][: len(giving)]
    moved = {it.id for it in (*late, *giving[: len(late)])}
    return [
        *(it for it in first if it.id not in moved),
        *late,
        *reversed(giving[: len(late)]),
        *(it for it in rest if it.id not in moved),
    ]


def _are_duplicates(one: frozenset[str], other: frozenset[str]) -> bool:
    # Sets of very different size cannot share enough: no need to compare them.
    if len(one) < DUPLICATE_JACCARD * len(other) or len(other) < DUPLICATE_JACCARD * len(one):
        return False
    shared = len(one & other)
    return shared >= DUPLICATE_JACCARD * (len(one) + len(other) - shared)
