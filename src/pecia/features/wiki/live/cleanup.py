"""Worker job for live documents: flushes what a dead process left behind, deletes expired ones.

Several workers may run it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from anyio.to_thread import run_sync

from pecia.features.wiki.config.files import read_project
from pecia.features.wiki.config.merge import ConfigTexts, merge_config
from pecia.features.wiki.config.problem import InvalidConfig
from pecia.features.wiki.live.flush import LiveFlusher
from pecia.features.wiki.live.limits import RETENTION_DAYS
from pecia.features.wiki.live.store import SQL
from pecia.features.wiki.space import content_prefix
from pecia.features.wiki.store import SpaceLocation
from pecia.kernel.errors import PeciaError
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store

_log = Log(__name__)

CLEANUP_INTERVAL_S = 10.0
STALE_AFTER_S = 30.0
"""A process that has the document open flushes it sooner than this."""


@dataclass(frozen=True, slots=True)
class LiveCleanup:
    """Covers all spaces of all tenants."""

    store: Store
    flusher: LiveFlusher

    async def run(self) -> None:
        """Runs until cancelled."""
        while True:
            try:
                await self.run_once()
            except PeciaError as error:
                _log.failure("wiki.leftovers", error)
            await anyio.sleep(CLEANUP_INTERVAL_S)

    async def run_once(self, left_s: float = STALE_AFTER_S) -> None:
        """Flush documents that nobody flushed for so long."""
        async with self.store.system() as tx:
            await tx.execute(SQL["forget_live"], days=RETENTION_DAYS)
            rows = await tx.fetch_all(SQL["unfiled_spaces"], seconds=left_s)
        for row in rows:
            try:
                await self._flush_row(row)
            except (PeciaError, InvalidConfig) as error:
                _log.warning("wiki.leftovers", space=row["source_id"], reason=str(error))

    async def _flush_row(self, row: dict[str, Any]) -> None:
        tenant_id, source_id = row["tenant_id"], row["source_id"]
        project = await self.flusher.require_open(tenant_id, source_id, Path(row["folder"]))
        text = await run_sync(read_project, project)
        folder = merge_config(ConfigTexts(project=text)).config.content.dir
        lead = await run_sync(content_prefix, project, folder)
        await self.flusher.flush_all(SpaceLocation(tenant_id, source_id, project, lead))
