"""The index follower: keeps every tenant's keyword index up to date, in the worker of a
local install or in the indexer of a server.

Woken by NOTIFY; polls as well, so a lost notification costs one interval. Any number of followers
may run on one home: the tenant's lock decides who writes.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from uuid import UUID

import anyio
from anyio.abc import TaskGroup
from anyio.to_thread import run_sync
from psycopg import Notify

from pecia.kernel.corpus import changelog
from pecia.kernel.corpus.keyword.directory import (
    IndexDirectory,
    list_directories,
    list_suspects,
    load_node_name,
)
from pecia.kernel.corpus.keyword.writer import IndexWriter
from pecia.kernel.errors import NotFound, PeciaError
from pecia.kernel.logs import Log
from pecia.kernel.store.listen import listen
from pecia.kernel.store.store import Store

_log = Log(__name__)


@dataclass(frozen=True, slots=True)
class FollowerIntervals:
    """Polling interval, idle timeout of a writer, and how many tenants are caught up at a time.

    A tenant is caught up at most once in `gather_s`: a commit of the index takes more CPU than what
    is written, and a change that comes after a pause is still applied at once.
    """

    poll_s: float = 1.0
    gather_s: float = 0.2
    idle_s: float = 5.0
    maintenance_s: float = 30.0
    retry_s: float = 1.0
    tenants: int = 2


class IndexFollower:
    """Runs until cancelled. Nothing is lost if it is killed."""

    def __init__(
        self, store: Store, root: Path, intervals: FollowerIntervals | None = None
    ) -> None:
        self._store = store
        self._root = root
        self._intervals = intervals or FollowerIntervals()
        self._node = load_node_name(root)
        self._wakeup = anyio.Event()
        self._busy: set[UUID] = set()
        self._reached: dict[UUID, int] = {}
        self._writers: dict[UUID, IndexWriter] = {}
        self._used_at: dict[UUID, float] = {}
        self._catching = anyio.Semaphore(self._intervals.tenants)
        # One rebuild at a time, with its own semaphore: a long one does not block other tenants.
        self._building = anyio.Semaphore(1)

    async def run(self) -> None:
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(
                    listen, self._store, [changelog.CHANNEL], self._wake, "index.listen"
                )
                tasks.start_soon(self._run_maintenance)
                while True:
                    self._wakeup = anyio.Event()
                    await _try("index.poll", self._start_due, tasks)
                    await self._close_idle(self._intervals.idle_s)
                    with anyio.move_on_after(self._intervals.poll_s):
                        await self._wakeup.wait()
        finally:
            with anyio.CancelScope(shield=True):
                await self._close_idle(0)

    async def catch_up(self, tenant_id: UUID) -> bool:
        """Bring one tenant's index up to date, unless another process has or wants its lock."""
        if IndexDirectory.of(self._root, tenant_id).is_lock_requested():
            await self._close_writer(tenant_id)
            return False
        writer = self._writers.get(tenant_id)
        writer = writer or await IndexWriter.acquire(self._store, self._node, self._root, tenant_id)
        if writer is None:
            return False
        self._writers[tenant_id] = writer
        self._used_at[tenant_id] = anyio.current_time()
        try:
            self._reached[tenant_id] = await self._apply_changes(writer)
        except NotFound:
            await self._drop_tenant(tenant_id)
        finally:
            self._used_at[tenant_id] = anyio.current_time()
        return True

    async def _apply_changes(self, writer: IndexWriter) -> int:
        while True:
            async with self._catching:
                reached = await writer.catch_up()
            if reached is not None:
                return reached
            async with self._building:
                _log.info("index.rebuild", tenant=str(writer.tenant_id))
                self._reached.pop(writer.tenant_id, None)
                await writer.rebuild()

    async def _start_due(self, tasks: TaskGroup) -> bool:
        async with self._store.system() as tx:
            positions = await changelog.load_positions(tx)
        suspect = await run_sync(list_suspects, self._root)
        for tenant_id, n in positions.items():
            due = self._reached.get(tenant_id) != n or tenant_id in suspect
            if due and tenant_id not in self._busy:
                self._busy.add(tenant_id)
                tasks.start_soon(self._catch_up_tenant, tenant_id)
        return True

    async def _catch_up_tenant(self, tenant_id: UUID) -> None:
        due = anyio.current_time() + self._intervals.gather_s
        try:
            if await _try("index.catch_up", self.catch_up, tenant_id):
                await anyio.sleep_until(due)
                # Changes that came meanwhile need not wait for the next poll.
                self._wakeup.set()
            else:
                await anyio.sleep(self._intervals.retry_s)
        finally:
            self._busy.discard(tenant_id)

    async def _close_idle(self, idle_s: float) -> None:
        """Close idle writers: each holds memory, threads and its lock."""
        now = anyio.current_time()
        for tenant_id, writer in [*self._writers.items()]:
            idle = now - self._used_at[tenant_id] >= idle_s or writer.directory.is_lock_requested()
            if idle and tenant_id not in self._busy:
                await self._close_writer(tenant_id)

    async def _close_writer(self, tenant_id: UUID) -> None:
        writer = self._writers.pop(tenant_id, None)
        if writer is not None:
            await writer.close()

    async def _drop_tenant(self, tenant_id: UUID) -> None:
        """The tenant was deleted: remove its index."""
        writer = self._writers.pop(tenant_id)
        self._reached.pop(tenant_id, None)
        await writer.close()
        await run_sync(writer.directory.remove)

    async def _run_maintenance(self) -> NoReturn:
        while True:
            await _try("index.maintenance", self._maintain)
            await anyio.sleep(self._intervals.maintenance_s)

    async def _maintain(self) -> bool:
        """Heartbeat, trim the change log, and remove the indexes of deleted tenants."""
        async with self._store.system() as tx:
            known = await changelog.load_positions(tx)
            for tenant_id, n in [*self._reached.items()]:
                await changelog.record_applied(tx, tenant_id, self._node, n)
            await changelog.trim(tx)
        for tenant_id, _ in await run_sync(lambda: [*list_directories(self._root)]):
            if tenant_id not in known and tenant_id not in self._busy:
                self._busy.add(tenant_id)
                await self._catch_up_tenant(tenant_id)
        return True

    async def _wake(self, _: Notify | None) -> None:
        self._wakeup.set()


async def _try(action: str, work: Callable[..., Awaitable[bool]], *args: object) -> bool:
    """Whether it succeeded. An unavailable database or a full disk is logged and retried."""
    try:
        return await work(*args)
    except (PeciaError, OSError) as error:
        _log.failure(action, error)
        return False
