"""Watching: folders are followed as they change, everything else on its schedule.

It only ever asks for work: what it misses, the next crawl finds.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias
from uuid import UUID

import anyio
from anyio.abc import TaskGroup
from croniter import croniter

from pecia.kernel.errors import PeciaError
from pecia.kernel.jobs.defer import defer_as_system
from pecia.kernel.jobs.job import Job
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store
from pecia.rooms.lake.crawl import SQL, OfSource, read_config
from pecia.rooms.lake.origin import FolderOrigin, SourceConfig

_log = Log(__name__)

LOOK_EVERY_S = 5.0


Watch: TypeAlias = Callable[[SourceConfig], AsyncGenerator[object]]
"""Yields whenever something changed in a folder, and first when the watching has begun."""

Place: TypeAlias = tuple[UUID, str]


@dataclass(slots=True)
class Watcher:
    """Follows every source of every tenant, until cancelled."""

    store: Store
    crawling: Job
    watch: Watch
    watched: dict[Place, tuple[SourceConfig, anyio.CancelScope]] = field(
        default_factory=dict[Place, tuple[SourceConfig, anyio.CancelScope]]
    )
    looked_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            while True:
                try:
                    await self._look(tasks)
                except PeciaError as error:
                    _log.failure("lake.watch", error)
                await anyio.sleep(LOOK_EVERY_S)

    async def _look(self, tasks: TaskGroup) -> None:
        """Begin to watch what is new, leave what is gone, and crawl what is due."""
        async with self.store.system() as tx:
            rows = await tx.all(SQL["every_source"])
        configs = {(row["tenant_id"], row["source_id"]): _config(row) for row in rows}
        folders = {place: it for place, it in configs.items() if it and _is_watched(it)}
        for place in [*self.watched]:
            if folders.get(place) != self.watched[place][0]:
                self.watched.pop(place)[1].cancel()
        for place, config in folders.items():
            if place not in self.watched:
                self.watched[place] = (config, anyio.CancelScope())
                tasks.start_soon(self._follow, place, config)
        since, self.looked_at = self.looked_at, datetime.now(UTC)
        for place, config in configs.items():
            if config and config.schedule and _is_due(config.schedule, since, self.looked_at):
                await self._crawl(place)

    async def _follow(self, place: Place, config: SourceConfig) -> None:
        with self.watched[place][1]:
            try:
                async with aclosing(self.watch(config)) as events:
                    async for _ in events:
                        await self._crawl(place)
            except (PeciaError, OSError) as error:
                _log.failure("lake.watch", error)
                await anyio.sleep(LOOK_EVERY_S)
        held = self.watched.get(place)
        if held and held[0] == config:
            # It ended by itself: look again with the next round.
            del self.watched[place]

    async def _crawl(self, place: Place) -> None:
        tenant_id, source_id = place
        try:
            async with self.store.system() as tx:
                if await tx.run(SQL["begin_again"], tenant_id=tenant_id, source_id=source_id):
                    ask = OfSource(source_id=source_id)
                    await defer_as_system(tx, self.crawling, ask, tenant_id=tenant_id)
        except PeciaError as error:
            _log.failure("lake.watch", error)


def _config(row: dict[str, Any]) -> SourceConfig | None:
    try:
        return read_config(row["config"]) if row["enabled"] else None
    except PeciaError as error:
        _log.failure("lake.config", error)
        return None


def _is_watched(config: SourceConfig) -> bool:
    return isinstance(config.origin, FolderOrigin) and config.origin.watch


def _is_due(schedule: str, since: datetime, now: datetime) -> bool:
    """Whether a moment of the schedule lies after `since`, and not after now."""
    return croniter(schedule, since).get_next(datetime) <= now
