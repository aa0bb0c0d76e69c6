"""Watches folders for changes, and starts scheduled crawls of all other sources.

It only queues work: what it misses, the next crawl finds. A few changed files are checked directly;
otherwise the folder is listed again.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol, TypeAlias
from uuid import UUID

import anyio
from anyio.abc import TaskGroup
from croniter import croniter

from pecia.features.lake.crawl.crawler import (
    SQL,
    CrawlArguments,
    diff_files,
    enqueue_files,
    make_prompt,
    retry_on_deadlock,
    store_posix_acl,
)
from pecia.features.lake.model import SourceConfig, parse_config
from pecia.kernel.corpus.connector import ListedFile, SupportsStatMany
from pecia.kernel.errors import Collision, Conflict, PeciaError
from pecia.kernel.jobs.defer import defer_as_system
from pecia.kernel.jobs.job import Job
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store

_log = Log(__name__)

POLL_INTERVAL_S = 5.0
MAX_STAT_KEYS = 1000


@dataclass(frozen=True, slots=True)
class SourceChange:
    """A change in a source: at these keys, or anywhere if they are unknown."""

    keys: tuple[str, ...] | None
    connector: SupportsStatMany | None
    """None: the source can only be listed as a whole."""


class WatchSource(Protocol):
    """Which sources are watched, and how."""

    def is_watched(self, config: SourceConfig) -> bool: ...

    def watch(
        self, tenant_id: UUID, source_id: str, config: SourceConfig
    ) -> AsyncGenerator[SourceChange]:
        """Yields on every change, and once when watching has begun."""
        ...


SourceKey: TypeAlias = tuple[UUID, str]


@dataclass(slots=True)
class SourceWatcher:
    """Watches every source of every tenant, until cancelled."""

    store: Store
    crawl_job: Job
    ingest_job: Job
    sources: WatchSource
    watched: dict[SourceKey, tuple[SourceConfig, anyio.CancelScope]] = field(
        default_factory=dict[SourceKey, tuple[SourceConfig, anyio.CancelScope]]
    )
    last_polled_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            while True:
                try:
                    await self._poll(tasks)
                except PeciaError as error:
                    _log.failure("lake.watch", error)
                await anyio.sleep(POLL_INTERVAL_S)

    async def _poll(self, tasks: TaskGroup) -> None:
        """Watch new folders, drop removed ones, and queue due crawls."""
        async with self.store.system() as tx:
            rows = await tx.fetch_all(SQL["every_source"])
        configs = {(row["tenant_id"], row["source_id"]): _config(row) for row in rows}
        folders = {
            source_key: it
            for source_key, it in configs.items()
            if it and self.sources.is_watched(it)
        }
        for source_key in [*self.watched]:
            if folders.get(source_key) != self.watched[source_key][0]:
                self.watched.pop(source_key)[1].cancel()
        for source_key, config in folders.items():
            if source_key not in self.watched:
                self.watched[source_key] = (config, anyio.CancelScope())
                tasks.start_soon(self._follow, source_key, config)
        since, self.last_polled_at = self.last_polled_at, datetime.now(UTC)
        for source_key, config in configs.items():
            if config and config.schedule and _is_due(config.schedule, since, self.last_polled_at):
                await self._enqueue_crawl(source_key, self.crawl_job)

    async def _follow(self, source_key: SourceKey, config: SourceConfig) -> None:
        with self.watched[source_key][1]:
            try:
                async with aclosing(self.sources.watch(*source_key, config)) as events:
                    async for event in events:
                        await self._on_change(source_key, config, event)
            except (PeciaError, OSError) as error:
                _log.failure("lake.watch", error)
                await anyio.sleep(POLL_INTERVAL_S)
        held = self.watched.get(source_key)
        if held and held[0] == config:
            # It ended by itself: retried in the next round.
            del self.watched[source_key]

    async def _on_change(
        self, source_key: SourceKey, config: SourceConfig, event: SourceChange
    ) -> None:
        keys = event.keys
        try:
            few = keys is not None and len(keys) <= MAX_STAT_KEYS
            update = partial(self._update_files, source_key, config, event)
            if not few or not await retry_on_deadlock(update):
                await self._enqueue_crawl(source_key, make_prompt(self.crawl_job))
        except PeciaError as error:
            _log.failure("lake.watch", error)
            # A change must not be lost: crawl the whole folder.
            await self._enqueue_crawl(source_key, make_prompt(self.crawl_job))

    async def _update_files(
        self, source_key: SourceKey, config: SourceConfig, event: SourceChange
    ) -> bool:
        """Queue these files alone. False during a listing, if the folder was never listed, or if it
        can only be listed as a whole."""
        keys = event.keys or ()
        if event.connector is None:
            return False
        where = {"tenant_id": source_key[0], "source_id": source_key[1]}
        found = [it for it in await event.connector.stat_many(keys) if isinstance(it, ListedFile)]
        missing = sorted({*keys} - {it.key for it in found})
        async with self.store.system() as tx:
            # Lock held to the end: no listing starts meanwhile, and a later one sees these too.
            state = await tx.fetch_optional(SQL["crawl_state"], **where)
            if state is None or state["state"] not in ("done", "reading"):
                return False
            news = await diff_files(tx, where, found)
            if config.posix:
                await store_posix_acl(tx, where, news.acl_changed)
            # First the list: what ingest stored until then is removed with the files.
            await tx.execute(SQL["drop_todo_keys"], keys=missing, **where)
            gone = await tx.execute(SQL["remove_files"], keys=missing, **where)
            if gone and await event.connector.stat_many(missing):
                # Tools of the wiki put rows of what they write: one that was here had its file.
                raise Collision("a file that was missing is there again")
            if not (news.added or news.changed or gone):
                return True
            counts = {"added": len(news.added), "changed": len(news.changed), "gone": gone}
            if not await tx.execute(SQL["note_again"], **counts, **where):
                raise Conflict("the folder was never listed completely")
            await enqueue_files(tx, where, news, self.ingest_job, 1)
            await tx.execute(SQL["end_crawl"], **where)
        return True

    async def _enqueue_crawl(self, source_key: SourceKey, job: Job) -> None:
        tenant_id, source_id = source_key
        try:
            async with self.store.system() as tx:
                if await tx.execute(SQL["begin_again"], tenant_id=tenant_id, source_id=source_id):
                    ask = CrawlArguments(source_id=source_id)
                    await defer_as_system(tx, job, ask, tenant_id=tenant_id)
        except PeciaError as error:
            _log.failure("lake.watch", error)


def _config(row: dict[str, Any]) -> SourceConfig | None:
    try:
        return parse_config(row["config"]) if row["enabled"] else None
    except PeciaError as error:
        _log.failure("lake.config", error)
        return None


def _is_due(schedule: str, since: datetime, now: datetime) -> bool:
    """Whether the schedule has a due time after `since`, up to now."""
    return croniter(schedule, since).get_next(datetime) <= now
