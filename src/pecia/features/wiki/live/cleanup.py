"""Worker job for live documents: flushes what a dead process left behind, deletes expired ones.

Several workers may run it.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import anyio
from anyio.to_thread import run_sync

from pecia.features.wiki.config.files import read_project
from pecia.features.wiki.config.merge import ConfigTexts, merge_config
from pecia.features.wiki.config.problem import InvalidConfig
from pecia.features.wiki.live.flush import LiveFlusher
from pecia.features.wiki.live.limits import DEBOUNCE_S, GONE_RETENTION_S, RETENTION_DAYS
from pecia.features.wiki.live.store import SQL
from pecia.features.wiki.space import content_prefix
from pecia.features.wiki.store import SpaceLocation
from pecia.kernel.errors import PeciaError
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store

_log = Log(__name__)

CLEANUP_INTERVAL_S = 1.0
STALE_AFTER_S = DEBOUNCE_S
"""A process that has the document open flushes it about then. A replaced file that a program wrote
is read by nobody else, where no editor has the document open."""
BACKOFF_S = 30.0
"""Delay after a failure: a space may lie on another machine."""
FORGET_INTERVAL_S = 600.0


@dataclass(slots=True)
class LiveCleanup:
    """Covers all spaces of all tenants."""

    store: Store
    flusher: LiveFlusher
    _retry_at: dict[tuple[UUID, str], float] = field(default_factory=dict[tuple[UUID, str], float])

    async def run(self) -> None:
        """Runs until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_repeat, self.run_once, CLEANUP_INTERVAL_S)
            tasks.start_soon(_repeat, self.forget, FORGET_INTERVAL_S)

    async def forget(self) -> None:
        """Delete what nobody used for long."""
        async with self.store.system() as tx:
            await tx.execute(SQL["forget_live"], days=RETENTION_DAYS, gone_s=GONE_RETENTION_S)

    async def run_once(self, left_s: float = STALE_AFTER_S) -> None:
        """Flush documents that nobody flushed for so long."""
        async with self.store.system() as tx:
            rows = await tx.fetch_all(SQL["unfiled_spaces"], seconds=left_s)
        self._retry_at = {it: at for it, at in self._retry_at.items() if at > time.monotonic()}
        for row in rows:
            key = (row["tenant_id"], row["source_id"])
            if key in self._retry_at:
                continue
            try:
                is_done = await self._flush_row(row, left_s)
            except (PeciaError, InvalidConfig) as error:
                _log.warning("wiki.leftovers", space=row["source_id"], reason=str(error))
                is_done = False
            if not is_done:
                self._retry_at[key] = time.monotonic() + BACKOFF_S

    async def _flush_row(self, row: dict[str, Any], left_s: float) -> bool:
        tenant_id, source_id = row["tenant_id"], row["source_id"]
        project = await self.flusher.require_open(tenant_id, source_id, Path(row["folder"]))
        text = await run_sync(read_project, project)
        folder = merge_config(ConfigTexts(project=text)).config.content.dir
        lead = await run_sync(content_prefix, project, folder)
        place = SpaceLocation(tenant_id, source_id, project, lead)
        return await self.flusher.flush_all(place, left_s)


async def _repeat(task: Callable[[], Awaitable[None]], interval_s: float) -> None:
    while True:
        try:
            await task()
        except PeciaError as error:
            _log.failure("wiki.leftovers", error)
        await anyio.sleep(interval_s)
