"""A queue for the lock of a space, within one process.

The lock is one of the database. Who waits for it there keeps a connection from everybody else: a
few files that are due at once would take all of them, and nobody could store what is typed.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import UUID

import anyio

from pecia.features.wiki.store import SpaceLocation

MAX_TURNS = 2
"""Of all spaces together: another process may hold the locks of several."""

SpaceKey: TypeAlias = tuple[UUID, str]


@dataclass(frozen=True, slots=True)
class SpaceQueue:
    """One turn at a time for each space, in the order of asking."""

    _locks: dict[SpaceKey, anyio.Lock] = field(default_factory=dict[SpaceKey, anyio.Lock])
    _turns: anyio.Semaphore = field(default_factory=lambda: anyio.Semaphore(MAX_TURNS))

    @asynccontextmanager
    async def turn(self, place: SpaceLocation) -> AsyncGenerator[None]:
        """Wait for it; until the end nobody else of this process has the space."""
        key = (place.tenant_id, place.source_id)
        lock = self._locks.setdefault(key, anyio.Lock())
        try:
            async with lock, self._turns:
                yield
        finally:
            if not lock.locked():
                self._locks.pop(key, None)
