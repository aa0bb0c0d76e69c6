"""Background job of a worker: keeps the catalogs of spaces current. Several workers may run it.

Changes made on disk without our tools are synced by the lake, which crawls spaces too.
"""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias
from uuid import UUID

import anyio
from anyio.to_thread import run_sync

from pecia.features.wiki.catalog_builder import write_catalogs
from pecia.features.wiki.config.files import read_project
from pecia.features.wiki.config.merge import ConfigTexts, merge_config
from pecia.features.wiki.config.problem import InvalidConfig
from pecia.features.wiki.space import content_prefix
from pecia.features.wiki.storage.roots import SpaceRoots
from pecia.features.wiki.store import SQL, SpaceLocation
from pecia.features.wiki.sync import SpaceSync
from pecia.kernel.errors import PeciaError
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store

_log = Log(__name__)

CATALOG_INTERVAL_S = 1.0
# A space that is slow to scan is scanned less often, to bound the load.
COST_FACTOR = 20

CatalogState: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class CatalogMaintenance:
    """Covers all spaces of all tenants."""

    store: Store
    library: SpaceSync
    roots: SpaceRoots | None = None
    _due: dict[tuple[UUID, str], float] = field(default_factory=dict[tuple[UUID, str], float])
    _built: dict[tuple[UUID, str], tuple[CatalogState, str]] = field(
        default_factory=dict[tuple[UUID, str], tuple[CatalogState, str]]
    )
    _failed: set[tuple[UUID, str]] = field(default_factory=set[tuple[UUID, str]])

    async def run(self) -> None:
        """Runs until cancelled."""
        while True:
            try:
                await self.run_once()
            except PeciaError as error:
                _log.failure("wiki.catalog", error)
            await anyio.sleep(CATALOG_INTERVAL_S)

    async def run_once(self) -> None:
        """Check every space that is due."""
        async with self.store.system() as tx:
            rows = await tx.fetch_all(SQL["every_space"])
        for row in rows:
            key = (row["tenant_id"], row["source_id"])
            if self._due.get(key, 0.0) <= time.monotonic():
                await self._check_space(key, row)

    async def _check_space(self, key: tuple[UUID, str], row: dict[str, Any]) -> None:
        began = time.monotonic()
        try:
            roots = self.roots or SpaceRoots(self.store)
            named, is_confined = Path(row["folder"]), bool(row["is_confined"])
            await self._rebuild_catalog(
                key, await roots.resolve_folder(key[0], named, is_confined=is_confined)
            )
            self._failed.discard(key)
        except (PeciaError, InvalidConfig) as error:
            # Logged once: a missing folder stays missing for a while.
            if key not in self._failed:
                _log.warning("wiki.catalog", space=key[1], reason=str(error))
            self._failed.add(key)
        took = time.monotonic() - began
        self._due[key] = (
            time.monotonic() + max(CATALOG_INTERVAL_S, COST_FACTOR * took) - CATALOG_INTERVAL_S / 2
        )

    async def _rebuild_catalog(self, key: tuple[UUID, str], project: Path) -> None:
        text = await run_sync(read_project, project)
        config = merge_config(ConfigTexts(project=text)).config
        lead = await run_sync(content_prefix, project, config.content.dir)
        place = SpaceLocation(*key, project, lead)
        found = await self.library.scan(place)
        state = tuple((it, found.stamps[it].etag) for it in found.documents.values())
        if self._built.get(key) == (state, text):
            return
        stamps = {it: found.stamps[it] for it in found.documents.values()}
        read = await self.library.load_metadata(place, stamps)
        facts = {name: read[path] for name, path in found.documents.items() if path in read}
        paths = {name: lead + path for name, path in found.documents.items()}
        await run_sync(write_catalogs, project, paths, facts, config)
        self._built[key] = (state, text)
