"""The order of all items of a text, deleted ones included, and checks of an item's origins.

The library exposes no order among deleted items, and does not check that the origins of a run were
ever neighbours. If they were not, the text depends on the order in which updates arrive. So the
items are kept a second time, with none deleted and one byte each.
"""

from bisect import bisect_right
from collections.abc import Iterator

import pycrdt

from pecia.features.wiki.live.core.lib0 import Lib0Reader, encode_bytes, encode_varuint
from pecia.features.wiki.live.core.update import (
    HAS_LEFT,
    HAS_RIGHT,
    STRING,
    TEXT_NAME,
    ItemId,
    ItemRun,
    Place,
    StateVector,
    YjsUpdate,
)


class ItemOrder:
    """The items of one text, in order."""

    def __init__(self) -> None:
        self._doc: pycrdt.Doc[pycrdt.Text] = pycrdt.Doc()
        self._text = self._doc.get(TEXT_NAME, type=pycrdt.Text)
        self._known: StateVector = {}
        self._starts: dict[int, list[int]] = {}
        self._places: dict[int, list[Place]] = {}
        self._seen: dict[int, StateVector] = {}
        """What each client must have known when it wrote, computed on demand."""

    def add(self, update: YjsUpdate) -> bool:
        """Add the runs of an update; known ones are skipped. False if not all of it could be
        placed."""
        news = list(update.in_sequence(self._known))
        for run, place in news:
            self._record_run(run, place)
        if news:
            self._doc.apply_update(_encode_outline(news))
        return not update.new_clocks(self._known)

    def add_checked(self, update: YjsUpdate) -> str | None:
        """The same, run by run; returns what is wrong with the first impossible run."""
        for run, place in update.in_sequence(self._known):
            if wrong := self._find_violation(run, place):
                return wrong
            self._record_run(run, place)
            self._doc.apply_update(_encode_outline([(run, place)]))
        return "a change follows itself" if update.new_clocks(self._known) else None

    def _record_run(self, run: ItemRun, place: Place) -> None:
        self._known[run.client] = run.end
        self._starts.setdefault(run.client, []).append(run.start)
        self._places.setdefault(run.client, []).append(place)

    def _find_violation(self, run: ItemRun, place: Place) -> str | None:
        left, right = place
        start = self._offset_of(left) + 1 if left else 0
        end = self._offset_of(right) if right else len(self._text)
        if start > end:
            return "a change stands before what it follows"
        if start == end:
            return None
        seen = self._state_vector_of_writer(run, place)
        if any(clock < seen.get(client, 0) for client, clock in self._items_between(start, end)):
            return "a change names neighbours that never were"
        return None

    def _state_vector_of_writer(self, run: ItemRun, place: Place) -> StateVector:
        """What its writer must have known: its origins, its own earlier writing, and what the
        writers of those must have known."""
        seen = self._seen.setdefault(run.client, {})
        asked = [(run.client, run.start - 1), *(it for it in place if it)]
        while asked:
            client, clock = asked.pop()
            before = seen.get(client, 0)
            if clock >= before:
                seen[client] = clock + 1
                starts = self._starts[client]
                first, last = (bisect_right(starts, it) for it in (before, clock))
                for left, right in self._places[client][max(0, first - 1) : last]:
                    asked += [it for it in (left, right) if it]
        return seen

    def _items_between(self, start: int, end: int) -> Iterator[ItemId]:
        """The items in the range; only the first of consecutive items of one run."""
        while start < end:
            client, clock = found = self._item_at(start)
            yield found
            starts = self._starts[client]
            at = bisect_right(starts, clock)
            stop = starts[at] if at < len(starts) else self._known[client]
            length = min(stop - clock, end - start)
            # Others may have written into the run since.
            while self._item_at(start + length - 1) != (client, clock + length - 1):
                length = (length + 1) // 2
            start += length

    def _offset_of(self, spot: ItemId) -> int:
        client, clock = spot
        sticky = b"".join(map(encode_varuint, (0, client, clock, 0)))
        return pycrdt.StickyIndex.decode(sticky, self._text).get_index()

    def _item_at(self, at: int) -> ItemId:
        reader = Lib0Reader(self._text.sticky_index(at, pycrdt.Assoc.AFTER).encode())
        _ = reader.varuint()
        return reader.varuint(), reader.varuint()


def _encode_outline(runs: list[tuple[ItemRun, Place]]) -> bytes:
    """An update that inserts runs at their places, one x per clock."""
    sections: dict[int, list[tuple[ItemRun, Place]]] = {}
    for run, place in runs:
        sections.setdefault(run.client, []).append((run, place))
    parts = [encode_varuint(len(sections))]
    for client, section in sections.items():
        parts += map(encode_varuint, (len(section), client, section[0][0].start))
        parts += (_encode_run(run, place) for run, place in section)
    return b"".join((*parts, encode_varuint(0)))


def _encode_run(run: ItemRun, place: Place) -> bytes:
    left, right = place
    flags = STRING | (HAS_LEFT if left else 0) | (HAS_RIGHT if right else 0)
    spots = b"".join(map(encode_varuint, (*(left or ()), *(right or ()))))
    source = b"" if spots else encode_varuint(1) + encode_bytes(TEXT_NAME.encode())
    return bytes((flags,)) + spots + source + encode_bytes(b"x" * (run.end - run.start))
