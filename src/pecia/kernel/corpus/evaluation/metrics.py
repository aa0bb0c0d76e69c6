"""How good a ranking is, against what people judged. Pure: runs in, figures out."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

RankedRun: TypeAlias = Mapping[str, Sequence[str]]
"""By query: the documents that were found, best first."""

RelevanceJudgements: TypeAlias = Mapping[str, Mapping[str, int]]
"""By query: how well documents answer it. What is not named does not."""


def ndcg(run: RankedRun, judged: RelevanceJudgements, k: int = 10) -> float:
    """The mean over judged queries of discounted gain, as a share of the best possible one."""
    return _mean(run, judged, lambda found, gains: _ndcg(found[:k], gains, k))


def recall(run: RankedRun, judged: RelevanceJudgements, k: int) -> float:
    """The mean share of the relevant documents that are among the first k."""
    return _mean(
        run, judged, lambda found, gains: _count_relevant(found[:k], gains) / _relevant(gains)
    )


def hit_rate(run: RankedRun, judged: RelevanceJudgements, k: int) -> float:
    """The share of queries with at least one relevant document among the first k."""
    return _mean(run, judged, lambda found, gains: float(_count_relevant(found[:k], gains) > 0))


def mean_reciprocal_rank(run: RankedRun, judged: RelevanceJudgements, k: int = 10) -> float:
    """The mean of 1/place of the first relevant document among the first k."""
    return _mean(run, judged, lambda found, gains: _first(found[:k], gains))


def compute_metrics(run: RankedRun, judged: RelevanceJudgements) -> dict[str, float]:
    """The usual figures, rounded to four digits."""
    measured = {
        "ndcg@10": ndcg(run, judged, 10),
        "recall@5": recall(run, judged, 5),
        "recall@10": recall(run, judged, 10),
        "recall@100": recall(run, judged, 100),
        "hit@1": hit_rate(run, judged, 1),
        "hit@5": hit_rate(run, judged, 5),
        "mrr@10": mean_reciprocal_rank(run, judged, 10),
    }
    return {name: round(value, 4) for name, value in measured.items()}


def _mean(
    run: RankedRun,
    judged: RelevanceJudgements,
    measure: Callable[[Sequence[str], Mapping[str, int]], float],
) -> float:
    """Over the queries with something to find. One that nobody ran found nothing."""
    values = [
        measure(_once(run.get(query, ())), gains)
        for query, gains in judged.items()
        if _relevant(gains)
    ]
    return sum(values) / len(values) if values else 0.0


def _once(found: Sequence[str]) -> Sequence[str]:
    # A document that is listed twice must not be counted twice.
    return list(dict.fromkeys(found))


def _ndcg(found: Sequence[str], gains: Mapping[str, int], k: int) -> float:
    best = sorted((gain for gain in gains.values() if gain > 0), reverse=True)[:k]
    return _discounted_gain([max(0, gains.get(it, 0)) for it in found]) / _discounted_gain(best)


def _discounted_gain(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains))


def _count_relevant(found: Sequence[str], gains: Mapping[str, int]) -> int:
    return sum(gains.get(it, 0) > 0 for it in found)


def _relevant(gains: Mapping[str, int]) -> int:
    return sum(gain > 0 for gain in gains.values())


def _first(found: Sequence[str], gains: Mapping[str, int]) -> float:
    places = (place for place, it in enumerate(found, 1) if gains.get(it, 0) > 0)
    return 1 / next(places, math.inf)
