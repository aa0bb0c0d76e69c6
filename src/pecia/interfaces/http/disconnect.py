"""Work that stops when the client goes away: nobody would read what it gives."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from starlette.types import Receive

from pecia.kernel.errors import Cancelled

T = TypeVar("T")

WATCH_DELAY_S = 0.02
"""Most calls are over by then, and need no second task to watch over them: it costs more than
all else that this door does for a call."""


async def cancel_on_disconnect(receive: Receive, work: Callable[[], Awaitable[T]]) -> T:
    """What the work gives, or Cancelled. The body must have been read before."""
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
        except Exception as error:  # noqa: BLE001 - carried out of the group as it is, not wrapped.
            failure = error
        finally:
            later.cancel()
        if is_watched:
            tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
    if not outcome:
        raise Cancelled("the client went away")
    return outcome[0]
