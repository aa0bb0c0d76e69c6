"""Crawling: list a place, note what is new or changed, forget what is gone. Reads no content.

A crawl can be killed, stopped and repeated at any point and ends in the same state: what it notes
is a list of keys to read, and each leaves that list in the transaction that stores its text.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, TypeAlias
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb
from pydantic import ValidationError

from pecia.features.lake.core.posix_acl import acl_fingerprint, derive_grants
from pecia.features.lake.model import SourceConfig
from pecia.kernel.corpus.connector import (
    Connector,
    ListedFile,
    ListingEntry,
    PosixAccess,
    SkippedFile,
)
from pecia.kernel.corpus.keyword.query.globs import validate_glob
from pecia.kernel.errors import Conflict, InvalidFormat, Json, NotFound, PeciaError
from pecia.kernel.jobs.call import JobCall
from pecia.kernel.jobs.defer import defer_as_system
from pecia.kernel.jobs.job import Job, JobArguments, RetryPolicy
from pecia.kernel.jobs.message import truncate_message
from pecia.kernel.jobs.outcome import describe_problem, is_retryable
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.transaction import Transaction

SQL = load_queries("pecia.features.lake.crawl", "queries.sql")

SHARDS = 8
LIST_BATCH = 500
MAX_SKIPPED = 1000
"""Of what was passed over, so many are kept with their reasons; all are counted."""

MAX_PROBE_BYTES = 100_000_000
MAX_ATTEMPTS = RetryPolicy().attempts

OpenConnector: TypeAlias = Callable[
    [UUID, str, SourceConfig], AbstractAsyncContextManager[Connector]
]
"""Opens the place of a tenant's source, named by its id."""


class CrawlArguments(JobArguments):
    source_id: str


class IngestArguments(JobArguments):
    source_id: str
    shard: int


class CrawlStopped(Conflict):
    """Somebody wants this crawl to end."""


@dataclass(frozen=True, slots=True)
class Crawler:
    """The job that lists. `reading` is the job that takes the files of one shard in."""

    connect: OpenConnector
    ingest_job: Job

    async def crawl(self, call: JobCall, ask: CrawlArguments) -> None:
        """List the source, and have what is new read by whichever worker is free."""
        place = {"tenant_id": require_tenant(call), "source_id": ask.source_id}
        try:
            await self._list(call, place)
        except CrawlStopped:
            async with call.tx() as tx:
                await tx.execute(SQL["drop_todo"], **place)
        except PeciaError as error:
            if is_store_error(error) and not is_last_attempt(call, error):
                # Not the source's fault: the job is tried again when the database is back.
                raise
            # Told at once: whoever waits may mend it, and the next crawl goes on from here.
            await fail_crawl(call, place, error)
        except Exception as error:
            if is_last_attempt(call, error):
                await fail_crawl(call, place, error)
            raise

    async def _list(self, call: JobCall, place: dict[str, Any]) -> None:
        async with call.tx() as tx:
            config = await load_config(tx, place)
            if config is None or not await tx.fetch_optional(
                SQL["open_crawl"], again=False, **place
            ):
                return
        _require_well_formed(config)
        async with self.connect(place["tenant_id"], place["source_id"], config) as connector:
            await _CrawlRun(call, place, self.ingest_job, config.posix).run(connector)


async def fail_crawl(call: JobCall, place: dict[str, Any], error: Exception) -> None:
    """The crawl ends here, with its reason."""
    async with call.tx() as tx:
        await tx.execute(SQL["fail_crawl"], problem=describe_problem(error)["message"], **place)


def is_last_attempt(call: JobCall, error: Exception, attempts: int = MAX_ATTEMPTS) -> bool:
    """Whether nobody will come back for what this run leaves undone."""
    return call.attempt >= attempts or not is_retryable(error)


def is_store_error(error: BaseException) -> bool:
    """Whether it was our own database that failed, and not the place that files come from."""
    return isinstance(error.__cause__ or error.__context__, psycopg.Error)


