"""One tenant's index, kept equal to the store: caught up, or built anew.

Every step can be cut off anywhere: an index says itself how far it has come, and what is applied
twice is as if applied once. Nothing here decides when to work: `follow.py` and the commands do.
"""

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from uuid import UUID

from anyio.to_thread import run_sync

from pecia.kernel.corpus import changelog
from pecia.kernel.corpus.changelog import ChangeBatch, ChangelogPosition, FileDocuments
from pecia.kernel.corpus.keyword.checksum import find_corrupt_files
from pecia.kernel.corpus.keyword.directory import IndexDirectory
from pecia.kernel.corpus.keyword.entry import IndexEntry
from pecia.kernel.corpus.keyword.index import IndexUnusable, KeywordIndex
from pecia.kernel.errors import PeciaError
from pecia.kernel.logs import Log
from pecia.kernel.store.file_lock import FileLock
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store

SQL = load_queries("pecia.kernel.corpus.keyword")

ReportIndexProgress: TypeAlias = Callable[[int, int], None]
"""How many files are done, of how many."""

# Changes taken from the log at a time, and files read at a time.
CHANGES_PER_BATCH = 1000
FILES_PER_READ = 200
# For building: so many chunks, at most, wait for a commit, and the memory they wait in.
MAX_COMMIT_CHUNKS = 40_000
BUILD_BYTES = 128_000_000
# So many segments of about one size the engine makes one of.
MERGE_FACTOR = 8

_log = Log(__name__)


def ignore_progress(done: int, of: int) -> None:
    """Progress that nobody watches."""


