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

from pecia.kernel.corpus.connector import Connector, Listed, Passed, Posix, Seen
from pecia.kernel.corpus.index.globs import well_formed
from pecia.kernel.errors import Conflict, InvalidFormat, Json, NotFound, PeciaError
from pecia.kernel.jobs.call import JobCall
from pecia.kernel.jobs.defer import defer_as_system
from pecia.kernel.jobs.ending import may_pass, problem_of
from pecia.kernel.jobs.job import Arguments, Job, Retry
from pecia.kernel.jobs.message import bounded
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.transaction import Transaction
from pecia.rooms.lake.origin import SourceConfig
from pecia.rooms.lake.posix import posix_grants, rights_of

SQL = load_queries("pecia.rooms.lake", "crawl.sql")

SHARDS = 8
BATCH = 500
MOST_PASSED = 1000
"""Of what was passed over, so many are kept with their reasons; all are counted."""

MOST_LOOKED_AT = 100_000_000
ATTEMPTS = Retry().attempts

Connect: TypeAlias = Callable[[UUID, str, SourceConfig], AbstractAsyncContextManager[Connector]]
"""Opens the place of a tenant's source, named by its id."""


class OfSource(Arguments):
    source_id: str


class OfShard(Arguments):
    source_id: str
    shard: int


class Stopped(Conflict):
    """Somebody wants this crawl to end."""


@dataclass(frozen=True, slots=True)
class Crawler:
    """The job that lists. `reading` is the job that takes the files of one shard in."""

    connect: Connect
    reading: Job

    async def crawl(self, call: JobCall, ask: OfSource) -> None:
        """List the source, and have what is new read by whichever worker is free."""
        place = {"tenant_id": tenant_of(call), "source_id": ask.source_id}
        try:
            await self._list(call, place)
        except Stopped:
            async with call.tx() as tx:
                await tx.run(SQL["drop_todo"], **place)
        except PeciaError as error:
            if of_the_store(error) and not is_last(call, error):
                # Not the source's fault: the job is tried again when the database is back.
                raise
            # Told at once: whoever waits may mend it, and the next crawl goes on from here.
            await fail(call, place, error)
        except Exception as error:
            if is_last(call, error):
                await fail(call, place, error)
            raise

    async def _list(self, call: JobCall, place: dict[str, Any]) -> None:
        async with call.tx() as tx:
            config = await configured(tx, place)
            if config is None or not await tx.maybe(SQL["open_crawl"], again=False, **place):
                return
        _require_well_formed(config)
        async with self.connect(place["tenant_id"], place["source_id"], config) as connector:
            await _Listing(call, place, self.reading, config.posix).run(connector)


async def fail(call: JobCall, place: dict[str, Any], error: Exception) -> None:
    """The crawl ends here, with its reason."""
    async with call.tx() as tx:
        await tx.run(SQL["fail_crawl"], problem=problem_of(error)["message"], **place)


def is_last(call: JobCall, error: Exception, attempts: int = ATTEMPTS) -> bool:
    """Whether nobody will come back for what this run leaves undone."""
    return call.attempt >= attempts or not may_pass(error)


def of_the_store(error: BaseException) -> bool:
    """Whether it was our own database that failed, and not the place that files come from."""
    return isinstance(error.__cause__ or error.__context__, psycopg.Error)


async def configured(tx: Transaction, place: dict[str, Any]) -> SourceConfig | None:
    """How the source is configured; None when it is gone, switched off or kept by another room."""
    row = await tx.maybe(SQL["source_to_crawl"], **place)
    if row is None or not row["enabled"]:
        return None
    return read_config(row["config"])


def read_config(config: dict[str, Json]) -> SourceConfig | None:
    if "folder" in config:
        # A space: its folder is all that its room wrote down.
        confined = config.get("confined", False)
        origin: dict[str, Json] = {
            "kind": "folder",
            "folder": config["folder"],
            "is_space": True,
            "confined": confined,
        }
        config = {"origin": origin, "exclude": [*HIDDEN]}
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
            well_formed(glob, field=name)


HIDDEN = (".*", "**/.*", "**/node_modules")


