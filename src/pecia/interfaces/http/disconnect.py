"""Work that is cancelled when the client disconnects."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from starlette.types import Receive

from pecia.kernel.errors import Cancelled

T = TypeVar("T")

WATCH_DELAY_S = 0.02
"""Most calls are over by then and need no watcher task, which costs more than all else that the
HTTP interface does for a call."""


async def cancel_on_disconnect(receive: Receive, work: Callable[[], Awaitable[T]]) -> T:
    """The result of the work, or Cancelled. The body must have been read before."""
    outcome: list[T] = []
    failure: Exception | None = None
    is_watched = False

    def begin() -> None:
        nonlocal is_watched
        is_watched = True
        tasks.start_soon(watch)

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        later = asyncio.get_running_loop().call_later(WATCH_DELAY_S, begin)
        try:
            outcome.append(await work())
        except Exception as error:  # noqa: BLE001 - raised outside the group, not wrapped.
            failure = error
        finally:
            later.cancel()
        if is_watched:
            tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
    if not outcome:
        raise Cancelled("the client disconnected")
    return outcome[0]
