"""The last look at the best candidates, at what they say. Pure, deterministic, without a model.

A candidate without a reading is not the caller's to see, and is left out.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from pecia.kernel.corpus.keyword.analysis.tokenizer import tokenize_query
from pecia.kernel.corpus.keyword.query.parser import Query
from pecia.kernel.corpus.search.evidence import CandidateText, Evidence, measure_evidence
from pecia.kernel.corpus.search.fuse import SEMANTIC_WEIGHT, FusedHit, combine_scores

# How many candidates are worth reading.
RERANK_DEPTH = 30

# Chosen on the training queries of SciFact, where words in the title gain nothing more: the
# keyword index counts them twice, and the vector holds them. No training text has headings.
EVIDENCE_WEIGHTS = Evidence(proximity=0.1, phrase=0.02, headings=0.02)
NO_EVIDENCE = Evidence()


class RankedHit(NamedTuple):
    """A candidate with its place earned, and what earned it."""

    id: int
    file: Hashable
    score: float
    fused: FusedHit
    trust: float = 1.0
    evidence: Evidence = NO_EVIDENCE


def rerank(
    fused: Sequence[FusedHit],
    readings: Mapping[int, CandidateText],
    query: Query,
    *,
    weight: float = SEMANTIC_WEIGHT,
    weights: Evidence = EVIDENCE_WEIGHTS,
) -> list[RankedHit]:
    """The candidates that can be read, best first; ties by id. `weight` is that of `fuse`.

    The keyword arm is believed as far as its best candidate holds the words of the query. A best
    one among the bad is otherwise as loud as a perfect one, and drowns the meaning.
    """
    asked: dict[str, tuple[str, ...]] = {}
    seen: list[tuple[FusedHit, CandidateText, Evidence]] = []
    for it in fused:
        if (reading := readings.get(it.id)) is not None:
            if reading.language not in asked:
                asked[reading.language] = tokenize_query(query, reading.language)
            seen.append((it, reading, measure_evidence(reading, asked[reading.language])))
    trust = _lexical_trust(seen)
    found = [
        RankedHit(
            it.id,
            reading.file,
            combine_scores(it.words, it.meaning, weight=weight, trust=trust)
            + said.weighted_sum(weights)
            + it.file,
            it,
            trust,
            said,
        )
        for it, reading, said in seen
    ]
    return sorted(found, key=lambda it: (-it.score, it.id))


def keep_fused_order(
    fused: Sequence[FusedHit], readings: Mapping[int, CandidateText]
) -> list[RankedHit]:
    """The candidates as they were fused: for search by words alone, or when time is over."""
    return [
        RankedHit(it.id, readings[it.id].file, it.score, it) for it in fused if it.id in readings
    ]


def _lexical_trust(seen: Sequence[tuple[FusedHit, CandidateText, Evidence]]) -> float:
    best = max((it.words for it, _, _ in seen), default=0.0)
    return max((said.coverage for it, _, said in seen if it.words == best), default=1.0)
