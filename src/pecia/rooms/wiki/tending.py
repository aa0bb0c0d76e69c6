"""What a worker does for spaces all the time: keeps their catalogs. Several may do so at once.

What changes on the disk without our tools the lake tells the store, which crawls spaces too.
"""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias
from uuid import UUID

import anyio
from anyio.to_thread import run_sync

from pecia.kernel.errors import PeciaError
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store
from pecia.rooms.wiki.cataloging import write_catalogs
from pecia.rooms.wiki.config.files import read_project
from pecia.rooms.wiki.config.merge import Files, effective
from pecia.rooms.wiki.config.problem import BadConfig
from pecia.rooms.wiki.library import Library
from pecia.rooms.wiki.roots import SpaceRoots
from pecia.rooms.wiki.scan import scan
from pecia.rooms.wiki.space import SQL, Place
from pecia.rooms.wiki.wiki import content_lead

_log = Log(__name__)

EVERY_S = 1.0
# A space that takes long to look at is looked at less often, so as to take little of the machine.
SHARE = 20

State: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Tending:
    """All spaces of all tenants."""

    store: Store
    library: Library
    roots: SpaceRoots | None = None
    _due: dict[tuple[UUID, str], float] = field(default_factory=dict[tuple[UUID, str], float])
    _built: dict[tuple[UUID, str], tuple[State, str]] = field(
        default_factory=dict[tuple[UUID, str], tuple[State, str]]
    )
    _failed: set[tuple[UUID, str]] = field(default_factory=set[tuple[UUID, str]])

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self.once()
            except PeciaError as error:
                _log.failure("wiki.tend", error)
            await anyio.sleep(EVERY_S)

    async def once(self) -> None:
        """Look at every space that is due."""
        async with self.store.system() as tx:
            rows = await tx.all(SQL["every_space"])
        for row in rows:
            key = (row["tenant_id"], row["source_id"])
            if self._due.get(key, 0.0) <= time.monotonic():
                await self._look(key, row)

    async def _look(self, key: tuple[UUID, str], row: dict[str, Any]) -> None:
        began = time.monotonic()
        try:
            roots = self.roots or SpaceRoots(self.store)
            named, is_confined = Path(row["folder"]), bool(row["is_confined"])
            await self._tend(key, await roots.opened(key[0], named, is_confined=is_confined))
            self._failed.discard(key)
        except (PeciaError, BadConfig) as error:
            # Said once: a folder that is away stays away for a while.
            if key not in self._failed:
                _log.warning("wiki.tend", space=key[1], reason=str(error))
            self._failed.add(key)
        took = time.monotonic() - began
        self._due[key] = time.monotonic() + max(EVERY_S, SHARE * took) - EVERY_S / 2

    async def _tend(self, key: tuple[UUID, str], project: Path) -> None:
        text = await run_sync(read_project, project)
        config = effective(Files(project=text)).config
        lead = await run_sync(content_lead, project, config.content.dir)
        place = Place(*key, project, lead)
        found = await run_sync(scan, place.root)
        state = tuple((it, found.stamps[it].etag) for it in found.documents.values())
        if self._built.get(key) == (state, text):
            return
        stamps = {it: found.stamps[it] for it in found.documents.values()}
        read = await self.library.facts(place, stamps)
        facts = {name: read[path] for name, path in found.documents.items() if path in read}
        paths = {name: lead + path for name, path in found.documents.items()}
        await run_sync(write_catalogs, project, paths, facts, config)
        self._built[key] = (state, text)
