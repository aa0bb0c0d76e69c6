"""Why a hit ranks where it does, in numbers that add up to its score. Pure.

Words weigh as they do among what the caller may see.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType

from pecia.kernel.corpus.search.evidence import Evidence
from pecia.kernel.corpus.search.fuse import SEMANTIC_WEIGHT, combine_scores
from pecia.kernel.corpus.search.rerank import EVIDENCE_WEIGHTS, MATCH_WEIGHT, RankedHit

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Explanation:
    """`parts` add up to `score`. `words` are divided by the fields of the keyword index. `order` is
    what keeps a hit that was not read below those that were.

    `found_by_words` and `cosine` are what the arms themselves said: a share of the best score, and
    None without a vector. `trust` is how far the keyword arm was believed. `moved` is how many
    places the hit gave way, or won because others did.
    """

    score: float
    parts: Mapping[str, float]
    found_by_words: float
    cosine: float | None
    trust: float
    evidence: Evidence
    moved: int = 0


def explain(
    ranked: RankedHit,
    field_scores: Mapping[str, float],
    *,
    weight: float = SEMANTIC_WEIGHT,
    weights: Evidence = EVIDENCE_WEIGHTS,
    moved: int = 0,
) -> Explanation:
    """The explanation of one hit. `field_scores` are those of the keyword index for its words."""
    fused = ranked.fused
    words = combine_scores(fused.words, 0.0, weight=weight, trust=ranked.trust)
    parts = {**_by_field(words, field_scores)}
    both = combine_scores(
        fused.words,
        fused.meaning,
        weight=weight,
        trust=ranked.trust,
        closeness=ranked.closeness,
    )
    parts["meaning"] = both - words
    parts["file"] = fused.file
    for it in fields(Evidence):
        parts[it.name] = getattr(ranked.evidence, it.name) * getattr(weights, it.name)
    parts["match"] = ranked.match * MATCH_WEIGHT
    parts["order"] = ranked.score - sum(parts.values())
    return Explanation(
        ranked.score,
        MappingProxyType({name: it for name, it in parts.items() if abs(it) > _ROUNDING}),
        fused.words,
        fused.cosine,
        ranked.trust,
        ranked.evidence,
        moved,
    )


def rank_moves(before: Sequence[RankedHit], after: Sequence[RankedHit]) -> dict[int, int]:
    """How many ranks each candidate lost by diversification."""
    places = {it.id: place for place, it in enumerate(before)}
    return {it.id: place - places[it.id] for place, it in enumerate(after)}


def _by_field(words: float, field_scores: Mapping[str, float]) -> dict[str, float]:
    """The share of each field in the lexical score."""
    total = sum(field_scores.values())
    if not total:
        return {"words": words}
    return {f"words.{name}": words * score / total for name, score in field_scores.items()}
