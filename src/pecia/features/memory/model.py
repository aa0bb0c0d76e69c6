"""A memory: a text and facts about it. Data only."""

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from uuid import UUID

from pecia.kernel.errors import Json

VERSION = 2
"""Payload version, as the reference counts."""


class MemoryKind(StrEnum):
    KNOWLEDGE = "knowledge"
    REASONING = "reasoning"
    WORKSPACE = "workspace"


class MemoryEvent(StrEnum):
    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    NONE = "NONE"


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory as the caller sees it. Its text never changes.

    It holds from `valid_from` until `valid_to`; `superseded_by` is the memory that took its place.
    `same_as` is the memory that says the same in other words; `times` counts how often this one was
    said, its other wordings included.
    """

    id: UUID
    file_id: int
    key: str
    text: str
    facts: Mapping[str, Json]
    said_at: datetime
    last_said_at: datetime
    times: int
    valid_from: datetime
    valid_to: datetime | None
    superseded_by: UUID | None
    same_as: UUID | None
    changed_at: datetime

    def holds(self, at: datetime) -> bool:
        """Whether it was said and true at that time."""
        return self.valid_from <= at and (self.valid_to is None or at < self.valid_to)

    @property
    def is_open(self) -> bool:
        """Whether nothing ended it yet, and it is not another's wording."""
        return self.valid_to is None and self.same_as is None

    def text_fact(self, name: str) -> str | None:
        """A string fact; None where it is absent."""
        found = self.facts.get(name)
        return found if isinstance(found, str) else None


@dataclass(frozen=True, slots=True)
class FactTimes:
    """When a text was said, and from when to when it holds: since then, and open, unless given."""

    said_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    valid_from: datetime | None = None
    valid_to: datetime | None = None

    @property
    def begin(self) -> datetime:
        return self.valid_from or self.said_at


@dataclass(frozen=True, slots=True)
class MemoryFact:
    """A text to remember. `facts` are all facts about it; `given` are those from the caller that
    distinguish it from the same text elsewhere."""

    text: str
    facts: Mapping[str, Json] = field(default_factory=dict[str, Json])
    given: Mapping[str, Json] = field(default_factory=dict[str, Json])
    times: FactTimes = field(default_factory=FactTimes)


@dataclass(frozen=True, slots=True)
class MemoryDraft:
    """A memory to write. None in a time: now, or open."""

    text: str
    facts: Mapping[str, Json] = field(default_factory=dict[str, Json])
    said_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    same_as: UUID | None = None
    superseded_by: UUID | None = None
    times: int = 1


_id_lock = threading.Lock()
_last_stamp = 0


def new_id() -> UUID:
    """A UUIDv7: sorts by creation time, also within a millisecond of this process."""
    global _last_stamp
    # 48 bits of milliseconds and 12 of their fraction, as RFC 9562 6.2 (method 3) has it.
    stamp = (time.time_ns() << 12) // 1_000_000
    with _id_lock:
        _last_stamp = stamp = max(stamp, _last_stamp + 1)
    ms, fraction = stamp >> 12, stamp & 0xFFF
    bits = (ms & (1 << 48) - 1) << 80 | 7 << 76 | fraction << 64
    return UUID(int=bits | 0b10 << 62 | int.from_bytes(os.urandom(8)) >> 2)
