"""Passages packed into runs of a good length, cut where the text itself pauses. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from pecia.kernel.text.chunks.passages import BreakQuality, ChunkPassage


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """A run is filled up to `high` characters, and ends after `low` if it can.

    A run shorter than `small` goes on, whatever follows, and at the end is added to the run before
    it. A table up to `table` is not cut.
    """

    small: int = 200
    low: int = 700
    high: int = 1000
    table: int = 4000


def pack_passages(passages: Iterable[ChunkPassage], size: ChunkSize) -> list[list[ChunkPassage]]:
    """Runs that are never empty and hold every passage, in order."""
    runs: list[list[ChunkPassage]] = []
    current: list[ChunkPassage] = []
    for passage in passages:
        while current and _must_cut(current, passage, size):
            number = _best_cut(current, passage, size)
            runs.append(current[:number])
            current = current[number:]
        current.append(passage)
    if current:
        runs.append(current)
    return _with_long_tail(runs, size)


def _must_cut(current: list[ChunkPassage], following: ChunkPassage, size: ChunkSize) -> bool:
    start, end = current[0].start, current[-1].end
    too_long = following.end - start > size.high
    if end - start < size.small or not (too_long or following.cut is BreakQuality.HEADING):
        return False
    # A heading stays with what it is the heading of, however long that is.
    return following.leads or not all(it.leads for it in current)


def _best_cut(current: list[ChunkPassage], following: ChunkPassage, size: ChunkSize) -> int:
    """How many passages to take: not right after a heading, long enough, at the best break."""
    start = current[0].start
    after = [*current[1:], following]

    def merit(number: int) -> tuple[bool, bool, BreakQuality, int]:
        last = current[number - 1]
        return not last.leads, last.end - start >= size.low, after[number - 1].cut, number

    return max(range(1, len(current) + 1), key=merit)


def _with_long_tail(runs: list[list[ChunkPassage]], size: ChunkSize) -> list[list[ChunkPassage]]:
    if len(runs) < 2 or runs[-1][0].cut is BreakQuality.HEADING:
        return runs
    before, tail = runs[-2], runs[-1]
    if tail[-1].end - tail[0].start >= size.small:
        return runs
    return [*runs[:-2], before + tail]