@dataclass(slots=True)
class IndexWriter:
    """The right to write one tenant's index, and the open index. Close it to let others."""

    store: Store
    node: str
    tenant_id: UUID
    directory: IndexDirectory
    lock: FileLock
    index: KeywordIndex | None = None
    recorded_position: int | None = None

    @classmethod
    async def acquire(
        cls, store: Store, node: str, root: Path, tenant_id: UUID
    ) -> "IndexWriter | None":
        """The keeper of a tenant's index; None while another process keeps it."""
        place = IndexDirectory.of(root, tenant_id)
        lock = await run_sync(place.lock)
        return None if lock is None else cls(store, node, tenant_id, place, lock)

    async def close(self) -> None:
        try:
            await self.close_index()
        finally:
            self.lock.close()

    async def close_index(self) -> None:
        """Close the index and keep the right to it."""
        index, self.index = self.index, None
        if index is not None:
            await run_sync(index.close_writer)

    async def catch_up(self) -> int | None:
        """Apply what was committed since; the number reached. None: it must be built anew."""
        now = await self.load_position()
        index = await self.open_index(now)
        cursor = index.cursor() if index else None
        while index is not None and cursor is not None:
            batch = await self._tail(cursor)
            if batch.trimmed or batch.epoch != now.epoch:
                return None
            if not batch.entries:
                if self.recorded_position != cursor:
                    # Whoever came this far may have died before it said so.
                    await self.record_position(cursor)
                return cursor
            await self._apply(index, batch)
            cursor = batch.upto
            await self.record_position(cursor)
        return None

    async def rebuild(self, progress: ReportIndexProgress = ignore_progress) -> int:
        """Build another index beside the one that is searched, then show it; its number."""
        now = await self.load_position()
        if now.epoch is None:
            return 0
        # What comes after this number must not be trimmed while we build.
        await self.record_position(now.n)
        await self.close_index()
        generation = self.directory.new_generation(now.epoch)
        index = await run_sync(KeywordIndex.open, generation, BUILD_BYTES)
        try:
            await self._fill(index, progress)
            await run_sync(index.commit, now.n)
        finally:
            await run_sync(index.close_writer)
        await run_sync(self.directory.publish, generation)
        await run_sync(self.directory.remove_old_generations)
        return now.n

    async def open_index(self, now: ChangelogPosition) -> KeywordIndex | None:
        """The index that is searched, opened for writing; None if there is none that we can use."""
        current = await run_sync(self.directory.current_generation)
        if (
            current is None
            or now.epoch is None
            or not self.directory.is_generation_of(current, now.epoch)
        ):
            return None
        if self.directory.is_suspect() and not await self._is_intact(current):
            return None
        if self.index is None:
            await run_sync(self.directory.remove_old_generations)
            self.index = await run_sync(_open_index, current)
        return self.index

    async def load_position(self) -> ChangelogPosition:
        async with self.store.system() as tx:
            return await changelog.load_position(tx, self.tenant_id)

    async def record_position(self, n: int) -> None:
        """Say how far this node is, so that the log may be trimmed below."""
        async with self.store.system() as tx:
            await changelog.record_applied(tx, self.tenant_id, self.node, n)
        self.recorded_position = n

    async def iter_documents(
        self, progress: ReportIndexProgress = ignore_progress
    ) -> AsyncGenerator[list[FileDocuments]]:
        """Every file of the tenant as it is when its turn comes, portion by portion."""
        async with self.store.system() as tx:
            of: int = await tx.fetch_value(SQL["file_count"], tenant_id=self.tenant_id)
        done = last = 0
        while True:
            async with self.store.system() as tx:
                file_ids = await changelog.list_file_ids(tx, self.tenant_id, last, FILES_PER_READ)
                found = await changelog.load_file_documents(tx, self.tenant_id, file_ids)
            if not file_ids:
                return
            yield found
            last, done = file_ids[-1], done + len(file_ids)
            progress(done, max(of, done))

    async def stage_files(self, index: KeywordIndex, file_ids: Sequence[int]) -> None:
        """Bring these files into the index as they are now, to be committed by the caller."""
        for at in range(0, len(file_ids), FILES_PER_READ):
            portion = file_ids[at : at + FILES_PER_READ]
            async with self.store.system() as tx:
                found = await changelog.load_file_documents(tx, self.tenant_id, portion)
            await run_sync(_stage, index, portion, found)

    async def _is_intact(self, current: Path) -> bool:
        """Whether a doubt was without ground: not every query that fails fails over the files."""
        await self.close_index()
        if torn := await run_sync(find_corrupt_files, current):
            _log.warning("index.torn", files=[*torn])
            return False
        self.directory.clear_suspect()
        return True

    async def _tail(self, after: int) -> ChangeBatch:
        async with self.store.system() as tx:
            return await changelog.tail(tx, self.tenant_id, after, CHANGES_PER_BATCH)

    async def _apply(self, index: KeywordIndex, batch: ChangeBatch) -> None:
        try:
            await self.stage_files(index, batch.file_ids)
            await run_sync(index.commit, batch.upto)
        except PeciaError:
            # What was staged must not be committed by whoever comes next.
            self.index = None
            raise

    async def _fill(self, index: KeywordIndex, progress: ReportIndexProgress) -> None:
        async with self.store.system() as tx:
            of: int = await tx.fetch_value(SQL["chunk_count"], tenant_id=self.tenant_id)
        step = commit_size(of)
        staged, target = 0, step
        async with aclosing(self.iter_documents(progress)) as portions:
            async for found in portions:
                await run_sync(_stage, index, (), found)
                staged += sum(len(it.chunks) for it in found)
                if staged >= target:
                    await run_sync(index.commit)
                    target += step * ((staged - target) // step + 1)


def commit_size(chunks: int) -> int:
    """How many chunks to commit at a time, so that the engine merges them all into one segment.

    A million chunks in one were searched in 2.4 ms of CPU, in seven large ones in 3.2.
    """
    size = chunks
    while size > MAX_COMMIT_CHUNKS:
        size = -(-size // MERGE_FACTOR)
    return max(1, size)


def build_entries(file: FileDocuments) -> Iterator[IndexEntry]:
    """The chunks of a file as an index takes them."""
    modified = file.modified_at
    for chunk in file.chunks:
        yield IndexEntry(
            id=chunk.id,
            group=file.file_id,
            acl=file.acl_id,
            source=file.source_id,
            key=file.key,
            content_type=file.content_type or "",
            modified_ms=None if modified is None else round(modified.timestamp() * 1000),
            language=file.language,
            title=file.title,
            headings="\n".join(it for it in (*chunk.headings, chunk.unit_label) if it),
            body=f"{chunk.prefix}\n{chunk.text}" if chunk.prefix else chunk.text,
        )


def _stage(index: KeywordIndex, gone: Sequence[int], found: Sequence[FileDocuments]) -> None:
    index.stage(gone, (entry for file in found for entry in build_entries(file)))


def _open_index(generation: Path) -> KeywordIndex | None:
    try:
        return KeywordIndex.open(generation)
    except IndexUnusable as error:
        _log.failure("index.torn", error)
        return None
