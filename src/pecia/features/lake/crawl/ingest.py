"""The ingest job: files are fetched, extracted in a child process, stored with text and rights."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

import anyio
from anyio.to_thread import run_sync
from psycopg.types.json import Jsonb

from pecia.features.lake.crawl.crawler import (
    SQL,
    IngestArguments,
    OpenConnector,
    entry_to_json,
    fail_crawl,
    is_gone,
    is_last_attempt,
    load_config,
    require_tenant,
    retry_on_deadlock,
    store_posix_acl,
)
from pecia.features.lake.crawl.file_reader import (
    FileReader,
    OpenExtractor,
    ReadFileResult,
    mark_refused,
)
from pecia.features.lake.crawl.progress import IngestProgress
from pecia.features.lake.model import SourceConfig
from pecia.kernel.corpus.catalog import texts
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.texts import ExtractedText
from pecia.kernel.corpus.connector import ListedFile, PosixAccess
from pecia.kernel.errors import PeciaError
from pecia.kernel.jobs.call import JobCall
from pecia.kernel.store.pg_errors import is_value_rejected
from pecia.kernel.store.store import Transaction

CONCURRENCY = 4
EXTRACT_BATCH = 12
QUEUE_BATCH = 64
FLUSH_INTERVAL_S = 1.0
PROGRESS_INTERVAL_S = 1.0
MAX_BUFFERED_CHARS = 8_000_000
LONG_TEXT_CHARS = 1_000_000


@dataclass(frozen=True, slots=True)
class Ingester:
    """The job that reads the files of one shard, until its queue is empty."""

    connect: OpenConnector
    extraction: OpenExtractor

    async def ingest_shard(self, call: JobCall, ask: IngestArguments) -> None:
        source_key: dict[str, Any] = {"tenant_id": require_tenant(call), "source_id": ask.source_id}
        try:
            await self._ingest_all(call, ask, source_key)
        except Exception as error:
            if is_last_attempt(call, cause := _cause(error)):
                # Reported, instead of retrying for ever.
                await fail_crawl(call, source_key, cause)
            raise

    async def _ingest_all(
        self, call: JobCall, ask: IngestArguments, source_key: dict[str, Any]
    ) -> None:
        async with call.tx() as tx:
            config = await load_config(tx, source_key)
            waiting = await _next_batch(tx, source_key, ask.shard, "")
        if config is None or not waiting:
            await _end(call, source_key)
            return
        async with (
            self.connect(source_key["tenant_id"], ask.source_id, config) as connector,
            self.extraction() as it,
        ):
            underway = IngestProgress(call, source_key)
            files = FileReader(ask.source_id, config.most_bytes, connector, it, underway.update)
            reading = _IngestRun(call, source_key, config, files, underway)
            while waiting:
                await reading.ingest_batch(waiting)
                await _analyze(call)
                async with call.tx() as tx:
                    waiting = await _next_batch(tx, source_key, ask.shard, waiting[-1].key)
        await _end(call, source_key)


@dataclass(frozen=True, slots=True)
class _IngestRun:
    call: JobCall
    source_key: dict[str, Any]
    config: SourceConfig
    files: FileReader
    progress: IngestProgress
    store_lock: anyio.Lock = field(default_factory=anyio.Lock)

    async def ingest_batch(self, batch: Sequence[ListedFile]) -> None:
        """Read these files concurrently. Results are stored early: other files may take long."""
        ready: dict[ListedFile, ReadFileResult] = {}
        small = await self.files.fetch_small(batch)
        others = iter([it for it in batch if it not in small])

        async def read_next() -> None:
            while small:
                some = dict(small.popitem() for _ in range(min(EXTRACT_BATCH, len(small))))
                ready.update(await self.files.read_many(some))
            for seen in others:
                ready[seen] = await self.files.read(seen)
                if _count_chars(ready) > MAX_BUFFERED_CHARS:
                    # Backpressure: over the limit, readers wait until results are stored.
                    await self._flush(ready)

        async with anyio.create_task_group() as beside:
            beside.start_soon(self._report_loop)
            beside.start_soon(self._flush_loop, ready)
            async with anyio.create_task_group() as tasks:
                for _ in range(CONCURRENCY):
                    tasks.start_soon(read_next)
            await self._flush(ready)
            beside.cancel_scope.cancel()
        await self.progress.report()
        self.call.remaining_s()

    async def _report_loop(self) -> None:
        """Separate from storing, which takes a while for a file of ten thousand pages."""
        while True:
            await anyio.sleep(PROGRESS_INTERVAL_S)
            await self.progress.report()

    async def _flush_loop(self, ready: dict[ListedFile, ReadFileResult]) -> None:
        while True:
            await anyio.sleep(FLUSH_INTERVAL_S)
            await self._flush(ready)

    async def _flush(self, ready: dict[ListedFile, ReadFileResult]) -> None:
        # Shielded: what was stored but not recorded as such would be counted twice.
        with anyio.CancelScope(shield=True):
            async with self.store_lock:
                # Ordered by key, to avoid deadlocks between two writers.
                if now := dict(sorted(ready.items(), key=lambda it: it[0].key)):
                    await self._store(now)
                    for seen in now:
                        del ready[seen]
                        self.progress.finish(seen.key)

    async def _store(self, read: dict[ListedFile, ReadFileResult]) -> None:
        """All in one transaction; if it is refused, one by one, to isolate the bad file."""
        try:
            await self._put(read)
        except PeciaError as error:
            if not is_value_rejected(error):
                raise
            for seen, found in read.items():
                await self._put_one(seen, found)

    async def _put_one(self, seen: ListedFile, found: ReadFileResult) -> None:
        """One file; if refused, an error row with all its metadata, or its name alone."""
        bare = FileMetadata(self.files.source_id, seen.key)
        for facts in (found and found[0], bare, None):
            try:
                await self._put({seen: found})
                return
            except PeciaError as error:
                if facts is None or not is_value_rejected(error):
                    raise
                found = mark_refused(facts, error)

    async def _put(self, read: dict[ListedFile, ReadFileResult]) -> None:
        texts_read = {
            seen: await _chunk_long_text(*it) for seen, it in read.items() if it is not None
        }
        await self._remove_dropped(
            await retry_on_deadlock(lambda: self._put_texts(read, texts_read))
        )

    async def _put_texts(
        self,
        read: Mapping[ListedFile, ReadFileResult],
        texts_read: Mapping[ListedFile, tuple[FileMetadata, ExtractedText]],
    ) -> Collection[str]:
        """Store these files; the keys of those that left the list meanwhile."""
        keys, seen = [it.key for it in read], [Jsonb(entry_to_json(it)) for it in read]
        async with self.call.tx() as tx:
            if await tx.fetch_value(SQL["is_stopped"], **self.source_key):
                # A stop may precede the removal of the source. The next crawl reads these.
                return ()
            queued = await self._still_queued(tx, keys)
            files = {seen: it for seen, it in texts_read.items() if seen.key in queued}
            failed = sum(it.status not in ("ok", "empty") for _, it in files.values())
            await texts.put_many(tx, [*files.values()], tenant_id=self.source_key["tenant_id"])
            if self.config.posix:
                await store_posix_acl(tx, self.source_key, [*files])
            done = await tx.fetch_all(SQL["done_todo"], keys=keys, seen=seen, **self.source_key)
            left = queued - {row["key"] for row in done}
            dropped = left - await self._still_queued(tx, [*left]) if left else left
            counts = {"read": len(read), "failed": failed}
            await tx.execute(SQL["count_read"], **counts, **self.source_key)
        return dropped

    async def _still_queued(self, tx: Transaction, keys: list[str]) -> set[str]:
        """A file that was removed while it was read has left the list, and must not come back."""
        rows = await tx.fetch_all(SQL["still_todo"], keys=keys, **self.source_key)
        return {row["key"] for row in rows}

    async def _remove_dropped(self, keys: Collection[str]) -> None:
        """Files that left the list while they were stored: removed, unless another job read them
        too. Only the origin knows."""
        gone = [it for it in sorted(keys) if await is_gone(self.files.connector, it)]
        if gone:
            async with self.call.tx() as tx:
                await tx.execute(SQL["remove_files"], keys=gone, **self.source_key)


async def _chunk_long_text(
    facts: FileMetadata, text: ExtractedText
) -> tuple[FileMetadata, ExtractedText]:
    if len(text.canonical.text) < LONG_TEXT_CHARS:
        return facts, text
    return facts, await run_sync(texts.with_chunks, text)


def _cause(error: Exception) -> Exception:
    """The first exception of a group."""
    while isinstance(error, ExceptionGroup):
        error = cast(ExceptionGroup[Exception], error).exceptions[0]
    return error


def _count_chars(ready: Mapping[ListedFile, ReadFileResult]) -> int:
    return sum(len(it[1].canonical.text) for it in ready.values() if it)


async def _next_batch(
    tx: Transaction, source_key: dict[str, Any], shard: int, after: str
) -> list[ListedFile]:
    rows = await tx.fetch_all(
        SQL["next_todo"], shard=shard, after=after, limit=QUEUE_BATCH, **source_key
    )
    return [_parse_entry(row["seen"]) for row in rows]


def _parse_entry(plain: dict[str, Any]) -> ListedFile:
    moment, posix = plain.pop("modified_at"), plain.pop("posix")
    return ListedFile(
        **plain,
        modified_at=datetime.fromisoformat(moment) if moment else None,
        posix=_parse_posix(**posix) if posix else None,
    )


def _parse_posix(
    mode: int, uid: int, gid: int, above: Sequence[tuple[int, int, int]] = ()
) -> PosixAccess:
    return PosixAccess(mode, uid, gid, tuple((one, of, at) for one, of, at in above))


async def _analyze(call: JobCall) -> None:
    """ANALYZE before the crawl ends, so that the next search is planned well."""
    async with call.store.system() as tx:
        await tx.fetch_value(SQL["analyze_grown"])


async def _end(call: JobCall, source_key: dict[str, Any]) -> None:
    async with call.tx() as tx:
        await tx.execute(SQL["end_crawl"], **source_key)