@dataclass(slots=True)
class _Listing:
    """One walk over one place."""

    call: JobCall
    place: dict[str, Any]
    reading: Job
    posix: bool = False
    seen: set[int] = field(default_factory=set[int])
    passed: list[Passed] = field(default_factory=list[Passed])
    passed_count: int = 0
    unsure: bool = False

    async def run(self, connector: Connector) -> None:
        async with aclosing(connector.listing()) as listing:
            async for batch in _batches(listing):
                await self._note(batch)
                await self.call.progress(len(self.seen), None, "listing")
        await self._forget(connector)
        async with self.call.tx() as tx:
            passed = {
                "count": self.passed_count,
                "first": [
                    {"key": bounded(it.key), "reason": bounded(it.reason)} for it in self.passed
                ],
            }
            await tx.run(SQL["end_listing"], passed=Jsonb(passed), **self.place)
            await tx.run(SQL["end_crawl"], **self.place)

    async def _note(self, batch: list[Listed]) -> None:
        """Put on the list what is new or changed, and have it read at once."""
        for it in batch:
            if isinstance(it, Passed):
                self.passed_count += 1
                if it.unsure:
                    self.unsure = True
                    self.seen.add(mark(it.key))
                if len(self.passed) < MOST_PASSED:
                    self.passed.append(it)
        found = [it for it in batch if isinstance(it, Seen)]
        self.seen.update(mark(it.key) for it in found)
        async with self.call.tx() as tx:
            await _require_running(tx, self.place)
            news = await compared(tx, self.place, found)
            if self.posix:
                await capture(tx, self.place, news.reruled)
            # A few files are not worth the start of several readers.
            shards = SHARDS if len(self.seen) > BATCH else 1
            await put_down(tx, self.place, news, self.reading, shards)
            counts = {"added": len(news.added), "changed": len(news.changed), "gone": 0}
            await tx.run(SQL["count_listed"], seen=len(found), **counts, **self.place)

    async def _forget(self, connector: Connector) -> None:
        """Remove every file that the walk did not meet."""
        after = ""
        while True:
            async with self.call.tx() as tx:
                rows = await tx.all(SQL["keys_after"], after=after, limit=5000, **self.place)
            gone = [it["key"] for it in rows if mark(it["key"]) not in self.seen]
            if self.unsure:
                gone = [it for it in gone if await _is_gone(connector, it)]
            if gone:
                await self._remove(gone)
            if not rows:
                return
            after = rows[-1]["key"]

    async def _remove(self, keys: list[str]) -> None:
        async with self.call.tx() as tx:
            await _require_running(tx, self.place)
            await tx.run(SQL["remove_files"], keys=keys, **self.place)
            await tx.run(SQL["drop_todo_keys"], keys=keys, **self.place)
            counts = {"seen": 0, "added": 0, "changed": 0, "gone": len(keys)}
            await tx.run(SQL["count_listed"], **counts, **self.place)


@dataclass(frozen=True, slots=True)
class News:
    """What of a place is to be read. Of those in `reruled` the rights alone are others."""

    added: list[Seen]
    changed: list[Seen]
    reruled: list[Seen]


async def compared(tx: Transaction, place: dict[str, Any], found: Iterable[Seen]) -> News:
    """Which of these files the store does not know as they are now."""
    by_key = {it.key: it for it in found}
    rows = await tx.all(SQL["known_files"], keys=[*by_key], **place)
    known = {it["key"]: it for it in rows}
    added = [it for key, it in by_key.items() if key not in known]
    changed = [it for key, it in by_key.items() if key in known and _differs(it, known[key])]
    same = [it for key, it in by_key.items() if key in known and not _differs(it, known[key])]
    reruled = [it for it in same if it.posix and rights_of(it.posix) != known[it.key]["rights"]]
    return News(added, changed, reruled)


async def capture(tx: Transaction, place: dict[str, Any], files: Iterable[Seen]) -> None:
    """Who may read a file where it lies may see it here."""
    known = [(it.key, it.posix) for it in files if it.posix is not None]
    rows = [
        Jsonb({"key": key, "grants": posix_grants(it), "rights": rights_of(it)})
        for key, it in known
    ]
    if rows:
        await tx.run(SQL["capture_posix"], files=rows, **place)
        await tx.run(SQL["note_captured"], files=rows, **place)


async def put_down(
    tx: Transaction, place: dict[str, Any], news: News, reading: Job, shards: int
) -> None:
    """Put files on the list of those to read, and have them read by whoever is free."""
    waiting = [*news.added, *news.changed]
    chosen = [mark(it.key) % shards for it in waiting]
    seen = [Jsonb(as_json(it)) for it in waiting]
    await tx.run(SQL["put_todo"], shards=chosen, seen=seen, **place)
    for shard in sorted({*chosen}):
        ask = OfShard(source_id=place["source_id"], shard=shard)
        await defer_as_system(tx, reading, ask, tenant_id=place["tenant_id"])


async def _is_gone(connector: Connector, key: str) -> bool:
    """Whether the place itself says so: the way to it may have been closed for the moment."""
    try:
        async with connector.opening(key, MOST_LOOKED_AT):
            return False
    except NotFound:
        return True
    except PeciaError:
        return False


def mark(key: str) -> int:
    """Eight bytes that stand for a key: a million of them are no burden."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest())


def as_json(it: Seen) -> dict[str, Json]:
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


def _posix_json(it: Posix) -> dict[str, Json]:
    above: list[Json] = [[*one] for one in it.above]
    return {"mode": it.mode, "uid": it.uid, "gid": it.gid, "above": above}


def _differs(it: Seen, known: dict[str, Any]) -> bool:
    posix = (it.posix.mode, it.posix.uid, it.posix.gid) if it.posix else (None, None, None)
    before = (known["posix_mode"], known["posix_uid"], known["posix_gid"])
    # A file that was never read to an end is read again.
    return known["etag"] != it.stamp or known["status"] == "waiting" or before != posix


async def _batches(listing: AsyncIterator[Listed]) -> AsyncIterator[list[Listed]]:
    batch: list[Listed] = []
    async for it in listing:
        batch.append(it)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


async def _require_running(tx: Transaction, place: dict[str, Any]) -> None:
    row = await tx.maybe(SQL["crawl_state"], **place)
    if row is None:
        raise NotFound("the source was removed while it was crawled")
    if row["state"] == "stopped":
        raise Stopped("the crawl was stopped")


def tenant_of(call: JobCall) -> UUID:
    if call.tenant_id is None:
        raise NotFound("a crawl belongs to a tenant")
    return call.tenant_id