async def load_config(tx: Transaction, place: dict[str, Any]) -> SourceConfig | None:
    """How the source is configured; None when it is gone, switched off or kept by another room."""
    row = await tx.fetch_optional(SQL["source_to_crawl"], **place)
    if row is None or not row["enabled"]:
        return None
    return parse_config(row["config"])


def parse_config(config: dict[str, Json]) -> SourceConfig | None:
    if "folder" in config:
        # A space: its folder is all that its room wrote down.
        confined = config.get("confined", False)
        origin: dict[str, Json] = {
            "kind": "folder",
            "folder": config["folder"],
            "is_space": True,
            "confined": confined,
        }
        config = {"origin": origin, "exclude": [*HIDDEN_GLOBS]}
    if "origin" not in config:
        return None
    try:
        return SourceConfig.model_validate(config)
    except ValidationError as error:
        raise InvalidFormat(
            f"the source's configuration is damaged: {error}", field="config"
        ) from None


def _require_well_formed(config: SourceConfig) -> None:
    """Globs from before they were looked at may be malformed: taken as they are written, they would
    let nothing in and drop every file, or keep nothing out."""
    for name, globs in (("include", config.include), ("exclude", config.exclude)):
        for glob in globs:
            validate_glob(glob, field=name)


HIDDEN_GLOBS = (".*", "**/.*", "**/node_modules")


@dataclass(slots=True)
class _CrawlRun:
    """One walk over one place."""

    call: JobCall
    place: dict[str, Any]
    ingest_job: Job
    posix: bool = False
    seen: set[int] = field(default_factory=set[int])
    skipped: list[SkippedFile] = field(default_factory=list[SkippedFile])
    skipped_count: int = 0
    is_uncertain: bool = False

    async def run(self, connector: Connector) -> None:
        async with aclosing(connector.listing()) as listing:
            async for batch in _batches(listing):
                await self._enqueue_changed(batch)
                await self.call.progress(len(self.seen), None, "listing")
        await self._remove_missing(connector)
        async with self.call.tx() as tx:
            passed = {
                "count": self.skipped_count,
                "first": [
                    {"key": truncate_message(it.key), "reason": truncate_message(it.reason)}
                    for it in self.skipped
                ],
            }
            await tx.execute(SQL["end_listing"], passed=Jsonb(passed), **self.place)
            await tx.execute(SQL["end_crawl"], **self.place)

    async def _enqueue_changed(self, batch: list[ListingEntry]) -> None:
        """Put on the list what is new or changed, and have it read at once."""
        for it in batch:
            if isinstance(it, SkippedFile):
                self.skipped_count += 1
                if it.unsure:
                    self.is_uncertain = True
                    self.seen.add(hash_key(it.key))
                if len(self.skipped) < MAX_SKIPPED:
                    self.skipped.append(it)
        found = [it for it in batch if isinstance(it, ListedFile)]
        self.seen.update(hash_key(it.key) for it in found)
        async with self.call.tx() as tx:
            await _require_running(tx, self.place)
            news = await diff_files(tx, self.place, found)
            if self.posix:
                await store_posix_acl(tx, self.place, news.acl_changed)
            # A few files are not worth the start of several readers.
            shards = SHARDS if len(self.seen) > LIST_BATCH else 1
            await enqueue_files(tx, self.place, news, self.ingest_job, shards)
            counts = {"added": len(news.added), "changed": len(news.changed), "gone": 0}
            await tx.execute(SQL["count_listed"], seen=len(found), **counts, **self.place)

    async def _remove_missing(self, connector: Connector) -> None:
        """Remove every file that the walk did not meet."""
        after = ""
        while True:
            async with self.call.tx() as tx:
                rows = await tx.fetch_all(SQL["keys_after"], after=after, limit=5000, **self.place)
            gone = [it["key"] for it in rows if hash_key(it["key"]) not in self.seen]
            if self.is_uncertain:
                gone = [it for it in gone if await _is_gone(connector, it)]
            if gone:
                await self._remove(gone)
            if not rows:
                return
            after = rows[-1]["key"]

    async def _remove(self, keys: list[str]) -> None:
        async with self.call.tx() as tx:
            await _require_running(tx, self.place)
            await tx.execute(SQL["remove_files"], keys=keys, **self.place)
            await tx.execute(SQL["drop_todo_keys"], keys=keys, **self.place)
            counts = {"seen": 0, "added": 0, "changed": 0, "gone": len(keys)}
            await tx.execute(SQL["count_listed"], **counts, **self.place)


