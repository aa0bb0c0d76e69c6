"""The crawl job: lists a source, queues new and changed files, removes missing ones. Reads no text.

Idempotent: a crawl can be killed, stopped and repeated at any point and ends in the same state. It
queues keys to read, and each leaves the queue in the transaction that stores its text.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from typing import Any, TypeAlias, TypeVar
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from pecia.features.lake.core.posix_acl import acl_fingerprint, derive_grants
from pecia.features.lake.model import SourceConfig, parse_config
from pecia.kernel.corpus.connector import (
    Connector,
    ListedFile,
    ListingEntry,
    PosixAccess,
    SkippedFile,
    SupportsStatMany,
)
from pecia.kernel.corpus.keyword.query.globs import validate_glob
from pecia.kernel.errors import Collision, Conflict, Json, NotFound, PeciaError
from pecia.kernel.jobs.call import JobCall
from pecia.kernel.jobs.defer import defer_as_system
from pecia.kernel.jobs.job import Job, JobArguments, RetryPolicy
from pecia.kernel.jobs.message import truncate_message
from pecia.kernel.jobs.outcome import describe_problem, is_retryable
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Transaction

SQL = load_queries("pecia.features.lake.crawl", "queries.sql")

SHARDS = 8
LIST_BATCH = 500
FEW_FILES = 64
"""So many are read before the rest of a large source: somebody saved them, or added a folder."""

PROMPT_PRIORITY = 1
MAX_SKIPPED = 1000
"""Skipped files kept with their reasons; all are counted."""

MAX_PROBE_BYTES = 100_000_000
MAX_ATTEMPTS = RetryPolicy().attempts
MAX_DEADLOCKS = 3

T = TypeVar("T")

OpenConnector: TypeAlias = Callable[
    [UUID, str, SourceConfig], AbstractAsyncContextManager[Connector]
]
"""Opens a connector for a tenant's source, by its id."""


class CrawlArguments(JobArguments):
    source_id: str


class IngestArguments(JobArguments):
    source_id: str
    shard: int


class CrawlStopped(Conflict):
    """This crawl was asked to stop."""


@dataclass(frozen=True, slots=True)
class Crawler:
    """The listing job. `ingest_job` reads the files of one shard."""

    connect: OpenConnector
    ingest_job: Job

    async def crawl(self, call: JobCall, ask: CrawlArguments) -> None:
        """List the source, and queue what is new for any free worker."""
        source_key = {"tenant_id": require_tenant(call), "source_id": ask.source_id}
        try:
            await self._list(call, source_key)
        except CrawlStopped:
            async with call.tx() as tx:
                await tx.execute(SQL["drop_todo"], **source_key)
        except PeciaError as error:
            if is_store_error(error) and not is_last_attempt(call, error):
                # Not the source's fault: the job is retried when the database is back.
                raise
            # Reported at once: the user can fix it, and the next crawl continues from here.
            await fail_crawl(call, source_key, error)
        except Exception as error:
            if is_last_attempt(call, error):
                await fail_crawl(call, source_key, error)
            raise

    async def _list(self, call: JobCall, source_key: dict[str, Any]) -> None:
        async with call.tx() as tx:
            config = await load_config(tx, source_key)
            if config is None or not await tx.fetch_optional(
                SQL["open_crawl"], again=False, **source_key
            ):
                return
        _require_well_formed(config)
        async with self.connect(
            source_key["tenant_id"], source_key["source_id"], config
        ) as connector:
            await _CrawlRun(call, source_key, self.ingest_job, config.posix).run(connector)


async def fail_crawl(call: JobCall, source_key: dict[str, Any], error: Exception) -> None:
    """End the crawl with an error."""
    async with call.tx() as tx:
        await tx.execute(
            SQL["fail_crawl"], problem=describe_problem(error)["message"], **source_key
        )


def is_last_attempt(call: JobCall, error: Exception, attempts: int = MAX_ATTEMPTS) -> bool:
    """Whether no retry will follow this run."""
    return call.attempt >= attempts or not is_retryable(error)


def is_store_error(error: BaseException) -> bool:
    """Whether our own database failed, not the source."""
    return isinstance(error.__cause__ or error.__context__, psycopg.Error)


async def load_config(tx: Transaction, source_key: dict[str, Any]) -> SourceConfig | None:
    """The configuration of the source; None if gone, disabled or managed by another feature."""
    row = await tx.fetch_optional(SQL["source_to_crawl"], **source_key)
    if row is None or not row["enabled"]:
        return None
    return parse_config(row["config"])


def _require_well_formed(config: SourceConfig) -> None:
    """Old globs were not validated and may be malformed: taken literally, they would exclude every
    file, or nothing."""
    for name, globs in (("include", config.include), ("exclude", config.exclude)):
        for glob in globs:
            validate_glob(glob, field=name)


