"""Upstream connections of this process: one per server, opened on first use.

A server that died is reconnected by the next request, with exponential backoff if it keeps failing.
Outside of `running` nothing is pooled: each connection is opened for one request.
"""

import math
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias
from uuid import UUID

import anyio
from anyio.abc import TaskGroup, TaskStatus

from pecia.features.hub.model import ServerEndpoint
from pecia.features.hub.ports import UpstreamConnection, UpstreamConnectionFactory
from pecia.kernel.errors import PeciaError, Timeout, Unavailable, UpstreamError
from pecia.kernel.logs import Log

ServerKey: TypeAlias = tuple[UUID, str]
ConnectionState: TypeAlias = Literal["up", "down", "idle"]

BACKOFF_INITIAL_S = 0.5
BACKOFF_MAX_S = 30.0
MAX_BACKOFF_SLEEP_S = 1.0

_log = Log(__name__)


@dataclass(frozen=True, slots=True)
class ConnectionRequest:
    """A server to connect to. The endpoint is loaded only when a connection must be opened."""

    key: ServerKey
    version: Hashable
    """A connection that was opened for another version is closed."""
    load_endpoint: Callable[[], Awaitable[ServerEndpoint]]
    on_connect: Callable[[UpstreamConnection], Awaitable[None]]
    """Runs first on a new connection, before any request may use it."""
    on_list_changed: Callable[[str], None]

    @property
    def name(self) -> str:
        return self.key[1]


@dataclass(frozen=True, slots=True)
class ConnectionStatus:
    """The status of a server, as far as this process knows."""

    state: ConnectionState
    since: datetime | None = None
    reason: str = ""
    software: str = ""
    revision: str = ""


@dataclass(frozen=True, slots=True)
class PooledConnection:
    """A connection, and whether it was opened for this request."""

    connection: UpstreamConnection
    is_fresh: bool


@dataclass(slots=True)
class _Slot:
    """The state of one server, in one version of its configuration."""

    version: Hashable
    connection: UpstreamConnection | None = None
    evicted: anyio.Event = field(default_factory=anyio.Event)
    connect_lock: anyio.Lock = field(default_factory=anyio.Lock)
    status: ConnectionStatus = ConnectionStatus("idle")
    failures: int = 0
    retry_at: float = -math.inf

    def set_up(self, connection: UpstreamConnection) -> None:
        about = connection.about
        self.connection = connection
        software = f"{about['name']} {about['version']}".strip()[:200]
        self.status = ConnectionStatus("up", datetime.now(UTC), "", software, about["revision"])

    def set_down(self, error: PeciaError) -> None:
        """The first failure is free; each further one without success doubles the backoff."""
        self.status = ConnectionStatus("down", datetime.now(UTC), error.message)
        if self.failures:
            wait_s = min(BACKOFF_MAX_S, BACKOFF_INITIAL_S * 2 ** (self.failures - 1))
            self.retry_at = anyio.current_time() + wait_s * random.uniform(0.75, 1.25)
        self.failures += 1


