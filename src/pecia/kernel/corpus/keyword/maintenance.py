"""Operator commands on the keyword indexes of a home: status, rebuild, verify, repair.

Each takes the write lock from the follower, which releases it on request, and gives it back.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from uuid import UUID

from anyio.to_thread import run_sync

from pecia.kernel.corpus.keyword.checksum import find_corrupt_files
from pecia.kernel.corpus.keyword.directory import (
    IndexDirectory,
    is_node_damaged,
    list_directories,
    load_node_name,
)
from pecia.kernel.corpus.keyword.entry import IndexedChunk
from pecia.kernel.corpus.keyword.index import IndexUnusable, KeywordIndex
from pecia.kernel.corpus.keyword.writer import (
    SQL,
    IndexWriter,
    ReportIndexProgress,
    build_entries,
    ignore_progress,
)
from pecia.kernel.errors import NotFound, Unavailable, list_hint
from pecia.kernel.store.store import Store

NO_INDEX = "there is no index"
OTHER_FORMAT = "the index cannot follow the change log any more"


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
    writer: IndexWriter, index: KeywordIndex, progress: ReportIndexProgress = ignore_progress
) -> IndexDifferences:
    """Compare every chunk with the store. What is written meanwhile may show as a difference."""
    indexed = await run_sync(_indexed_chunks, index)
    stored: dict[int, IndexedChunk] = {}
    async with aclosing(writer.iter_documents(progress)) as batches:
        async for files in batches:
            stored |= {
                entry.id: entry.as_indexed() for file in files for entry in build_entries(file)
            }
    return IndexDifferences(
        chunks=len(stored),
        missing=frozenset(it.group for it in stored.values() if it.id not in indexed),
        extra=frozenset(it.group for it in indexed.values() if it.id not in stored),
        stale=frozenset(
            it.group for it in stored.values() if it.id in indexed and indexed[it.id] != it
        ),
    )


async def repair_files(
    writer: IndexWriter, index: KeywordIndex, differences: IndexDifferences
) -> None:
    """Index the files that differ again, from the store."""
    await writer.stage_files(index, differences.file_ids)
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
    """`state` is `ready`, `absent` or `torn`. `lag` is in commits."""

    tenant: str
    state: str
    reached: int
    lag: int
    chunks: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class IndexVerification:
    """An index compared with the store. `torn` are files with a wrong checksum, or why there is
    nothing to compare."""

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
        """Tenants with something to index, or the one of that name."""
        async with self.store.system() as tx:
            tenants = await tx.fetch_all_as(
                IndexTenant, SQL["tenants"], name=name, node=load_node_name(self.root)
            )
        if name is not None and not tenants:
            hint = list_hint("pecia tenant list")
            raise NotFound(f"no tenant {name!r} with files", tenant=name, hint=hint)
        return tenants

    async def repair_node(self) -> bool:
        """Give this home another name among the nodes if its own is damaged; whether it was."""
        is_damaged = await run_sync(is_node_damaged, self.root)
        await run_sync(load_node_name, self.root)
        return is_damaged

    async def status(self, tenant: IndexTenant) -> IndexStatus:
        return await run_sync(_read_status, IndexDirectory.of(self.root, tenant.id), tenant)

    async def rebuild(
        self, tenant: IndexTenant, progress: ReportIndexProgress = ignore_progress
    ) -> IndexStatus:
        """Build a new generation; the old one is searched until it is ready."""
        async with self._acquire_writer(tenant) as writer:
            await writer.rebuild(progress)
            await writer.catch_up()
        return await self.status(tenant)

    async def verify(
        self, tenant: IndexTenant, progress: ReportIndexProgress = ignore_progress
    ) -> IndexVerification:
        """Compare every file on disk with its checksum and every chunk with the store."""
        async with self._acquire_writer(tenant) as writer:
            return await self._verify(writer, tenant, progress)

    async def repair(
        self, tenant: IndexTenant, progress: ReportIndexProgress = ignore_progress
    ) -> IndexVerification:
        """Verify, and repair what differs; a torn or absent index is rebuilt."""
        # The follower may repair it while we wait for the writer lock; it was damaged all the same.
        damaged = await run_sync(_find_damage, IndexDirectory.of(self.root, tenant.id))
        async with self._acquire_writer(tenant) as writer:
            result = await self._verify(writer, tenant, progress)
            if result.is_equal and damaged:
                return replace(result, torn=damaged, mended=True)
            if result.torn:
                await writer.rebuild(progress)
            elif not result.is_equal:
                index, differences = await _compare(writer, ignore_progress)
                await repair_files(writer, index, differences)
        return replace(result, mended=not result.is_equal)

    async def _verify(
        self, writer: IndexWriter, tenant: IndexTenant, progress: ReportIndexProgress
    ) -> IndexVerification:
        current = await run_sync(writer.directory.current_generation)
        torn = (
            (NO_INDEX,) if current is None else tuple(await run_sync(find_corrupt_files, current))
        )
        if torn or await writer.catch_up() is None:
            return IndexVerification(tenant.name, 0, torn=torn or (OTHER_FORMAT,))
        _, differences = await _compare(writer, progress)
        if differences.file_ids and await writer.catch_up() is not None:
            # Writes during the comparison show up as differences: compare again.
            _, differences = await _compare(writer, progress)
        return IndexVerification(
            tenant.name,
            differences.chunks,
            len(differences.missing),
            len(differences.extra),
            len(differences.stale),
        )

    @asynccontextmanager
    async def _acquire_writer(self, tenant: IndexTenant) -> AsyncGenerator[IndexWriter]:
        directory = IndexDirectory.of(self.root, tenant.id)
        with directory.request_lock():
            lock = await run_sync(directory.wait_lock, abandon_on_cancel=True)
            writer = IndexWriter(self.store, load_node_name(self.root), tenant.id, directory, lock)
            try:
                yield writer
            finally:
                await writer.close()


async def _compare(
    writer: IndexWriter, progress: ReportIndexProgress
) -> tuple[KeywordIndex, IndexDifferences]:
    index = await writer.open_index(await writer.load_position())
    if index is None:
        raise Unavailable("the index was removed meanwhile; try again")
    return index, await compare_index(writer, index, progress)


def _find_damage(directory: IndexDirectory) -> tuple[str, ...]:
    """The files over which an index cannot be opened; nothing is read of one that can."""
    current = directory.current_generation()
    if current is None or is_openable(current):
        return ()
    return tuple(find_corrupt_files(current))


def is_openable(generation: Path) -> bool:
    try:
        KeywordIndex.open_reader(generation).cursor()
    except IndexUnusable:
        return False
    return True


def list_damaged(root: Path) -> list[UUID]:
    """The tenants whose index is suspect or cannot be opened."""
    return [
        tenant_id
        for tenant_id, directory in list_directories(root)
        if directory.is_suspect()
        or ((current := directory.current_generation()) is not None and not is_openable(current))
    ]


def _read_status(directory: IndexDirectory, tenant: IndexTenant) -> IndexStatus:
    current = directory.current_generation()
    if current is None:
        return IndexStatus(tenant.name, "absent", 0, tenant.n, 0, 0)
    try:
        index = KeywordIndex.open_reader(current)
        reached, chunks, state = index.cursor() or 0, index.count(), "ready"
    except IndexUnusable:
        reached, chunks, state = 0, 0, "torn"
    lag = max(0, tenant.n - reached)
    return IndexStatus(tenant.name, state, reached, lag, chunks, directory.size_bytes())
