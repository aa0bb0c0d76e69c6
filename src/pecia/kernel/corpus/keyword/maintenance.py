"""What a person does to the indexes of a home: look, build anew, compare, mend.

Each verb takes the right to write from the follower, who gives it when asked, and gives it back.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from uuid import UUID

from anyio.to_thread import run_sync

from pecia.kernel.corpus.keyword.checksum import find_corrupt_files
from pecia.kernel.corpus.keyword.directory import IndexDirectory, load_node_name
from pecia.kernel.corpus.keyword.entry import IndexedChunk
from pecia.kernel.corpus.keyword.index import IndexUnusable, KeywordIndex
from pecia.kernel.corpus.keyword.writer import (
    SQL,
    IndexWriter,
    ReportIndexProgress,
    build_entries,
    ignore_progress,
)
from pecia.kernel.errors import NotFound, Unavailable
from pecia.kernel.store.store import Store


@dataclass(frozen=True, slots=True)
class IndexDifferences:
    """The files in which an index differs from its store; `chunks` is what the store holds."""

    chunks: int
    missing: frozenset[int] = frozenset()
    extra: frozenset[int] = frozenset()
    stale: frozenset[int] = frozenset()

    @property
    def file_ids(self) -> list[int]:
        return sorted(self.missing | self.extra | self.stale)


async def compare_index(
    keeper: IndexWriter, index: KeywordIndex, progress: ReportIndexProgress = ignore_progress
) -> IndexDifferences:
    """Compare every chunk with the store. What is written meanwhile may show as a difference."""
    held = await run_sync(_indexed_chunks, index)
    stored: dict[int, IndexedChunk] = {}
    async with aclosing(keeper.iter_documents(progress)) as portions:
        async for found in portions:
            stored |= {
                entry.id: entry.as_indexed() for file in found for entry in build_entries(file)
            }
    return IndexDifferences(
        chunks=len(stored),
        missing=frozenset(it.group for it in stored.values() if it.id not in held),
        extra=frozenset(it.group for it in held.values() if it.id not in stored),
        stale=frozenset(it.group for it in stored.values() if it.id in held and held[it.id] != it),
    )


async def repair_files(keeper: IndexWriter, index: KeywordIndex, found: IndexDifferences) -> None:
    """Bring the files that differ into the index as the store has them."""
    await keeper.stage_files(index, found.file_ids)
    await run_sync(index.commit)


def _indexed_chunks(index: KeywordIndex) -> dict[int, IndexedChunk]:
    return {it.id: it for it in index.iter_chunks()}


@dataclass(frozen=True, slots=True)
class IndexTenant:
    """A tenant and how far its log is; `applied` and `seen_at` are this node's, None without."""

    id: UUID
    name: str
    n: int
    applied: int | None
    seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """How an index stands: `ready`, `absent` or `torn`. `lag` is in commits."""

    tenant: str
    state: str
    reached: int
    lag: int
    chunks: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class IndexVerification:
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
class IndexMaintenance:
    """The indexes of one home."""

    store: Store
    root: Path

    async def list_tenants(self, name: str | None) -> list[IndexTenant]:
        """Those with something to index, or the one of that name."""
        async with self.store.system() as tx:
            found = await tx.fetch_all_as(
                IndexTenant, SQL["tenants"], name=name, node=load_node_name(self.root)
            )
        if name is not None and not found:
            raise NotFound(f"no tenant {name!r} that holds files", tenant=name)
        return found

    async def status(self, tenant: IndexTenant) -> IndexStatus:
        return await run_sync(_read_status, IndexDirectory.of(self.root, tenant.id), tenant)

    async def rebuild(
        self, tenant: IndexTenant, progress: ReportIndexProgress = ignore_progress
    ) -> IndexStatus:
        """Build it anew beside the old one, which is searched until the new one is ready."""
        async with self._acquire_writer(tenant) as keeper:
            await keeper.rebuild(progress)
            await keeper.catch_up()
        return await self.status(tenant)

    async def verify(
        self, tenant: IndexTenant, progress: ReportIndexProgress = ignore_progress
    ) -> IndexVerification:
        """Compare every file on disk with its checksum and every chunk with the store."""
        async with self._acquire_writer(tenant) as keeper:
            return await self._verify(keeper, tenant, progress)

    async def repair(
        self, tenant: IndexTenant, progress: ReportIndexProgress = ignore_progress
    ) -> IndexVerification:
        """The same, and mend what differs; what is torn or absent is built anew."""
        async with self._acquire_writer(tenant) as keeper:
            found = await self._verify(keeper, tenant, progress)
            if found.torn:
                await keeper.rebuild(progress)
            elif not found.is_equal:
                index, seen = await _compare(keeper, ignore_progress)
                await repair_files(keeper, index, seen)
        return replace(found, mended=not found.is_equal)

    async def _verify(
        self, keeper: IndexWriter, tenant: IndexTenant, progress: ReportIndexProgress
    ) -> IndexVerification:
        current = await run_sync(keeper.directory.current_generation)
        torn = (
            ("absent",) if current is None else tuple(await run_sync(find_corrupt_files, current))
        )
        if torn or await keeper.catch_up() is None:
            return IndexVerification(tenant.name, 0, torn=torn or ("outdated",))
        _, seen = await _compare(keeper, progress)
        if seen.file_ids and await keeper.catch_up() is not None:
            # What was written while we compared looked like a difference.
            _, seen = await _compare(keeper, progress)
        return IndexVerification(
            tenant.name, seen.chunks, len(seen.missing), len(seen.extra), len(seen.stale)
        )

    @asynccontextmanager
    async def _acquire_writer(self, tenant: IndexTenant) -> AsyncGenerator[IndexWriter]:
        place = IndexDirectory.of(self.root, tenant.id)
        with place.request_lock():
            lock = await run_sync(place.wait_lock, abandon_on_cancel=True)
            keeper = IndexWriter(self.store, load_node_name(self.root), tenant.id, place, lock)
            try:
                yield keeper
            finally:
                await keeper.close()


async def _compare(
    keeper: IndexWriter, progress: ReportIndexProgress
) -> tuple[KeywordIndex, IndexDifferences]:
    index = await keeper.open_index(await keeper.load_position())
    if index is None:
        raise Unavailable("the index went away; try again")
    return index, await compare_index(keeper, index, progress)


def _read_status(place: IndexDirectory, tenant: IndexTenant) -> IndexStatus:
    current = place.current_generation()
    if current is None:
        return IndexStatus(tenant.name, "absent", 0, tenant.n, 0, 0)
    try:
        index = KeywordIndex.open_reader(current)
        reached, chunks, state = index.cursor() or 0, index.count(), "ready"
    except IndexUnusable:
        reached, chunks, state = 0, 0, "torn"
    lag = max(0, tenant.n - reached)
    return IndexStatus(tenant.name, state, reached, lag, chunks, place.size_bytes())
