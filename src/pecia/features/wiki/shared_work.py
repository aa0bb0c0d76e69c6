"""Long work that several calls wait for: it goes on when those who waited have left."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup

from pecia.kernel.logs import Log

_log = Log(__name__)


@dataclass(slots=True)
class SharedWork:
    """One run of each key at a time."""

    _tasks: TaskGroup | None = None
    _running: dict[Hashable, anyio.Event] = field(default_factory=dict[Hashable, anyio.Event])

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """While entered, work goes on in the background; it is cancelled at the end."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
                tasks.cancel_scope.cancel()

    async def wait(
        self, key: Hashable, work: Callable[[], Awaitable[object]], limit_s: float | None
    ) -> bool:
        """Begin the work, or join it; returns whether it ended within the limit (None: no limit).

        It may have failed: whoever needs its result asks for it once more, and gets the error.
        """
        if self._tasks is None:
            return True
        ended = self._running.get(key)
        if ended is None:
            ended = self._running[key] = anyio.Event()
            self._tasks.start_soon(self._run, key, work, ended)
        with anyio.move_on_after(limit_s):
            await ended.wait()
        return ended.is_set()

    async def _run(
        self, key: Hashable, work: Callable[[], Awaitable[object]], ended: anyio.Event
    ) -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - the edge of a background task
            # One space that fails must not end the others; who waits asks again, and is told.
            _log.failure("wiki.background", error)
        finally:
            self._running.pop(key, None)
            ended.set()
