"""Taking files in: fetched, read in a child process, stored with their text and their rights."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import anyio
from psycopg.types.json import Jsonb

from pecia.kernel.corpus import texts
from pecia.kernel.corpus.catalog import FileFacts
from pecia.kernel.corpus.connector import Connector, Posix, Seen
from pecia.kernel.corpus.texts import Text
from pecia.kernel.errors import NotFound, PayloadTooLarge, PeciaError
from pecia.kernel.jobs.call import JobCall
from pecia.kernel.jobs.job import Retry
from pecia.kernel.store.transaction import Transaction
from pecia.kernel.text.canonical import CanonicalText, Unit, canonical_text
from pecia.kernel.text.chunk import Markup, OutlineEntry
from pecia.rooms.lake.crawl import (
    SQL,
    Connect,
    OfShard,
    as_json,
    configured,
    fail,
    of_the_store,
    tenant_of,
)
from pecia.rooms.lake.origin import SourceConfig

AT_ONCE = 4
BATCH = 64
STORE_EVERY_S = 1.0
ATTEMPTS = Retry().attempts


class Noticed(Protocol):
    """What reading noticed beside the text."""

    @property
    def content_type(self) -> str: ...
    @property
    def markup(self) -> Markup: ...
    @property
    def language(self) -> str: ...
    @property
    def outline(self) -> tuple[OutlineEntry, ...]: ...


class Read(Protocol):
    """What came out of a file. Whatever was wrong with it is in status and reason."""

    @property
    def text(self) -> str: ...
    @property
    def units(self) -> tuple[Unit, ...]: ...
    @property
    def sha256(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def facts(self) -> Noticed: ...
    @property
    def status(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def extractor(self) -> str: ...
    @property
    def version(self) -> str: ...


class Extractor(Protocol):
    """Reads files, each where it can do no harm. Never raises for what a file holds."""

    async def extract(self, source: Path, *, name: str = "", content_type: str = "") -> Read: ...


Found: TypeAlias = tuple[FileFacts, Text] | None
"""A file with what it says; None when it is gone since it was listed."""

Extraction: TypeAlias = Callable[[], AbstractAsyncContextManager[Extractor]]


@dataclass(frozen=True, slots=True)
class Intake:
    """The job that reads the files of one shard, until none waits."""

    connect: Connect
    extraction: Extraction

    async def read_shard(self, call: JobCall, ask: OfShard) -> None:
        place: dict[str, Any] = {"tenant_id": tenant_of(call), "source_id": ask.source_id}
        try:
            await self._read_all(call, ask, place)
        except PeciaError as error:
            if not of_the_store(error) and (not error.code.retryable or call.attempt >= ATTEMPTS):
                # Nobody will come back for what is left: say so, instead of reading for ever.
                await fail(call, place, error)
            raise

    async def _read_all(self, call: JobCall, ask: OfShard, place: dict[str, Any]) -> None:
        async with call.tx() as tx:
            config = await configured(tx, place)
            waiting = await _next(tx, place, ask.shard, "")
        if config is None or not waiting:
            await _end(call, place)
            return
        async with (
            self.connect(place["tenant_id"], ask.source_id, config) as connector,
            self.extraction() as it,
        ):
            reading = _Reading(call, place, config, connector, it)
            while waiting:
                await reading.take(waiting)
                async with call.tx() as tx:
                    waiting = await _next(tx, place, ask.shard, waiting[-1].key)
        await _end(call, place)


@dataclass(frozen=True, slots=True)
class _Reading:
    call: JobCall
    place: dict[str, Any]
    config: SourceConfig
    connector: Connector
    extractor: Extractor

    async def take(self, batch: Sequence[Seen]) -> None:
        """Read these files, several at once. What is read is stored soon, others may take long."""
        ready: dict[Seen, Found] = {}
        limiter = anyio.CapacityLimiter(AT_ONCE)

        async def one(seen: Seen) -> None:
            async with limiter:
                ready[seen] = await self._read(seen)

        async with anyio.create_task_group() as storing:
            storing.start_soon(self._store_soon, ready)
            async with anyio.create_task_group() as tasks:
                for seen in batch:
                    tasks.start_soon(one, seen)
            storing.cancel_scope.cancel()
        await self._store_ready(ready)
        self.call.remaining_s()

    async def _store_soon(self, ready: dict[Seen, Found]) -> None:
        while True:
            await anyio.sleep(STORE_EVERY_S)
            # To its end: what was stored and is not known to be would be counted twice.
            with anyio.CancelScope(shield=True):
                await self._store_ready(ready)

    async def _store_ready(self, ready: dict[Seen, Found]) -> None:
        # In order of key, so that two writers never wait for each other in a circle.
        if now := dict(sorted(ready.items(), key=lambda it: it[0].key)):
            await self._store(now)
            for seen in now:
                del ready[seen]

    async def _read(self, seen: Seen) -> Found:
        facts = _facts(self.place["source_id"], seen)
        try:
            async with self.connector.opening(seen.key, self.config.most_bytes) as original:
                read = await self.extractor.extract(
                    original.path,
                    name=seen.key,
                    content_type=original.content_type or seen.content_type or "",
                )
        except NotFound:
            return None
        except PayloadTooLarge as error:
            return facts, _unread("too_large", _unfetched(error))
        except PeciaError as error:
            # Without a stamp it counts as changed, so that the next crawl tries again.
            return replace(facts, etag=None), _unread("timeout", _unfetched(error))
        facts = replace(facts, content_type=facts.content_type or read.facts.content_type)
        if len(read.text) > texts.LONGEST_TEXT:
            # It would fail the whole batch, again and again.
            reason = (
                f"Its text has {len(read.text)} characters, at most {texts.LONGEST_TEXT} are kept."
            )
            return facts, _unread("too_large", reason)
        return facts, _text(read)

    async def _store(self, read: dict[Seen, Found]) -> None:
        files = [it for it in read.values() if it is not None]
        failed = sum(it.status not in ("ok", "empty") for _, it in files)
        async with self.call.tx() as tx:
            await texts.put_many(tx, files, tenant_id=self.place["tenant_id"])
            if self.config.posix:
                await self._capture(tx, [seen for seen, it in read.items() if it is not None])
            rows = [{**self.place, "key": it.key, "seen": Jsonb(as_json(it))} for it in read]
            await tx.run_many(SQL["done_todo"], rows)
            counts = {"read": len(read), "failed": failed}
            await tx.run(SQL["count_read"], **counts, **self.place)

    async def _capture(self, tx: Transaction, batch: Sequence[Seen]) -> None:
        """Who may read a file where it lies may see it here."""
        for it in batch:
            if it.posix is not None:
                values = {**self.place, "key": it.key, **_readers(it.posix)}
                await tx.run(SQL["capture_posix"], **values)


def _readers(posix: Posix) -> dict[str, str | bool | None]:
    return {
        "uid": str(posix.uid) if posix.mode & 0o400 else None,
        "gid": str(posix.gid) if posix.mode & 0o040 else None,
        "everyone": bool(posix.mode & 0o004),
    }


def _facts(source_id: str, seen: Seen) -> FileFacts:
    return FileFacts(
        source_id,
        seen.key,
        size_bytes=seen.size_bytes,
        modified_at=seen.modified_at,
        etag=seen.stamp,
        content_type=seen.content_type,
        storage_class=seen.storage_class,
        owner=seen.owner,
        posix_mode=seen.posix.mode if seen.posix else None,
        posix_uid=seen.posix.uid if seen.posix else None,
        posix_gid=seen.posix.gid if seen.posix else None,
    )


def _text(read: Read) -> Text:
    return Text(
        CanonicalText(read.text, read.units, read.sha256),
        title=read.title,
        language=read.facts.language,
        markup=read.facts.markup,
        outline=read.facts.outline,
        extractor=f"{read.extractor} {read.version}",
        status=str(read.status),
        reason=read.reason,
    )


def _unread(status: str, reason: str) -> Text:
    return Text(canonical_text(()), status=status, reason=reason)


def _unfetched(error: PeciaError) -> str:
    return f"It could not be fetched: {error}."


async def _next(tx: Transaction, place: dict[str, Any], shard: int, after: str) -> list[Seen]:
    rows = await tx.all(SQL["next_todo"], shard=shard, after=after, limit=BATCH, **place)
    return [_seen(row["seen"]) for row in rows]


def _seen(plain: dict[str, Any]) -> Seen:
    moment, posix = plain.pop("modified_at"), plain.pop("posix")
    return Seen(
        **plain,
        modified_at=datetime.fromisoformat(moment) if moment else None,
        posix=Posix(**posix) if posix else None,
    )


async def _end(call: JobCall, place: dict[str, Any]) -> None:
    async with call.tx() as tx:
        await tx.run(SQL["end_crawl"], **place)
