"""Candidates below those that were looked at, and the rank of each."""

from collections.abc import Iterator, Sequence

from pecia.kernel.corpus.index.keyword import Hit as Word
from pecia.kernel.corpus.rank.fuse import Fused
from pecia.kernel.corpus.rank.rerank import Ranked


def unread(fused: Sequence[Fused], above: Sequence[Ranked]) -> Iterator[Ranked]:
    """Candidates that were not looked at, below those that were."""
    lowest = above[-1].score if above else 1.0
    for it in fused:
        yield Ranked(it.id, None, min(lowest, it.score), it)


def following(words: Sequence[Word], above: Sequence[Ranked]) -> Iterator[Ranked]:
    """Those that were found by words and not ranked, below those that were."""
    lowest = above[-1].score if above else 1.0
    ranked = {it.id for it in above}
    best = words[0].score if words else 0.0
    for it in words:
        if it.id not in ranked:
            share = it.score / best if best else 0.0
            yield Ranked(it.id, it.group, lowest * share, Fused(it.id, lowest * share, share))


def placed(order: Sequence[Ranked]) -> Iterator[tuple[Ranked, float]]:
    """Each with its rank: 1 for the best, and never more than the one above has."""
    best = order[0].score if order else 0.0
    rank = 1.0
    for it in order:
        rank = min(rank, it.score / best if best > 0 else 0.0)
        yield it, rank
