"""What a memory is: words, and what is known of them. Data only."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from pecia.kernel.errors import Json

VERSION = 2
"""Of the payload, as the reference counts."""


RETIRED_FIELD = "retired_at"
"""The fact that says since when a memory no longer holds."""


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
    """One memory as its reader sees it."""

    id: UUID
    file_id: int
    key: str
    text: str
    facts: Mapping[str, Json]
    created_at: datetime
    changed_at: datetime

    @property
    def is_retired(self) -> bool:
        """Whether a model said that it no longer holds. It is read by its id, and not found."""
        return RETIRED_FIELD in self.facts

    def text_fact(self, name: str) -> str | None:
        """A fact that is a text; None where it is not known."""
        found = self.facts.get(name)
        return found if isinstance(found, str) else None


@dataclass(frozen=True, slots=True)
class MemoryRevision:
    """What a memory said before, and from when until when."""

    text: str
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class MemoryFact:
    """A text to remember. `facts` is all that is known of it, `given` what its caller says that
    makes it another fact than the same words of somebody else."""

    text: str
    facts: Mapping[str, Json] = field(default_factory=dict[str, Json])
    given: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class MemoryDraft:
    """A memory to be kept. One that has the id of another takes its place."""

    text: str
    facts: Mapping[str, Json] = field(default_factory=dict[str, Json])
    created_at: datetime | None = None


def new_id() -> UUID:
    """A UUID of version 7: those made later sort later, and none tells how many there are."""
    ms = time.time_ns() // 1_000_000
    dice = int.from_bytes(os.urandom(10))
    bits = (ms & (1 << 48) - 1) << 80 | dice
    bits = bits & ~(0xF << 76) | 7 << 76
    bits = bits & ~(0b11 << 62) | 0b10 << 62
    return UUID(int=bits)
