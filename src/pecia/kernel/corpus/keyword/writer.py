"""Writes one tenant's keyword index: catches up with the change log, or rebuilds.

Every step can be interrupted anywhere: an index stores its own position, and applying a change is
idempotent. Nothing here decides when to work: `follower.py` and the commands do.
"""

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from uuid import UUID

import anyio
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
from pecia.kernel.text.chunks.title import drop_title_heading, drop_title_line

SQL = load_queries("pecia.kernel.corpus.keyword")

ReportIndexProgress: TypeAlias = Callable[[int, int], None]
"""How many files are done, of how many."""

# Changes taken from the log at a time, and files read at a time.
CHANGES_PER_BATCH = 1000
FILES_PER_READ = 200
# For a rebuild: most chunks in one commit, and the engine's memory for them.
MAX_COMMIT_CHUNKS = 40_000
BUILD_BYTES = 128_000_000
# The engine merges this many segments of about one size.
MERGE_FACTOR = 8

_log = Log(__name__)


def ignore_progress(done: int, of: int) -> None:
    """Report no progress."""


@dataclass(slots=True)
class IndexWriter:
    """The write lock of one tenant's index, and the open index. Close it to release the lock."""

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
        """The writer of a tenant's index; None while another process holds the lock."""
        directory = IndexDirectory.of(root, tenant_id)
        lock = await run_sync(directory.lock)
        return None if lock is None else cls(store, node, tenant_id, directory, lock)

    async def close(self) -> None:
        try:
            await self.close_index()
        finally:
            self.lock.close()

    async def close_index(self) -> None:
        """Close the index, keep the lock."""
        index, self.index = self.index, None
        if index is not None:
            await run_sync(index.close_writer)

    async def catch_up(self) -> int | None:
        """Apply what was committed since; the number reached. None: it must be rebuilt."""
        now = await self.load_position()
        index = await self.open_index(now)
        cursor = index.cursor() if index else None
        while index is not None and cursor is not None:
            batch = await self._tail(cursor)
            if batch.trimmed or batch.epoch != now.epoch:
                return None
            if not batch.entries:
                if self.recorded_position != cursor:
                    # The writer that reached this may have died before recording it.
                    await self.record_position(cursor)
                return cursor
            await self._apply(index, batch)
            cursor = batch.upto
            await self.record_position(cursor)
            if len(batch.entries) < CHANGES_PER_BATCH:
                # Nothing else was there. What came since is for the next time, all at once.
                return cursor
        return None

    async def rebuild(self, progress: ReportIndexProgress = ignore_progress) -> int:
        """Build a new generation beside the live one, then publish it; its commit number."""
        now = await self.load_position()
        if now.epoch is None:
            return 0
        # Holds back trimming of later commits while we build.
        await self.record_position(now.n)
        try:
            await self._build(now, progress)
        except BaseException:
            # Without an index, this node has reached nothing: it must be seen to be behind.
            with anyio.CancelScope(shield=True):
                await self._forget_position()
            raise
        return now.n

    async def _build(self, now: ChangelogPosition, progress: ReportIndexProgress) -> None:
        assert now.epoch is not None
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

    async def open_index(self, now: ChangelogPosition) -> KeywordIndex | None:
        """The live index, opened for writing; None if there is no usable one."""
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
        """Record this node's position, so that the log may be trimmed below."""
        async with self.store.system() as tx:
            await changelog.record_applied(tx, self.tenant_id, self.node, n)
        self.recorded_position = n

    async def _forget_position(self) -> None:
        async with self.store.system() as tx:
            await changelog.forget_applied(tx, self.tenant_id, self.node)
        self.recorded_position = None

    async def iter_documents(
        self, progress: ReportIndexProgress = ignore_progress
    ) -> AsyncGenerator[list[FileDocuments]]:
        """Every file that the tenant has now, in batches, each as of when it is read.

        Not those that come meanwhile: a build would follow a crawl to its end, and nothing be found
        until then.
        """
        async with self.store.system() as tx:
            files_now = await tx.fetch_one(SQL["files"], "no tenant", tenant_id=self.tenant_id)
        of, upto = int(files_now["count"]), int(files_now["last_id"])
        done = last = 0
        while True:
            async with self.store.system() as tx:
                file_ids = await changelog.list_file_ids(
                    tx, self.tenant_id, last, upto, FILES_PER_READ
                )
                files = await changelog.load_file_documents(tx, self.tenant_id, file_ids)
            if not file_ids:
                return
            yield files
            last, done = file_ids[-1], done + len(file_ids)
            progress(done, max(of, done))

    async def stage_files(self, index: KeywordIndex, file_ids: Sequence[int]) -> None:
        """Stage these files as they are now; the caller commits."""
        for at in range(0, len(file_ids), FILES_PER_READ):
            batch_ids = file_ids[at : at + FILES_PER_READ]
            async with self.store.system() as tx:
                files = await changelog.load_file_documents(tx, self.tenant_id, batch_ids)
            await run_sync(_stage, index, batch_ids, files)

    async def _is_intact(self, current: Path) -> bool:
        """Verify checksums: not every failed query is caused by corrupt files."""
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
            # What was staged must not be committed by the next attempt.
            self.index = None
            raise

    async def _fill(self, index: KeywordIndex, progress: ReportIndexProgress) -> None:
        async with self.store.system() as tx:
            of: int = await tx.fetch_value(SQL["chunk_count"], tenant_id=self.tenant_id)
        step = commit_size(of)
        staged, target = 0, step
        async with aclosing(self.iter_documents(progress)) as batches:
            async for files in batches:
                await run_sync(_stage, index, (), files)
                staged += sum(len(it.chunks) for it in files)
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
    """The index entries of a file's chunks."""
    modified, title = file.modified_at, file.title
    for chunk in file.chunks:
        yield IndexEntry(
            id=chunk.id,
            group=file.file_id,
            acl=file.acl_id,
            source=file.source_id,
            key=file.key,
            content_type=file.content_type or "",
            modified_ms=None if modified is None else round(modified.timestamp() * 1000),
            authors=tuple(file.authors),
            language=file.language,
            title=title,
            headings="\n".join(
                it for it in (*drop_title_heading(chunk.headings, title), chunk.unit_label) if it
            ),
            body="\n".join(it for it in (chunk.prefix, drop_title_line(chunk.text, title)) if it),
        )


def _stage(index: KeywordIndex, gone: Sequence[int], files: Sequence[FileDocuments]) -> None:
    index.stage(gone, (entry for file in files for entry in build_entries(file)))


def _open_index(generation: Path) -> KeywordIndex | None:
    try:
        return KeywordIndex.open(generation)
    except IndexUnusable as error:
        _log.failure("index.torn", error)
        return None
