"""Wire messages of a live document: those of y-websocket, and two more. Pure.

0 is sync (0: step 1, 1: step 2, 2: update), 1 is awareness, 2 is a refusal, 3 queries awareness.
Ours, sent on request: 4, how many sync steps 2 and updates of this socket are stored; 5, whether
it may write.
"""

from dataclasses import dataclass
from typing import TypeAlias

from pecia.features.wiki.live.core.lib0 import Lib0Reader, encode_bytes, encode_varuint
from pecia.kernel.errors import InvalidFormat

SYNC, AWARENESS, REFUSAL, QUERY_AWARENESS, STORED, RIGHTS = range(6)
SYNC_STEP1, SYNC_STEP2, SYNC_UPDATE = range(3)


@dataclass(frozen=True, slots=True)
class SyncStep1:
    """A state vector: send me what I lack."""

    state_vector: bytes


@dataclass(frozen=True, slots=True)
class SyncUpdate:
    """An update. `is_reply`: it answers our sync step 1."""

    update: bytes
    is_reply: bool


@dataclass(frozen=True, slots=True)
class AwarenessState:
    """The state of one client, as JSON; `null` when it left."""

    client: int
    clock: int
    state: str


@dataclass(frozen=True, slots=True)
class AwarenessUpdate:
    states: tuple[AwarenessState, ...]


@dataclass(frozen=True, slots=True)
class AwarenessQuery:
    """Requests the state of all clients."""


Frame: TypeAlias = SyncStep1 | SyncUpdate | AwarenessUpdate | AwarenessQuery


def decode_frame(data: bytes) -> Frame:
    """One whole message of a client, or InvalidFormat."""
    reader = Lib0Reader(data)
    kind = reader.varuint()
    if kind == SYNC:
        found: Frame = _decode_sync(reader)
    elif kind == AWARENESS:
        inner = Lib0Reader(reader.bytes())
        found = AwarenessUpdate(decode_awareness(inner))
    elif kind == QUERY_AWARENESS:
        found = AwarenessQuery()
    else:
        raise InvalidFormat(f"unknown message type {kind}", field="message")
    reader.require_end()
    return found


def decode_awareness(reader: Lib0Reader) -> tuple[AwarenessState, ...]:
    count = reader.varuint()
    if count > len(reader.data):
        raise InvalidFormat("the message ends too early", field="message")
    found = tuple(
        AwarenessState(reader.varuint(), reader.varuint(), reader.string()) for _ in range(count)
    )
    reader.require_end()
    return found


def encode_sync_step1(clocks: bytes) -> bytes:
    return bytes((SYNC, SYNC_STEP1)) + encode_bytes(clocks)


def encode_sync_step2(update: bytes) -> bytes:
    return bytes((SYNC, SYNC_STEP2)) + encode_bytes(update)


def encode_update(update: bytes) -> bytes:
    return bytes((SYNC, SYNC_UPDATE)) + encode_bytes(update)


def encode_awareness(those: list[AwarenessState]) -> bytes:
    inner = encode_varuint(len(those)) + b"".join(
        encode_varuint(it.client) + encode_varuint(it.clock) + encode_bytes(it.state.encode())
        for it in those
    )
    return bytes((AWARENESS,)) + encode_bytes(inner)


def encode_refusal(reason: str) -> bytes:
    return bytes((REFUSAL, 0)) + encode_bytes(reason.encode())


def encode_stored(count: int) -> bytes:
    return bytes((STORED,)) + encode_varuint(count)


def encode_rights(*, may_write: bool) -> bytes:
    return bytes((RIGHTS, int(may_write)))


def _decode_sync(reader: Lib0Reader) -> Frame:
    kind = reader.varuint()
    if kind == SYNC_STEP1:
        return SyncStep1(reader.bytes())
    if kind in (SYNC_STEP2, SYNC_UPDATE):
        return SyncUpdate(reader.bytes(), is_reply=kind == SYNC_STEP2)
    raise InvalidFormat(f"unknown sync step {kind}", field="message")
