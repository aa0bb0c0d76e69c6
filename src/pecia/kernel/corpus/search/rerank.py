"""Reranks the best candidates by their texts. Pure, deterministic, without a model.

A candidate without a text is not visible to the caller, and is left out.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from pecia.kernel.corpus.keyword.analysis.tokenizer import tokenize_query
from pecia.kernel.corpus.keyword.query.parser import Query
from pecia.kernel.corpus.search.evidence import CandidateText, Evidence, measure_evidence
from pecia.kernel.corpus.search.fuse import SEMANTIC_WEIGHT, FusedHit, combine_scores

# How many candidates are read.
RERANK_DEPTH = 30

# Chosen on the training queries of SciFact, where words in the title gain nothing more: the
# keyword index counts them twice, and the vector holds them. No training text has headings.
EVIDENCE_WEIGHTS = Evidence(proximity=0.1, phrase=0.02, headings=0.02)
NO_EVIDENCE = Evidence()


class RankedHit(NamedTuple):
    """A candidate with its final score, and what it is made of."""

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
    """The readable candidates, best first; ties by id. `weight` is that of `fuse`.

    Lexical scores are scaled by how much of the query the best lexical candidate covers. Otherwise
    the best of bad matches would score like a perfect one and outweigh the semantic score.
    """
    terms: dict[str, tuple[str, ...]] = {}
    measured: list[tuple[FusedHit, CandidateText, Evidence]] = []
    for it in fused:
        if (reading := readings.get(it.id)) is not None:
            if reading.language not in terms:
                terms[reading.language] = tokenize_query(query, reading.language)
            measured.append((it, reading, measure_evidence(reading, terms[reading.language])))
    trust = _lexical_trust(measured)
    found = [
        RankedHit(
            it.id,
            reading.file,
            combine_scores(it.words, it.meaning, weight=weight, trust=trust)
            + evidence.weighted_sum(weights)
            + it.file,
            it,
            trust,
            evidence,
        )
        for it, reading, evidence in measured
    ]
    return sorted(found, key=lambda it: (-it.score, it.id))


def keep_fused_order(
    fused: Sequence[FusedHit], readings: Mapping[int, CandidateText]
) -> list[RankedHit]:
    """The candidates as they were fused: for lexical search, or when time is over."""
    return [
        RankedHit(it.id, readings[it.id].file, it.score, it) for it in fused if it.id in readings
    ]


def _lexical_trust(measured: Sequence[tuple[FusedHit, CandidateText, Evidence]]) -> float:
    best = max((it.words for it, _, _ in measured), default=0.0)
    return max((evidence.coverage for it, _, evidence in measured if it.words == best), default=1.0)
