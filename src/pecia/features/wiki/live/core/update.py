"""Parses a Yjs update before anything is done with it. Pure.

A document is one plain text under one name. Everything else an update can contain (other texts,
maps, formats, embeds, subdocuments) is refused here, and so are references to unknown items: the
library never sees them.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from pecia.features.wiki.live.core.lib0 import Lib0Reader
from pecia.kernel.errors import InvalidFormat, PayloadTooLarge

TEXT_NAME = "source"
"""The name of the one text: the whole file, frontmatter included."""

ItemId: TypeAlias = tuple[int, int]
"""A client, and one of its clocks (a Yjs id)."""

Place: TypeAlias = tuple[ItemId | None, ItemId | None]
"""The left and right origin of a run, where given."""

StateVector: TypeAlias = dict[int, int]
"""The next clock of each client."""

MAX_RUNS = 50_000
"""Limit of what is parsed in one go, blocking the event loop."""

DELETED, STRING = 1, 4
KIND, HAS_KEY, HAS_RIGHT, HAS_LEFT = 0x1F, 0x20, 0x40, 0x80


@dataclass(frozen=True, slots=True)
class ItemRun:
    """Consecutive items of one client, from one clock up to, excluding, another."""

    client: int
    start: int
    end: int
    words: str = field(default="", compare=False)

    def halves(self) -> Iterator[ItemId]:
        """The second halves of surrogate pairs, which JavaScript counts as two."""
        if self.words and max(self.words) > "\uffff":
            units = self.words.encode("utf-16-le")
            for at in range(1, len(units), 2):
                if units[at] & 0xFC == 0xDC:
                    yield self.client, self.start + at // 2


@dataclass(slots=True)
class YjsUpdate:
    """Inserted and deleted runs.

    An inserted run has a left origin, a right origin, or both.
    """

    written: list[ItemRun] = field(default_factory=list[ItemRun])
    deleted: list[ItemRun] = field(default_factory=list[ItemRun])
    places: list[Place] = field(default_factory=list[Place])
    """The origins of each inserted run."""

    @property
    def size_bytes(self) -> int:
        """Of the text it inserts."""
        return sum(len(it.words.encode()) for it in self.written)

    @property
    def halves(self) -> set[ItemId]:
        return {spot for it in self.written for spot in it.halves()}

    @property
    def cuts(self) -> list[ItemId]:
        """The items before which a run would be split."""
        found = [(left[0], left[1] + 1) for left, _ in self.places if left]
        found += [right for _, right in self.places if right]
        for it in self.deleted:
            found += [(it.client, it.start), (it.client, it.end)]
        return found

    def new_clocks(self, known: Mapping[int, int]) -> StateVector:
        """The clients of which it knows more, and up to which clock."""
        found: StateVector = {}
        for it in self.written:
            if it.end > max(known.get(it.client, 0), found.get(it.client, 0)):
                found[it.client] = it.end
        return found

    def is_causally_complete(self, known: Mapping[int, int]) -> bool:
        """Whether everything it refers to is known, or in it."""
        after = dict(known)
        for it in self.written:
            if it.start > after.get(it.client, 0):
                return False
            after[it.client] = max(after.get(it.client, 0), it.end)
        spots = (spot for place in self.places for spot in place if spot)
        return all(clock < after.get(client, 0) for client, clock in spots) and all(
            it.end <= after.get(it.client, 0) for it in self.deleted
        )

    def in_sequence(self, known: Mapping[int, int]) -> Iterator[tuple[ItemRun, Place]]:
        """The unknown inserted runs, each after its origins.

        Runs whose origins never come, or that depend on themselves, are left out.
        """
        after = dict(known)
        waiting: dict[int, deque[tuple[ItemRun, Place]]] = {}
        for it in zip(self.written, self.places, strict=True):
            waiting.setdefault(it[0].client, deque()).append(it)
        stuck: set[int] = set()
        for first, runs in waiting.items():
            # Each of these waits for the next: retried as soon as that one has been placed.
            stack = {first: None}
            while runs and first not in stuck:
                client = next(reversed(stack))
                run, place = _from(after.get(client, 0), *waiting[client][0])
                lacking = _missing_client(run, place, after)
                if lacking is None:
                    waiting[client].popleft()
                    if client != first:
                        del stack[client]
                    if run.start < run.end:
                        after[client] = run.end
                        yield run, place
                elif lacking in stack or lacking in stuck or not waiting.get(lacking):
                    stuck.update(stack)
                else:
                    stack[lacking] = None


def parse_update(data: bytes, most: int = MAX_RUNS) -> YjsUpdate:
    """The whole update, or InvalidFormat."""
    reader, found = Lib0Reader(data), YjsUpdate()
    named: set[int] = set()
    for _ in range(reader.varuint()):
        count, client, clock = reader.varuint(), reader.varuint(), reader.varuint()
        _require_once(client, named)
        for _ in range(count):
            found.written.append(_parse_struct(reader, found, client, clock))
            _require_run_limit(found.written, most)
            clock = found.written[-1].end
    found.deleted = _parse_delete_set(reader, most)
    reader.require_end()
    return found


def parse_deletions(data: bytes) -> list[ItemRun]:
    """The deletions of one of our own updates that inserts nothing, without a size limit."""
    reader = Lib0Reader(data)
    if reader.varuint():
        raise InvalidFormat("the update writes something", field="update")
    return _parse_delete_set(reader, len(data))


def parse_state_vector(data: bytes) -> StateVector:
    """A state vector."""
    reader = Lib0Reader(data)
    found = {reader.varuint(): reader.varuint() for _ in range(reader.varuint())}
    reader.require_end()
    return found


class RunSet:
    """Merged runs, to test whether others lie within."""

    def __init__(self, runs: list[ItemRun]) -> None:
        self._starts: dict[int, list[int]] = {}
        self._ends: dict[int, list[int]] = {}
        for it in sorted(runs, key=lambda it: (it.client, it.start)):
            starts = self._starts.setdefault(it.client, [])
            ends = self._ends.setdefault(it.client, [])
            if ends and it.start <= ends[-1]:
                ends[-1] = max(ends[-1], it.end)
            else:
                starts.append(it.start)
                ends.append(it.end)

    def covers(self, runs: list[ItemRun]) -> bool:
        return all(self._covers_run(it) for it in runs)

    def _covers_run(self, run: ItemRun) -> bool:
        at = bisect_right(self._starts.get(run.client, ()), run.start) - 1
        return at >= 0 and run.end <= self._ends[run.client][at]


def _parse_struct(reader: Lib0Reader, found: YjsUpdate, client: int, clock: int) -> ItemRun:
    """One run of a client, and its origins."""
    flags = reader.byte()
    kind = flags & KIND
    if kind not in (DELETED, STRING) or flags & HAS_KEY:
        raise InvalidFormat("a document holds plain text and nothing else", field="update")
    left = (reader.varuint(), reader.varuint()) if flags & HAS_LEFT else None
    right = (reader.varuint(), reader.varuint()) if flags & HAS_RIGHT else None
    found.places.append((left, right))
    if not left and not right and (reader.varuint() != 1 or reader.string() != TEXT_NAME):
        raise InvalidFormat(f'the text of a document is called "{TEXT_NAME}"', field="update")
    words = reader.string() if kind == STRING else ""
    # Yjs counts UTF-16 units, as JavaScript does.
    length = len(words.encode("utf-16-le")) // 2 if kind == STRING else reader.varuint()
    if not length:
        raise InvalidFormat("an empty run", field="update")
    return ItemRun(client, clock, clock + length, words)


def _missing_client(run: ItemRun, place: Place, known: Mapping[int, int]) -> int | None:
    """A client of which more must be known before the run can be placed."""
    if run.start >= run.end:
        return None
    needed = ((run.client, run.start - 1), *place)
    return next((it[0] for it in needed if it and it[1] >= known.get(it[0], 0)), None)


def _from(clock: int, run: ItemRun, place: Place) -> tuple[ItemRun, Place]:
    """What is left of a run after a known clock; maybe nothing."""
    if clock <= run.start:
        return run, place
    return ItemRun(run.client, clock, run.end), ((run.client, clock - 1), place[1])


def _parse_delete_set(reader: Lib0Reader, most: int) -> list[ItemRun]:
    found: list[ItemRun] = []
    named: set[int] = set()
    for _ in range(reader.varuint()):
        client = reader.varuint()
        _require_once(client, named)
        for _ in range(reader.varuint()):
            start = reader.varuint()
            found.append(ItemRun(client, start, start + reader.varuint()))
            _require_run_limit(found, most)
    return found


def _require_once(client: int, named: set[int]) -> None:
    """With two sections of one client, libraries disagree: some take both, others the last."""
    if client in named:
        raise InvalidFormat("an update has two sections of one client", field="update")
    named.add(client)


def _require_run_limit(runs: list[ItemRun], most: int) -> None:
    if len(runs) > most:
        raise PayloadTooLarge(f"a change has at most {most} runs", field="update", max=most)
