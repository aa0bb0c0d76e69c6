"""What a person does to the indexes of a home: look, build anew, compare, mend.

Each verb takes the right to write from the follower, who gives it when asked, and gives it back.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from uuid import UUID

from anyio.to_thread import run_sync

from pecia.kernel.corpus.index.checksum import torn_files
from pecia.kernel.corpus.index.compare import Differences, differences, mend
from pecia.kernel.corpus.index.keep import SQL, Keeper, Progress, unseen
from pecia.kernel.corpus.index.keyword import KeywordIndex, Unusable
from pecia.kernel.corpus.index.place import Place, node_of
from pecia.kernel.errors import NotFound, Unavailable
from pecia.kernel.store.store import Store


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant and how far its log is; `applied` and `seen_at` are this node's, None without."""

    id: UUID
    name: str
    n: int
    applied: int | None
    seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class Standing:
    """How an index stands: `ready`, `absent` or `torn`. `lag` is in commits."""

    tenant: str
    state: str
    reached: int
    lag: int
    chunks: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """An index held against its store. `torn` are files that are not as they were written."""

    tenant: str
    chunks: int
    missing: int = 0
    extra: int = 0
    stale: int = 0
    torn: tuple[str, ...] = ()
    mended: bool = False

    @property
    def is_equal(self) -> bool:
        return not (self.missing or self.extra or self.stale or self.torn)


@dataclass(frozen=True, slots=True)
class Tending:
    """The indexes of one home."""

    store: Store
    root: Path

    async def tenants(self, name: str | None) -> list[Tenant]:
        """Those with something to index, or the one of that name."""
        async with self.store.system() as tx:
            found = await tx.all_as(Tenant, SQL["tenants"], name=name, node=node_of(self.root))
        if name is not None and not found:
            raise NotFound(f"no tenant {name!r} that holds files", tenant=name)
        return found

    async def standing(self, tenant: Tenant) -> Standing:
        return await run_sync(_standing, Place.of(self.root, tenant.id), tenant)

    async def rebuild(self, tenant: Tenant, progress: Progress = unseen) -> Standing:
        """Build it anew beside the old one, which is searched until the new one is ready."""
        async with self._kept(tenant) as keeper:
            await keeper.rebuild(progress)
            await keeper.catch_up()
        return await self.standing(tenant)

    async def verify(self, tenant: Tenant, progress: Progress = unseen) -> Verdict:
        """Compare every file on disk with its checksum and every chunk with the store."""
        async with self._kept(tenant) as keeper:
            return await self._verdict(keeper, tenant, progress)

    async def repair(self, tenant: Tenant, progress: Progress = unseen) -> Verdict:
        """The same, and mend what differs; what is torn or absent is built anew."""
        async with self._kept(tenant) as keeper:
            found = await self._verdict(keeper, tenant, progress)
            if found.torn:
                await keeper.rebuild(progress)
            elif not found.is_equal:
                index, seen = await _compared(keeper, unseen)
                await mend(keeper, index, seen)
        return replace(found, mended=not found.is_equal)

    async def _verdict(self, keeper: Keeper, tenant: Tenant, progress: Progress) -> Verdict:
        current = await run_sync(keeper.place.current)
        torn = ("absent",) if current is None else tuple(await run_sync(torn_files, current))
        if torn or await keeper.catch_up() is None:
            return Verdict(tenant.name, 0, torn=torn or ("outdated",))
        _, seen = await _compared(keeper, progress)
        if seen.file_ids and await keeper.catch_up() is not None:
            # What was written while we compared looked like a difference.
            _, seen = await _compared(keeper, progress)
        return Verdict(
            tenant.name, seen.chunks, len(seen.missing), len(seen.extra), len(seen.stale)
        )

    @asynccontextmanager
    async def _kept(self, tenant: Tenant) -> AsyncGenerator[Keeper]:
        place = Place.of(self.root, tenant.id)
        with place.wanted():
            lock = await run_sync(place.wait_lock, abandon_on_cancel=True)
            keeper = Keeper(self.store, node_of(self.root), tenant.id, place, lock)
            try:
                yield keeper
            finally:
                await keeper.close()


async def _compared(keeper: Keeper, progress: Progress) -> tuple[KeywordIndex, Differences]:
    index = await keeper.opened(await keeper.clock())
    if index is None:
        raise Unavailable("the index went away; try again")
    return index, await differences(keeper, index, progress)


def _standing(place: Place, tenant: Tenant) -> Standing:
    current = place.current()
    if current is None:
        return Standing(tenant.name, "absent", 0, tenant.n, 0, 0)
    try:
        index = KeywordIndex.read(current)
        reached, chunks, state = index.cursor() or 0, index.count(), "ready"
    except Unusable:
        reached, chunks, state = 0, 0, "torn"
    lag = max(0, tenant.n - reached)
    return Standing(tenant.name, state, reached, lag, chunks, place.size_bytes())
