"""Taking files in: fetched, read in a child process, stored with their text and their rights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

import anyio
from anyio.to_thread import run_sync
from psycopg.types.json import Jsonb

from pecia.kernel.corpus import texts
from pecia.kernel.corpus.catalog import FileFacts
from pecia.kernel.corpus.connector import Posix, Seen
from pecia.kernel.corpus.texts import Text
from pecia.kernel.errors import PeciaError
from pecia.kernel.jobs.call import JobCall
from pecia.kernel.store.failures import refuses_value
from pecia.kernel.store.transaction import Transaction
from pecia.rooms.lake.crawl import (
    SQL,
    Connect,
    OfShard,
    as_json,
    capture,
    configured,
    fail,
    is_last,
    tenant_of,
)
from pecia.rooms.lake.files import Extraction, Files, Found, refused
from pecia.rooms.lake.origin import SourceConfig
from pecia.rooms.lake.underway import Underway

AT_ONCE = 4
TOGETHER = 12
BATCH = 64
STORE_EVERY_S = 1.0
TELL_EVERY_S = 1.0
MOST_LETTERS = 8_000_000
LONG_LETTERS = 1_000_000


@dataclass(frozen=True, slots=True)
class Intake:
    """The job that reads the files of one shard, until none waits."""

    connect: Connect
    extraction: Extraction

    async def read_shard(self, call: JobCall, ask: OfShard) -> None:
        place: dict[str, Any] = {"tenant_id": tenant_of(call), "source_id": ask.source_id}
        try:
            await self._read_all(call, ask, place)
        except Exception as error:
            if is_last(call, cause := _cause(error)):
                # Said, instead of reading for ever.
                await fail(call, place, cause)
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
            underway = Underway(call, place)
            files = Files(ask.source_id, config.most_bytes, connector, it, underway.note)
            reading = _Reading(call, place, config, files, underway)
            while waiting:
                await reading.take(waiting)
                await _take_stock(call)
                async with call.tx() as tx:
                    waiting = await _next(tx, place, ask.shard, waiting[-1].key)
        await _end(call, place)


@dataclass(frozen=True, slots=True)
class _Reading:
    call: JobCall
    place: dict[str, Any]
    config: SourceConfig
    files: Files
    underway: Underway
    storing: anyio.Lock = field(default_factory=anyio.Lock)

    async def take(self, batch: Sequence[Seen]) -> None:
        """Read these files, several at once. What is read is stored soon, others may take long."""
        ready: dict[Seen, Found] = {}
        small = await self.files.fetch_small(batch)
        others = iter([it for it in batch if it not in small])

        async def read_next() -> None:
            while small:
                some = dict(small.popitem() for _ in range(min(TOGETHER, len(small))))
                ready.update(await self.files.read_together(some))
            for seen in others:
                ready[seen] = await self.files.read(seen)
                if _letters(ready) > MOST_LETTERS:
                    # Whoever brings more than may be held does not go on before it is stored.
                    await self._store_ready(ready)

        async with anyio.create_task_group() as beside:
            beside.start_soon(self._tell_soon)
            beside.start_soon(self._store_soon, ready)
            async with anyio.create_task_group() as tasks:
                for _ in range(AT_ONCE):
                    tasks.start_soon(read_next)
            await self._store_ready(ready)
            beside.cancel_scope.cancel()
        await self.underway.tell()
        self.call.remaining_s()

    async def _tell_soon(self) -> None:
        """Apart from storing, which takes a while where a file has ten thousand pages."""
        while True:
            await anyio.sleep(TELL_EVERY_S)
            await self.underway.tell()

    async def _store_soon(self, ready: dict[Seen, Found]) -> None:
        while True:
            await anyio.sleep(STORE_EVERY_S)
            await self._store_ready(ready)

    async def _store_ready(self, ready: dict[Seen, Found]) -> None:
        # To its end: what was stored and is not known to be would be counted twice.
        with anyio.CancelScope(shield=True):
            async with self.storing:
                # In order of key, so that two writers never wait for each other in a circle.
                if now := dict(sorted(ready.items(), key=lambda it: it[0].key)):
                    await self._store(now)
                    for seen in now:
                        del ready[seen]
                        self.underway.over(seen.key)

    async def _store(self, read: dict[Seen, Found]) -> None:
        """All of them at once; where the database refuses that, one by one, to find whose it is."""
        try:
            await self._put(read)
        except PeciaError as error:
            if not refuses_value(error):
                raise
            for seen, found in read.items():
                await self._put_alone(seen, found)

    async def _put_alone(self, seen: Seen, found: Found) -> None:
        """One file; else that it was refused, with all that is known of it or its name alone."""
        bare = FileFacts(self.files.source_id, seen.key)
        for facts in (found and found[0], bare, None):
            try:
                await self._put({seen: found})
                return
            except PeciaError as error:
                if facts is None or not refuses_value(error):
                    raise
                found = refused(facts, error)

    async def _put(self, read: dict[Seen, Found]) -> None:
        files = [await _cut(*it) for it in read.values() if it is not None]
        failed = sum(it.status not in ("ok", "empty") for _, it in files)
        async with self.call.tx() as tx:
            if await tx.value(SQL["is_stopped"], **self.place):
                # Whoever stopped it may be about to remove the source. The next crawl reads these.
                return
            await texts.put_many(tx, files, tenant_id=self.place["tenant_id"])
            if self.config.posix:
                kept = [seen for seen, it in read.items() if it is not None]
                await capture(tx, self.place, kept)
            keys, seen = [it.key for it in read], [Jsonb(as_json(it)) for it in read]
            await tx.run(SQL["done_todo"], keys=keys, seen=seen, **self.place)
            counts = {"read": len(read), "failed": failed}
            await tx.run(SQL["count_read"], **counts, **self.place)


async def _cut(facts: FileFacts, text: Text) -> tuple[FileFacts, Text]:
    if len(text.canonical.text) < LONG_LETTERS:
        return facts, text
    return facts, await run_sync(texts.cut, text)


def _cause(error: Exception) -> Exception:
    """The first of several that were raised together."""
    while isinstance(error, ExceptionGroup):
        error = cast(ExceptionGroup[Exception], error).exceptions[0]
    return error


def _letters(ready: Mapping[Seen, Found]) -> int:
    return sum(len(it[1].canonical.text) for it in ready.values() if it)


async def _next(tx: Transaction, place: dict[str, Any], shard: int, after: str) -> list[Seen]:
    rows = await tx.all(SQL["next_todo"], shard=shard, after=after, limit=BATCH, **place)
    return [_seen(row["seen"]) for row in rows]


def _seen(plain: dict[str, Any]) -> Seen:
    moment, posix = plain.pop("modified_at"), plain.pop("posix")
    return Seen(
        **plain,
        modified_at=datetime.fromisoformat(moment) if moment else None,
        posix=_posix(**posix) if posix else None,
    )


def _posix(mode: int, uid: int, gid: int, above: Sequence[tuple[int, int, int]] = ()) -> Posix:
    return Posix(mode, uid, gid, tuple((one, of, at) for one, of, at in above))


async def _take_stock(call: JobCall) -> None:
    """What was just stored is planned for before the crawl is over: who searches next finds it."""
    async with call.store.system() as tx:
        await tx.value(SQL["take_stock"])


async def _end(call: JobCall, place: dict[str, Any]) -> None:
    async with call.tx() as tx:
        await tx.run(SQL["end_crawl"], **place)
