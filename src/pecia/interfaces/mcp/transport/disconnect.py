"""Cancels the work of a client that disconnected, and sends pings to one that waits.

Most calls are done before that: they cost a timer and nothing else.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import TracebackType

import anyio
from anyio.abc import TaskGroup
from starlette.types import Receive

WATCH_DELAY_S = 0.05
"""How long a call may take before its connection is watched."""
PING_INTERVAL_S = 15.0


class DisconnectWatchers:
    """The watcher tasks of long calls, in one task group."""

    def __init__(self) -> None:
        self.group: TaskGroup | None = None

    @asynccontextmanager
    async def run(self) -> AsyncGenerator[None]:
        async with anyio.create_task_group() as self.group:
            yield
            self.group.cancel_scope.cancel()


class DisconnectWatch:
    """A block that is cancelled as soon as its client disconnects."""

    def __init__(
        self,
        watchmen: DisconnectWatchers,
        receive: Receive,
        ping: Callable[[], Awaitable[None]] | None,
    ) -> None:
        self._watchmen = watchmen
        self._receive = receive
        self._ping = ping
        self._work = anyio.CancelScope()
        self._watching: anyio.CancelScope | None = None

    def __enter__(self) -> None:
        self._work.__enter__()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(WATCH_DELAY_S, self._start_watch)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        self._timer.cancel()
        if self._watching is not None:
            self._watching.cancel()
        return self._work.__exit__(kind, error, trace)

    def _start_watch(self) -> None:
        assert self._watchmen.group is not None
        self._watching = anyio.CancelScope()
        self._watchmen.group.start_soon(self._watch, self._watching)

    async def _watch(self, scope: anyio.CancelScope) -> None:
        with scope:
            async with anyio.create_task_group() as tasks:
                if self._ping is not None:
                    tasks.start_soon(self._ping_loop, self._ping)
                while (await self._receive())["type"] != "http.disconnect":
                    pass
                self._work.cancel()
                tasks.cancel_scope.cancel()

    async def _ping_loop(self, ping: Callable[[], Awaitable[None]]) -> None:
        while True:
            await anyio.sleep(PING_INTERVAL_S)
            await ping()
