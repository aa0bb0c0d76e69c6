"""What a worker does for live documents: files what a process that died has left, forgets the old.

Several may do so at once.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from anyio.to_thread import run_sync

from pecia.kernel.errors import PeciaError
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store
from pecia.rooms.wiki.config.files import read_project
from pecia.rooms.wiki.config.merge import Files, effective
from pecia.rooms.wiki.config.problem import BadConfig
from pecia.rooms.wiki.live.bounds import KEPT_DAYS
from pecia.rooms.wiki.live.filing import Filing
from pecia.rooms.wiki.live.rows import SQL
from pecia.rooms.wiki.space import Place
from pecia.rooms.wiki.wiki import content_lead

_log = Log(__name__)

EVERY_S = 10.0
LEFT_S = 30.0
"""Whoever has a document open files it sooner than this."""


@dataclass(frozen=True, slots=True)
class Leftovers:
    """All spaces of all tenants."""

    store: Store
    filing: Filing

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self.once()
            except PeciaError as error:
                _log.failure("wiki.leftovers", error)
            await anyio.sleep(EVERY_S)

    async def once(self, left_s: float = LEFT_S) -> None:
        """File whatever nobody filed for so long."""
        async with self.store.system() as tx:
            await tx.run(SQL["forget_live"], days=KEPT_DAYS)
            rows = await tx.all(SQL["unfiled_spaces"], seconds=left_s)
        for row in rows:
            try:
                await self._file(row)
            except (PeciaError, BadConfig) as error:
                _log.warning("wiki.leftovers", space=row["source_id"], reason=str(error))

    async def _file(self, row: dict[str, Any]) -> None:
        tenant_id, source_id = row["tenant_id"], row["source_id"]
        project = await self.filing.require_open(tenant_id, source_id, Path(row["folder"]))
        text = await run_sync(read_project, project)
        folder = effective(Files(project=text)).config.content.dir
        lead = await run_sync(content_lead, project, folder)
        await self.filing.file_all(Place(tenant_id, source_id, project, lead))