@dataclass(slots=True)
class _CrawlRun:
    """One listing of one source."""

    call: JobCall
    source_key: dict[str, Any]
    ingest_job: Job
    posix: bool = False
    seen: set[int] = field(default_factory=set[int])
    skipped: list[SkippedFile] = field(default_factory=list[SkippedFile])
    skipped_count: int = 0
    failure_count: int = 0
    is_uncertain: bool = False

    async def run(self, connector: Connector) -> None:
        async with aclosing(connector.listing()) as listing:
            async for batch in _batches(listing):
                await self._enqueue_changed(batch)
                await self.call.progress(len(self.seen), None, "listing")
        await self._remove_missing(connector)
        async with self.call.tx() as tx:
            # Failures first: they are listed with the files that could not be read.
            first = sorted(self.skipped, key=lambda it: not it.is_failure)
            passed = {
                "count": self.skipped_count,
                "failed": self.failure_count,
                "first": [_describe_skipped(it) for it in first],
            }
            await tx.execute(SQL["end_listing"], passed=Jsonb(passed), **self.source_key)
            await tx.execute(SQL["end_crawl"], **self.source_key)

    async def _enqueue_changed(self, batch: list[ListingEntry]) -> None:
        """Queue new and changed files, and have them read at once."""
        for it in batch:
            if isinstance(it, SkippedFile):
                self._note_skipped(it)
        found = [it for it in batch if isinstance(it, ListedFile)]
        self.seen.update(hash_key(it.key) for it in found)
        await retry_on_deadlock(lambda: self._enqueue(found))

    async def _enqueue(self, found: list[ListedFile]) -> None:
        async with self.call.tx() as tx:
            await _require_running(tx, self.source_key)
            news = await diff_files(tx, self.source_key, found)
            if self.posix:
                await store_posix_acl(tx, self.source_key, news.acl_changed)
            # A few files are not worth several workers.
            shards = SHARDS if len(self.seen) > LIST_BATCH else 1
            await enqueue_files(tx, self.source_key, news, self.ingest_job, shards)
            counts = {"added": len(news.added), "changed": len(news.changed), "gone": 0}
            await tx.execute(SQL["count_listed"], seen=len(found), **counts, **self.source_key)

    def _note_skipped(self, it: SkippedFile) -> None:
        self.skipped_count += 1
        self.failure_count += it.is_failure
        if it.unsure:
            self.is_uncertain = True
            self.seen.add(hash_key(it.key))
        if len(self.skipped) < MAX_SKIPPED:
            self.skipped.append(it)
        elif it.is_failure:
            # One that was only skipped gives way, where there is one.
            at = next((n for n, other in enumerate(self.skipped) if not other.is_failure), None)
            if at is not None:
                self.skipped[at] = it

    async def _remove_missing(self, connector: Connector) -> None:
        """Remove every file that was not listed."""
        after = ""
        while True:
            async with self.call.tx() as tx:
                rows = await tx.fetch_all(
                    SQL["keys_after"], after=after, limit=5000, **self.source_key
                )
            gone = [it["key"] for it in rows if hash_key(it["key"]) not in self.seen]
            if self.is_uncertain:
                gone = [it for it in gone if await is_gone(connector, it)]
            elif gone and isinstance(connector, SupportsStatMany):
                # Tools of the wiki write into the folder, and the catalog, while it is listed.
                there = {it.key for it in await connector.stat_many(gone)}
                gone = [it for it in gone if it not in there]
            if gone:
                await retry_on_deadlock(partial(self._remove, gone))
            if not rows:
                return
            after = rows[-1]["key"]

    async def _remove(self, keys: list[str]) -> None:
        async with self.call.tx() as tx:
            await _require_running(tx, self.source_key)
            # First the list: what ingest stored until then is removed with the files.
            await tx.execute(SQL["drop_todo_keys"], keys=keys, **self.source_key)
            await tx.execute(SQL["remove_files"], keys=keys, **self.source_key)
            counts = {"seen": 0, "added": 0, "changed": 0, "gone": len(keys)}
            await tx.execute(SQL["count_listed"], **counts, **self.source_key)


def _describe_skipped(it: SkippedFile) -> dict[str, Json]:
    named: dict[str, Json] = {
        "key": truncate_message(it.key),
        "reason": truncate_message(it.reason),
    }
    return {**named, "failed": True} if it.is_failure else named


@dataclass(frozen=True, slots=True)
class CrawlDiff:
    """The files to read. Of those in `acl_changed` only the rights changed."""

    added: list[ListedFile]
    changed: list[ListedFile]
    acl_changed: list[ListedFile]


