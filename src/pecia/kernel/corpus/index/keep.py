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

from pecia.kernel.corpus import changes
from pecia.kernel.corpus.changes import Batch, Clock, FileDocuments
from pecia.kernel.corpus.index.checksum import torn_files
from pecia.kernel.corpus.index.entry import Entry
from pecia.kernel.corpus.index.keyword import KeywordIndex, Unusable
from pecia.kernel.corpus.index.place import Place
from pecia.kernel.errors import PeciaError
from pecia.kernel.logs import Log
from pecia.kernel.store.cluster.locks import Lock
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store

SQL = load_queries("pecia.kernel.corpus.index")

Progress: TypeAlias = Callable[[int, int], None]
"""How many files are done, of how many."""

# Changes taken from the log at a time, and files read at a time.
BATCH = 1000
PORTION = 200
# For building: so many chunks, at most, wait for a commit, and the memory they wait in.
COMMIT_CHUNKS = 40_000
BUILD_BYTES = 128_000_000
# So many segments of about one size the engine makes one of.
MERGED = 8

_log = Log(__name__)


def unseen(done: int, of: int) -> None:
    """Progress that nobody watches."""


@dataclass(slots=True)
class Keeper:
    """The right to write one tenant's index, and the open index. Close it to let others."""

    store: Store
    node: str
    tenant_id: UUID
    place: Place
    lock: Lock
    index: KeywordIndex | None = None
    recorded: int | None = None

    @classmethod
    async def take(cls, store: Store, node: str, root: Path, tenant_id: UUID) -> "Keeper | None":
        """The keeper of a tenant's index; None while another process keeps it."""
        place = Place.of(root, tenant_id)
        lock = await run_sync(place.lock)
        return None if lock is None else cls(store, node, tenant_id, place, lock)

    async def close(self) -> None:
        try:
            await self.let_go()
        finally:
            self.lock.close()

    async def let_go(self) -> None:
        """Close the index and keep the right to it."""
        index, self.index = self.index, None
        if index is not None:
            await run_sync(index.rest)

    async def catch_up(self) -> int | None:
        """Apply what was committed since; the number reached. None: it must be built anew."""
        now = await self.clock()
        index = await self.opened(now)
        cursor = index.cursor() if index else None
        while index is not None and cursor is not None:
            batch = await self._tail(cursor)
            if batch.trimmed or batch.epoch != now.epoch:
                return None
            if not batch.entries:
                if self.recorded != cursor:
                    # Whoever came this far may have died before it said so.
                    await self.record(cursor)
                return cursor
            await self._apply(index, batch)
            cursor = batch.upto
            await self.record(cursor)
        return None

    async def rebuild(self, progress: Progress = unseen) -> int:
        """Build another index beside the one that is searched, then show it; its number."""
        now = await self.clock()
        if now.epoch is None:
            return 0
        # What comes after this number must not be trimmed while we build.
        await self.record(now.n)
        await self.let_go()
        generation = self.place.fresh(now.epoch)
        index = await run_sync(KeywordIndex.open, generation, BUILD_BYTES)
        try:
            await self._fill(index, progress)
            await run_sync(index.commit, now.n)
        finally:
            await run_sync(index.rest)
        await run_sync(self.place.show, generation)
        await run_sync(self.place.tidy)
        return now.n

    async def opened(self, now: Clock) -> KeywordIndex | None:
        """The index that is searched, opened for writing; None if there is none that we can use."""
        current = await run_sync(self.place.current)
        if current is None or now.epoch is None or not self.place.follows(current, now.epoch):
            return None
        if self.place.is_doubted() and not await self._is_whole(current):
            return None
        if self.index is None:
            await run_sync(self.place.tidy)
            self.index = await run_sync(_opened, current)
        return self.index

    async def clock(self) -> Clock:
        async with self.store.system() as tx:
            return await changes.clock_of(tx, self.tenant_id)

    async def record(self, n: int) -> None:
        """Say how far this node is, so that the log may be trimmed below."""
        async with self.store.system() as tx:
            await changes.applied(tx, self.tenant_id, self.node, n)
        self.recorded = n

    async def documents(self, progress: Progress = unseen) -> AsyncGenerator[list[FileDocuments]]:
        """Every file of the tenant as it is when its turn comes, portion by portion."""
        async with self.store.system() as tx:
            of: int = await tx.value(SQL["file_count"], tenant_id=self.tenant_id)
        done = last = 0
        while True:
            async with self.store.system() as tx:
                file_ids = await changes.files_after(tx, self.tenant_id, last, PORTION)
                found = await changes.file_documents(tx, self.tenant_id, file_ids)
            if not file_ids:
                return
            yield found
            last, done = file_ids[-1], done + len(file_ids)
            progress(done, max(of, done))

    async def put(self, index: KeywordIndex, file_ids: Sequence[int]) -> None:
        """Bring these files into the index as they are now, to be committed by the caller."""
        for at in range(0, len(file_ids), PORTION):
            portion = file_ids[at : at + PORTION]
            async with self.store.system() as tx:
                found = await changes.file_documents(tx, self.tenant_id, portion)
            await run_sync(_stage, index, portion, found)

    async def _is_whole(self, current: Path) -> bool:
        """Whether a doubt was without ground: not every query that fails fails over the files."""
        await self.let_go()
        if torn := await run_sync(torn_files, current):
            _log.warning("index.torn", files=[*torn])
            return False
        self.place.trust()
        return True

    async def _tail(self, after: int) -> Batch:
        async with self.store.system() as tx:
            return await changes.tail(tx, self.tenant_id, after, BATCH)

    async def _apply(self, index: KeywordIndex, batch: Batch) -> None:
        try:
            await self.put(index, batch.file_ids)
            await run_sync(index.commit, batch.upto)
        except PeciaError:
            # What was staged must not be committed by whoever comes next.
            self.index = None
            raise

    async def _fill(self, index: KeywordIndex, progress: Progress) -> None:
        async with self.store.system() as tx:
            of: int = await tx.value(SQL["chunk_count"], tenant_id=self.tenant_id)
        step = commit_size(of)
        staged, target = 0, step
        async with aclosing(self.documents(progress)) as portions:
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
    while size > COMMIT_CHUNKS:
        size = -(-size // MERGED)
    return max(1, size)


def entries_of(file: FileDocuments) -> Iterator[Entry]:
    """The chunks of a file as an index takes them."""
    modified = file.modified_at
    for chunk in file.chunks:
        yield Entry(
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
    index.stage(gone, (entry for file in found for entry in entries_of(file)))


def _opened(generation: Path) -> KeywordIndex | None:
    try:
        return KeywordIndex.open(generation)
    except Unusable as error:
        _log.failure("index.torn", error)
        return None