class ConnectionPool:
    """Opens, shares and closes connections."""

    def __init__(self, factory: UpstreamConnectionFactory, *, connect_s: float) -> None:
        self._factory = factory
        self._connect_s = connect_s
        self._slots: dict[ServerKey, _Slot] = {}
        self._tasks: TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """While entered, connections stay open between requests."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
                tasks.cancel_scope.cancel()

    def start_soon(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a background task, if the pool is running."""
        if self._tasks is not None:
            self._tasks.start_soon(work)

    @asynccontextmanager
    async def acquire(self, request: ConnectionRequest) -> AsyncGenerator[PooledConnection]:
        """A connection to the server for the duration of the block. It may close before."""
        slot = self._slot(request)
        if self._tasks is not None:
            yield await self._get_or_connect(request, slot, self._tasks)
            return
        async with self._connect(request, slot) as connection:
            yield PooledConnection(connection, is_fresh=True)

    def status(self, key: ServerKey) -> ConnectionStatus:
        slot = self._slots.get(key)
        return slot.status if slot else ConnectionStatus("idle")

    def reset_failures(self, key: ServerKey) -> None:
        """Call after a success: the next failure counts as the first."""
        if slot := self._slots.get(key):
            slot.failures = 0

    def evict(self, key: ServerKey) -> None:
        """Close the connection to a server that was changed or removed."""
        if slot := self._slots.pop(key, None):
            slot.evicted.set()

    def _slot(self, request: ConnectionRequest) -> _Slot:
        slot = self._slots.get(request.key)
        if slot is not None and slot.version != request.version:
            self.evict(request.key)
            slot = None
        return slot or self._slots.setdefault(request.key, _Slot(request.version))

    async def _get_or_connect(
        self, request: ConnectionRequest, slot: _Slot, tasks: TaskGroup
    ) -> PooledConnection:
        async with slot.connect_lock:
            if slot.connection is not None and not slot.connection.over.is_set():
                return PooledConnection(slot.connection, is_fresh=False)
            connection: UpstreamConnection = await tasks.start(self._hold_open, request, slot)
            return PooledConnection(connection, is_fresh=True)

    async def _hold_open(
        self,
        request: ConnectionRequest,
        slot: _Slot,
        *,
        task_status: TaskStatus[UpstreamConnection],
    ) -> None:
        """Holds one connection open until it ends or is evicted."""
        has_begun = False
        try:
            async with self._connect(request, slot) as connection:
                has_begun = True
                task_status.started(connection)
                await _wait_first(connection.over, slot.evicted)
                if not slot.evicted.is_set():
                    raise UpstreamError(f"the server {request.name} closed the connection")
        except PeciaError as error:
            if not has_begun:
                # The waiting request gets the error; nobody else needs it.
                raise
            _log.failure("hub.connection", error)

    @asynccontextmanager
    async def _connect(
        self, request: ConnectionRequest, slot: _Slot
    ) -> AsyncGenerator[UpstreamConnection]:
        """A new connection, initialized within the timeout. An unexpected close is recorded."""
        await _wait_backoff(request, slot)
        connection: UpstreamConnection | None = None
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + self._connect_s) as clock:
                async with self._factory.open(
                    await request.load_endpoint(), request.on_list_changed
                ) as connection:
                    await request.on_connect(connection)
                    clock.deadline = math.inf
                    slot.set_up(connection)
                    yield connection
            if clock.cancelled_caught:
                connection = None
                raise self._connect_timeout(request)
        except PeciaError as error:
            is_over = connection is None or connection.over.is_set()
            # While this one closed, another task may have opened the next.
            if is_over and (slot.connection is None or slot.connection is connection):
                slot.set_down(error)
            raise
        finally:
            if slot.connection is connection:
                slot.connection = None

    def _connect_timeout(self, request: ConnectionRequest) -> Timeout:
        limit_s = self._connect_s
        return Timeout(
            f"the server {request.name} did not answer in {limit_s:g} s",
            server=request.name,
            timeout_s=limit_s,
            hint="Is it running? The setting hub.connect_timeout_s allows more time to start.",
        )


async def _wait_backoff(request: ConnectionRequest, slot: _Slot) -> None:
    """Sleep to the end of a short backoff; fail at once in a long one."""
    left = slot.retry_at - anyio.current_time()
    if left > MAX_BACKOFF_SLEEP_S:
        raise Unavailable(
            f"the server {request.name} is down: {slot.status.reason}",
            server=request.name,
            retry_after_s=round(left, 1),
        )
    if left > 0:
        await anyio.sleep(left)


async def _wait_first(*events: anyio.Event) -> None:
    async with anyio.create_task_group() as tasks:

        async def watch(event: anyio.Event) -> None:
            await event.wait()
            tasks.cancel_scope.cancel()

        for it in events:
            tasks.start_soon(watch, it)