async def diff_files(
    tx: Transaction, source_key: dict[str, Any], found: Iterable[ListedFile]
) -> CrawlDiff:
    """The files that differ from what the store has."""
    by_key = {it.key: it for it in found}
    rows = await tx.fetch_all(SQL["known_files"], keys=[*by_key], **source_key)
    known = {it["key"]: it for it in rows}
    added = [it for key, it in by_key.items() if key not in known]
    changed = [it for key, it in by_key.items() if key in known and _differs(it, known[key])]
    same = [it for key, it in by_key.items() if key in known and not _differs(it, known[key])]
    reruled = [
        it for it in same if it.posix and acl_fingerprint(it.posix) != known[it.key]["rights"]
    ]
    return CrawlDiff(added, changed, reruled)


async def store_posix_acl(
    tx: Transaction, source_key: dict[str, Any], files: Iterable[ListedFile]
) -> None:
    """Store the POSIX rights of files."""
    known = [(it.key, it.posix) for it in files if it.posix is not None]
    rows = [
        Jsonb({"key": key, "grants": derive_grants(it), "rights": acl_fingerprint(it)})
        for key, it in known
    ]
    if rows:
        await tx.execute(SQL["capture_posix"], files=rows, **source_key)
        await tx.execute(SQL["note_captured"], files=rows, **source_key)


def make_prompt(job: Job) -> Job:
    """The same job, ahead of what reads a large source: a person waits for it."""
    return replace(job, priority=PROMPT_PRIORITY)


async def enqueue_files(
    tx: Transaction, source_key: dict[str, Any], news: CrawlDiff, reading: Job, shards: int
) -> None:
    """Queue files for any free worker."""
    waiting = [*news.added, *news.changed]
    chosen = [hash_key(it.key) % shards for it in waiting]
    seen = [Jsonb(entry_to_json(it)) for it in waiting]
    await tx.execute(SQL["put_todo"], shards=chosen, seen=seen, **source_key)
    if len(waiting) <= FEW_FILES:
        reading = make_prompt(reading)
    for shard in sorted({*chosen}):
        ask = IngestArguments(source_id=source_key["source_id"], shard=shard)
        await defer_as_system(tx, reading, ask, tenant_id=source_key["tenant_id"])


async def retry_on_deadlock(write: Callable[[], Awaitable[T]]) -> T:
    """Run a write again that the database rolled back, as another job held what it needed. Reading
    and removing the same file take its rows in opposite orders: reading locks the crawl last, and
    only for a moment, or the jobs that read one source would wait for each other."""
    for _ in range(MAX_DEADLOCKS):
        with suppress(Collision):
            return await write()
    return await write()


async def is_gone(connector: Connector, key: str) -> bool:
    """Whether the source itself confirms it: the file may be unreachable only for the moment."""
    try:
        async with connector.opening(key, MAX_PROBE_BYTES):
            return False
    except NotFound:
        return True
    except PeciaError:
        return False


def hash_key(key: str) -> int:
    """Eight bytes per key: a million of them fit in memory."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest())


def entry_to_json(it: ListedFile) -> dict[str, Json]:
    # By hand: `asdict` copies deeply, which is slow for a hundred thousand files.
    return {
        "key": it.key,
        "stamp": it.stamp,
        "size_bytes": it.size_bytes,
        "modified_at": it.modified_at.isoformat() if it.modified_at else None,
        "content_type": it.content_type,
        "storage_class": it.storage_class,
        "owner": it.owner,
        "posix": it.posix and _posix_json(it.posix),
    }


def _posix_json(it: PosixAccess) -> dict[str, Json]:
    above: list[Json] = [[*one] for one in it.above]
    return {"mode": it.mode, "uid": it.uid, "gid": it.gid, "above": above}


def _differs(it: ListedFile, known: dict[str, Any]) -> bool:
    posix = (it.posix.mode, it.posix.uid, it.posix.gid) if it.posix else (None, None, None)
    before = (known["posix_mode"], known["posix_uid"], known["posix_gid"])
    # A file that was never read completely is read again.
    return known["etag"] != it.stamp or known["status"] == "waiting" or before != posix


async def _batches(listing: AsyncIterator[ListingEntry]) -> AsyncIterator[list[ListingEntry]]:
    batch: list[ListingEntry] = []
    async for it in listing:
        batch.append(it)
        if len(batch) == LIST_BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


async def _require_running(tx: Transaction, source_key: dict[str, Any]) -> None:
    row = await tx.fetch_optional(SQL["crawl_state"], **source_key)
    if row is None:
        raise NotFound("the source was removed during the crawl")
    if row["state"] == "stopped":
        raise CrawlStopped("the crawl was stopped")


def require_tenant(call: JobCall) -> UUID:
    if call.tenant_id is None:
        raise NotFound("a crawl belongs to a tenant")
    return call.tenant_id
