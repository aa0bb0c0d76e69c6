"""How likely a hit is to answer the query: one scale for every corpus and mode. Pure.

Ranks compare the hits of one search; the best of nothing ranks first too. The match is a
probability instead, fitted by logistic regression on training queries of three collections, each
weighed the same, and on queries put to the wrong one. `docs/retrieval.md` has its reliability.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pecia.kernel.corpus.keyword.analysis.tokenizer import AskedTerms
from pecia.kernel.corpus.search.evidence import (
    NO_ALIASES,
    CandidateText,
    measure_evidence,
    tokenize_aliased,
)

# Where the best match is below this, nothing found answers: chosen for the best F1 of abstention on
# the training queries, and within .03 of it on a collection that was left out of the fit.
NO_ANSWER_MATCH = 0.1

# A longer query says no more by its length.
_MAX_TERMS = 20


class MatchWeights(NamedTuple):
    """What each feature adds to the logit."""

    bias: float
    coverage: float
    proximity: float
    title: float
    missing: float
    terms: float
    cosine: float = 0.0


HYBRID_WEIGHTS = MatchWeights(-3.549, 2.534, 0.498, 0.312, -0.745, 0.382, 2.771)
LEXICAL_WEIGHTS = MatchWeights(-3.21, 3.115, 1.186, 1.197, -0.834, 1.164)


def estimate_best_match(
    reading: CandidateText,
    asked: Sequence[AskedTerms],
    rarity: Mapping[str, float],
    cosine: float | None,
) -> float:
    """The same for the meaning of a query that the text answers best. A term is as rare as the
    commonest of its aliases.
    """
    found: list[float] = []
    for terms, aliases in asked:
        known = {**rarity}
        for alias, term in aliases.items():
            known[term] = min(known.get(term, 1.0), rarity.get(alias, 1.0))
        found.append(estimate_match(reading, terms, known if aliases else rarity, cosine, aliases))
    return max(found)


def estimate_match(
    reading: CandidateText,
    terms: Sequence[str],
    rarity: Mapping[str, float],
    cosine: float | None,
    aliases: Mapping[str, str] = NO_ALIASES,
) -> float:
    """The probability that this text answers a query of these terms.

    `rarity` is the IDF of each term among what the caller sees, from 0 to 1; a term without one is
    in no text. A text without a cosine is judged by its words alone.
    """
    weights = LEXICAL_WEIGHTS if cosine is None else HYBRID_WEIGHTS
    if not terms:
        return _sigmoid(weights.bias + weights.cosine * (cosine or 0.0))
    idf = {it: rarity.get(it, 1.0) for it in terms}
    text = f"{reading.title} {reading.headings} {reading.text}"
    held = frozenset(tokenize_aliased(text, reading.language, aliases))
    found = sum(value for term, value in idf.items() if term in held)
    missing = max((value for term, value in idf.items() if term not in held), default=0.0)
    evidence = measure_evidence(reading, terms, aliases)
    return _sigmoid(
        weights.bias
        + weights.coverage * found / (sum(idf.values()) or 1.0)
        + weights.proximity * evidence.proximity
        + weights.title * evidence.title
        + weights.missing * missing
        + weights.terms * min(len(terms), _MAX_TERMS) / _MAX_TERMS
        + weights.cosine * (cosine or 0.0)
    )


def _sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))
