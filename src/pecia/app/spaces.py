"""The folder of a space: where it may lie, and as a place that files come from.

What its ignore files leave out stays out: the wiki shows no document that they leave out, so search
must not find its words.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from anyio.to_thread import run_sync

from pecia.adapters.connect.bounds import ANYWHERE, require_folder
from pecia.adapters.connect.folder import Folder
from pecia.kernel.corpus.connector import Listed, Original, Passed, Seen
from pecia.kernel.errors import NotFound
from pecia.kernel.store.store import Store
from pecia.rooms.lake.reach import reach_of
from pecia.rooms.wiki.ignore import Ignored
from pecia.rooms.wiki.roots import SpaceRoots
from pecia.rooms.wiki.scan import ignored_at

REASON = "an ignore file of the space leaves it out"


def space_roots(store: Store) -> SpaceRoots:
    """Where tenants may have spaces, as their operator says now."""

    async def roots_of(tenant_id: UUID) -> Sequence[Path]:
        return (await reach_of(store, tenant_id)).space_roots

    return SpaceRoots(store, roots_of)


@dataclass(frozen=True, slots=True)
class NewFolders:
    """Folders that shall become spaces."""

    roots: SpaceRoots

    async def admit(self, tenant_id: UUID, folder: str) -> str:
        return await self.roots.admit(tenant_id, folder)

    async def require(self, folder: str) -> None:
        """Refuse what is not there, no folder, or closed to this server."""
        await run_sync(require_folder, Path(folder), ANYWHERE, "folder")


@dataclass(frozen=True, slots=True)
class SpaceFolder:
    """One space."""

    folder: Folder

    async def listing(self) -> AsyncGenerator[Listed]:
        left_out = _LeftOut(self.folder)
        async for it in self.folder.listing():
            is_out = isinstance(it, Seen) and await left_out.has(it.key)
            yield Passed(it.key, REASON) if is_out else it

    async def glance(self, keys: Sequence[str]) -> list[Listed]:
        left_out = _LeftOut(self.folder)
        return [it for it in await self.folder.glance(keys) if not await left_out.has(it.key)]

    @asynccontextmanager
    async def opening(self, key: str, most_bytes: int) -> AsyncGenerator[Original]:
        if await _LeftOut(self.folder).has(key):
            raise NotFound(REASON, key=key)
        async with self.folder.opening(key, most_bytes) as original:
            yield original

    async def handful(self, keys: Sequence[str], most_bytes: int) -> dict[str, bytes]:
        left_out = _LeftOut(self.folder)
        kept = [it for it in keys if not await left_out.has(it)]
        return await self.folder.handful(kept, most_bytes)


@dataclass(slots=True)
class _LeftOut:
    """What the ignore files say now; those of each folder are read once."""

    folder: Folder
    known: dict[str, Ignored] = field(default_factory=dict[str, Ignored])

    async def has(self, key: str) -> bool:
        above = key.rpartition("/")[0]
        if above not in self.known:
            self.known[above] = await run_sync(ignored_at, self.folder.root, key)
        return _says(self.known[above], key.split("/"))


def _says(ignored: Ignored, names: list[str]) -> bool:
    """Whether a line leaves this file out, or a folder above it. Lines alone: the lake reads what
    tools have built, unless somebody says otherwise."""
    for depth in range(1, len(names) + 1):
        is_folder = depth < len(names)
        for line in reversed(ignored.lines):
            if line.fits(names[:depth], is_folder=is_folder):
                if not line.takes_back:
                    return True
                break
    return False
