"""Detects keyword indexes that lag. A writer that died or hangs reports nothing itself."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from uuid import UUID

import anyio

from pecia.kernel.corpus import changelog
from pecia.kernel.corpus.keyword.directory import list_suspects, load_node_name
from pecia.kernel.errors import PeciaError
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store

POLL_INTERVAL_S = 5.0
# A working writer commits several times a second, also under load.
STALL_TIMEOUT_S = 15.0

_log = Log(__name__)


@dataclass(frozen=True, slots=True)
class LaggingIndex:
    """An index with commits yet to apply, and since when it has not moved."""

    n: int
    of: int
    since_s: float


class IndexLag:
    """Polls which indexes are behind, and since when they have not moved."""

    def __init__(
        self, store: Store, root: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._root = root
        self._clock = clock
        self._behind: dict[UUID, LaggingIndex] = {}
        self._damaged: frozenset[UUID] = frozenset()

    async def run(self) -> NoReturn:
        while True:
            try:
                await self.poll()
            except PeciaError as error:
                _log.failure("index.lag", error)
            await anyio.sleep(POLL_INTERVAL_S)

    async def poll(self) -> None:
        node = await anyio.to_thread.run_sync(load_node_name, self._root)
        async with self._store.system() as tx:
            found = await changelog.list_lagging(tx, node)
        self._damaged = await anyio.to_thread.run_sync(list_suspects, self._root)
        now = self._clock()
        self._behind = {it.tenant_id: self._track(it, now) for it in found}

    def stalled_tenants(self) -> dict[UUID, float]:
        """The tenants whose index is behind and stalled, and for how many seconds."""
        now = self._clock()
        waits = {tenant_id: now - it.since_s for tenant_id, it in self._behind.items()}
        return {tenant_id: wait for tenant_id, wait in waits.items() if wait >= STALL_TIMEOUT_S}

    @property
    def longest_s(self) -> float:
        """How long the index that is behind the longest has not moved; 0 where none is behind."""
        now = self._clock()
        return max((now - it.since_s for it in self._behind.values()), default=0.0)

    def damaged_tenants(self) -> frozenset[UUID]:
        """The tenants whose index could not be read, until it was checked or rebuilt."""
        return self._damaged

    def stall_warning(self, tenant_id: UUID) -> str | None:
        """A warning for searches in that tenant; None if the index is not stalled."""
        wait_s = self.stalled_tenants().get(tenant_id)
        if wait_s is None:
            return None
        return (
            f"the keyword index has not moved for {wait_s:.0f} s and lacks recent changes: "
            "an operator should look at `pecia status` and `pecia index status`"
        )

    def _track(self, it: changelog.NodeLag, now: float) -> LaggingIndex:
        last = self._behind.get(it.tenant_id)
        since = last.since_s if last is not None and last.n == it.n else now
        return LaggingIndex(it.n, it.of, since)
