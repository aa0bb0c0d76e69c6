"""A memory: a text and facts about it. Data only."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from pecia.kernel.errors import Json

VERSION = 2
"""Payload version, as the reference counts."""


RETIRED_FIELD = "retired_at"
"""The fact with the time at which a memory was retired."""


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
    """One memory as the caller sees it."""

    id: UUID
    file_id: int
    key: str
    text: str
    facts: Mapping[str, Json]
    created_at: datetime
    changed_at: datetime

    @property
    def is_retired(self) -> bool:
        """Whether a model retired it. It can be read by id; search does not return it."""
        return RETIRED_FIELD in self.facts

    def text_fact(self, name: str) -> str | None:
        """A string fact; None where it is absent."""
        found = self.facts.get(name)
        return found if isinstance(found, str) else None


@dataclass(frozen=True, slots=True)
class MemoryRevision:
    """An earlier text of a memory, with its period."""

    text: str
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class MemoryFact:
    """A text to remember. `facts` are all facts about it; `given` are those from the caller that
    distinguish it from the same text elsewhere."""

    text: str
    facts: Mapping[str, Json] = field(default_factory=dict[str, Json])
    given: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class MemoryDraft:
    """A memory to write. It replaces the memory with the same id."""

    text: str
    facts: Mapping[str, Json] = field(default_factory=dict[str, Json])
    created_at: datetime | None = None


def new_id() -> UUID:
    """A UUIDv7: sorts by creation time, and does not reveal how many there are."""
    ms = time.time_ns() // 1_000_000
    dice = int.from_bytes(os.urandom(10))
    bits = (ms & (1 << 48) - 1) << 80 | dice
    bits = bits & ~(0xF << 76) | 7 << 76
    bits = bits & ~(0b11 << 62) | 0b10 << 62
    return UUID(int=bits)