@dataclass(frozen=True, slots=True)
class CrawlDiff:
    """What of a place is to be read. Of those in `reruled` the rights alone are others."""

    added: list[ListedFile]
    changed: list[ListedFile]
    acl_changed: list[ListedFile]


async def diff_files(
    tx: Transaction, place: dict[str, Any], found: Iterable[ListedFile]
) -> CrawlDiff:
    """Which of these files the store does not know as they are now."""
    by_key = {it.key: it for it in found}
    rows = await tx.fetch_all(SQL["known_files"], keys=[*by_key], **place)
    known = {it["key"]: it for it in rows}
    added = [it for key, it in by_key.items() if key not in known]
    changed = [it for key, it in by_key.items() if key in known and _differs(it, known[key])]
    same = [it for key, it in by_key.items() if key in known and not _differs(it, known[key])]
    reruled = [
        it for it in same if it.posix and acl_fingerprint(it.posix) != known[it.key]["rights"]
    ]
    return CrawlDiff(added, changed, reruled)


async def store_posix_acl(
    tx: Transaction, place: dict[str, Any], files: Iterable[ListedFile]
) -> None:
    """Who may read a file where it lies may see it here."""
    known = [(it.key, it.posix) for it in files if it.posix is not None]
    rows = [
        Jsonb({"key": key, "grants": derive_grants(it), "rights": acl_fingerprint(it)})
        for key, it in known
    ]
    if rows:
        await tx.execute(SQL["capture_posix"], files=rows, **place)
        await tx.execute(SQL["note_captured"], files=rows, **place)


async def enqueue_files(
    tx: Transaction, place: dict[str, Any], news: CrawlDiff, reading: Job, shards: int
) -> None:
    """Put files on the list of those to read, and have them read by whoever is free."""
    waiting = [*news.added, *news.changed]
    chosen = [hash_key(it.key) % shards for it in waiting]
    seen = [Jsonb(entry_to_json(it)) for it in waiting]
    await tx.execute(SQL["put_todo"], shards=chosen, seen=seen, **place)
    for shard in sorted({*chosen}):
        ask = IngestArguments(source_id=place["source_id"], shard=shard)
        await defer_as_system(tx, reading, ask, tenant_id=place["tenant_id"])


async def _is_gone(connector: Connector, key: str) -> bool:
    """Whether the place itself says so: the way to it may have been closed for the moment."""
    try:
        async with connector.opening(key, MAX_PROBE_BYTES):
            return False
    except NotFound:
        return True
    except PeciaError:
        return False


def hash_key(key: str) -> int:
    """Eight bytes that stand for a key: a million of them are no burden."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest())


def entry_to_json(it: ListedFile) -> dict[str, Json]:
    # By hand: `asdict` copies deeply, which for a hundred thousand files is felt.
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
    # A file that was never read to an end is read again.
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


async def _require_running(tx: Transaction, place: dict[str, Any]) -> None:
    row = await tx.fetch_optional(SQL["crawl_state"], **place)
    if row is None:
        raise NotFound("the source was removed while it was crawled")
    if row["state"] == "stopped":
        raise CrawlStopped("the crawl was stopped")


def require_tenant(call: JobCall) -> UUID:
    if call.tenant_id is None:
        raise NotFound("a crawl belongs to a tenant")
    return call.tenant_id
