"""Which items of two sequences correspond. Pure, and bounded: hostile input gets a coarser answer.

Common ends first, then items that are unique on both sides (the patience diff), then the shortest
edit script (Myers) for what is left between them. All searches together take at most `MAX_STEPS`
steps, and items are visited `MAX_VISITS` times on average; what is left then counts as different.
So the answer is always a correct correspondence, and for ordinary texts a small one.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from pecia.kernel.text.span import Span

MAX_STEPS = 500_000
MAX_VISITS = 8


@dataclass(frozen=True, slots=True)
class AlignedRun:
    """`size` items from `old` on are those from `new` on."""

    old: int
    new: int
    size: int


def align(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[AlignedRun]:
    """Runs of equal items, in order on both sides and as long as they can be."""
    joined: list[AlignedRun] = []
    for it in sorted(_Aligner(old, new).run(), key=lambda it: it.old):
        last = joined[-1] if joined else None
        if last and last.old + last.size == it.old and last.new + last.size == it.new:
            joined[-1] = AlignedRun(last.old, last.new, last.size + it.size)
        else:
            joined.append(it)
    return joined


@dataclass(frozen=True, slots=True)
class SequenceDifference:
    """Items of the old sequence and the items of the new one in their place; one may be none."""

    old: Span
    new: Span


def find_differences(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[SequenceDifference]:
    """What lies between the matches, in order."""
    found: list[SequenceDifference] = []
    old_at = new_at = 0
    for it in [*align(old, new), AlignedRun(len(old), len(new), 0)]:
        if it.old > old_at or it.new > new_at:
            found.append(SequenceDifference(Span(old_at, it.old), Span(new_at, it.new)))
        old_at, new_at = it.old + it.size, it.new + it.size
    return found


@dataclass(frozen=True, slots=True)
class _Box:
    """Items of both sides that are still to be aligned."""

    old: int
    old_end: int
    new: int
    new_end: int

    @property
    def width(self) -> int:
        return self.old_end - self.old

    @property
    def height(self) -> int:
        return self.new_end - self.new


class _Aligner:
    def __init__(self, old: Sequence[Hashable], new: Sequence[Hashable]) -> None:
        self.old = old
        self.new = new
        self.steps = MAX_STEPS
        self.visits = MAX_VISITS * (len(old) + len(new))

    def run(self) -> Iterator[AlignedRun]:
        waiting = [_Box(0, len(self.old), 0, len(self.new))]
        while waiting:
            box = waiting.pop()
            head = self._common_head(box)
            box = _Box(box.old + head, box.old_end, box.new + head, box.new_end)
            tail = self._common_tail(box)
            yield from _match(box.old - head, box.new - head, head)
            yield from _match(box.old_end - tail, box.new_end - tail, tail)
            inner = _Box(box.old, box.old_end - tail, box.new, box.new_end - tail)
            self.visits -= inner.width + inner.height
            if not inner.width or not inner.height or self.visits < 0:
                continue
            anchors = self._anchors(inner)
            if anchors:
                waiting += _between(inner, anchors)
            elif self._shares_items(inner):
                yield from self._shortest(inner)

    def _common_head(self, box: _Box) -> int:
        most = min(box.width, box.height)
        size = 0
        while size < most and self.old[box.old + size] == self.new[box.new + size]:
            size += 1
        return size

    def _common_tail(self, box: _Box) -> int:
        most = min(box.width, box.height)
        size = 0
        while size < most and self.old[box.old_end - 1 - size] == self.new[box.new_end - 1 - size]:
            size += 1
        return size

    def _anchors(self, box: _Box) -> list[tuple[int, int]]:
        """Pairs of items that occur once on either side: the longest series in order on both."""
        here = _once(self.old[box.old : box.old_end], box.old)
        there = _once(self.new[box.new : box.new_end], box.new)
        pairs = [(at, there[item]) for item, at in here.items() if item in there]
        return _longest_rising(pairs)

    def _shares_items(self, box: _Box) -> bool:
        here = set(self.old[box.old : box.old_end])
        return not here.isdisjoint(self.new[box.new : box.new_end])

    def _shortest(self, box: _Box) -> Iterator[AlignedRun]:
        """Myers' greedy search: how far each diagonal gets at each cost, then back from the end."""
        history: list[list[int]] = []
        for cost in range(box.width + box.height + 1):
            if self.steps < 0:
                return
            reached = self._reach(box, history)
            history.append(reached)
            end = box.width - box.height + cost
            if end % 2 == 0 and 0 <= end // 2 <= cost and reached[end // 2] == box.width:
                yield from _walk_back(box, history)
                return

    def _reach(self, box: _Box, history: list[list[int]]) -> list[int]:
        cost = len(history)
        reached: list[int] = []
        for diagonal in range(-cost, cost + 1, 2):
            x = _step(box, history[-1], diagonal)[0] if cost else 0
            y = x - diagonal
            start = x
            while 0 <= x < box.width and y < box.height and self._equal(box, x, y):
                x, y = x + 1, y + 1
            reached.append(x)
            self.steps -= 1 + x - start
        return reached

    def _equal(self, box: _Box, x: int, y: int) -> bool:
        return self.old[box.old + x] == self.new[box.new + y]


# A diagonal that cannot be reached inside the box.
_NOWHERE = -1


def _step(box: _Box, last: list[int], diagonal: int) -> tuple[int, bool]:
    """Where one more edit gets to on the diagonal, and whether that edit drops an old item."""
    cost = len(last)
    left = _NOWHERE
    if diagonal > -cost and last[(diagonal + cost) // 2 - 1] != _NOWHERE:
        left = last[(diagonal + cost) // 2 - 1] + 1
    above = last[(diagonal + cost) // 2] if diagonal < cost else _NOWHERE
    if left > box.width:
        left = _NOWHERE
    if above - diagonal > box.height:
        above = _NOWHERE
    return (left, True) if left > above else (above, False)


def _walk_back(box: _Box, history: list[list[int]]) -> Iterator[AlignedRun]:
    x, y = box.width, box.height
    for cost in range(len(history) - 1, 0, -1):
        start, dropped = _step(box, history[cost - 1], x - y)
        yield from _match(box.old + start, box.new + start - (x - y), x - start)
        x, y = (start - 1, start - (x - y)) if dropped else (start, start - (x - y) - 1)
    yield from _match(box.old, box.new, x)


def _match(old: int, new: int, size: int) -> Iterator[AlignedRun]:
    if size:
        yield AlignedRun(old, new, size)


def _between(box: _Box, anchors: list[tuple[int, int]]) -> Iterator[_Box]:
    """Boxes that start with an anchor and end before the next one; the first has none."""
    old, new = box.old, box.new
    for at, there in [*anchors, (box.old_end, box.new_end)]:
        yield _Box(old, at, new, there)
        old, new = at, there


def _once(items: Sequence[Hashable], offset: int) -> dict[Hashable, int]:
    """The items that occur once, and where."""
    counts = Counter(items)
    return {item: at for at, item in enumerate(items, offset) if counts[item] == 1}


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of pairs, sorted by their first number, in which the second rises too."""
    tops: list[int] = []
    piles: list[int] = []
    before: list[int] = []
    for number, (_, value) in enumerate(pairs):
        pile = bisect_left(tops, value)
        before.append(piles[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(value)
            piles.append(number)
        else:
            tops[pile], piles[pile] = value, number
    rising: list[tuple[int, int]] = []
    number = piles[-1] if piles else -1
    while number >= 0:
        rising.append(pairs[number])
        number = before[number]
    return rising[::-1]
