"""The messages of a live document's socket: those of y-websocket, and one more. Pure.

0 is the text (0: what I have; 1: what you lack; 2: a change), 1 is who is where, 2 is a refusal,
3 asks who is where. 4 is ours, sent to who asked for it: how many changes of this socket are
stored.
"""

from dataclasses import dataclass
from typing import TypeAlias

from pecia.kernel.errors import InvalidFormat
from pecia.rooms.wiki.live.encoding import Reader, number, prefixed

SYNC, AWARENESS, REFUSAL, QUERY, STORED = range(5)
HAVE, LACK, CHANGE = range(3)


@dataclass(frozen=True, slots=True)
class Have:
    """A state vector: send me what I lack."""

    clocks: bytes


@dataclass(frozen=True, slots=True)
class Changes:
    """An update. It `answers` where we asked for what we lack."""

    update: bytes
    answers: bool


@dataclass(frozen=True, slots=True)
class Presence:
    """Where one client is, as JSON; `null` when it went."""

    client: int
    clock: int
    state: str


@dataclass(frozen=True, slots=True)
class Presences:
    those: tuple[Presence, ...]


@dataclass(frozen=True, slots=True)
class WhoIsWhere:
    """Tell me of everybody."""


Frame: TypeAlias = Have | Changes | Presences | WhoIsWhere


def read_frame(data: bytes) -> Frame:
    """One message of a client, whole, or InvalidFormat."""
    reader = Reader(data)
    kind = reader.number()
    if kind == SYNC:
        found: Frame = _sync(reader)
    elif kind == AWARENESS:
        inner = Reader(reader.bytes())
        found = Presences(read_presences(inner))
    elif kind == QUERY:
        found = WhoIsWhere()
    else:
        raise InvalidFormat(f"there are no messages of kind {kind}", field="message")
    reader.end()
    return found


def read_presences(reader: Reader) -> tuple[Presence, ...]:
    count = reader.number()
    if count > len(reader.data):
        raise InvalidFormat("the message ends too early", field="message")
    found = tuple(Presence(reader.number(), reader.number(), reader.string()) for _ in range(count))
    reader.end()
    return found


def have(clocks: bytes) -> bytes:
    return bytes((SYNC, HAVE)) + prefixed(clocks)


def lack(update: bytes) -> bytes:
    return bytes((SYNC, LACK)) + prefixed(update)


def change(update: bytes) -> bytes:
    return bytes((SYNC, CHANGE)) + prefixed(update)


def presences(those: list[Presence]) -> bytes:
    inner = number(len(those)) + b"".join(
        number(it.client) + number(it.clock) + prefixed(it.state.encode()) for it in those
    )
    return bytes((AWARENESS,)) + prefixed(inner)


def refusal(reason: str) -> bytes:
    return bytes((REFUSAL, 0)) + prefixed(reason.encode())


def stored(count: int) -> bytes:
    return bytes((STORED,)) + number(count)


def _sync(reader: Reader) -> Frame:
    kind = reader.number()
    if kind == HAVE:
        return Have(reader.bytes())
    if kind in (LACK, CHANGE):
        return Changes(reader.bytes(), answers=kind == LACK)
    raise InvalidFormat(f"there is no step {kind} of coming together", field="message")
