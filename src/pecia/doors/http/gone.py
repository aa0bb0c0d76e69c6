"""Work that stops when the client goes away: nobody would read what it gives."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from starlette.types import Receive

from pecia.kernel.errors import Cancelled

T = TypeVar("T")


async def unless_gone(receive: Receive, work: Callable[[], Awaitable[T]]) -> T:
    """What the work gives, or Cancelled. The body must have been read before."""
    outcome: list[T] = []
    failure: Exception | None = None

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        try:
            outcome.append(await work())
        except Exception as error:  # noqa: BLE001 - carried out of the group as it is, not wrapped.
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
    if not outcome:
        raise Cancelled("the client went away")
    return outcome[0]
