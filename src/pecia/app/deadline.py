"""Runs work up to a deadline, even work that cannot be stopped: a thread goes on."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio

from pecia.kernel.errors import PeciaError

T = TypeVar("T")

log = logging.getLogger(__name__)

GRACE_S = 0.1
"""How long cancelled work may clean up before the answer goes out without it."""

_abandoned: set[asyncio.Task[Any]] = set()
"""The loop itself keeps no task alive."""


async def run_until_deadline(deadline: float, work: Callable[[], Awaitable[T]]) -> T:
    """What the work gives, or TimeoutError at the deadline. Who cancels waits for its end."""
    loop = asyncio.get_running_loop()
    scope = anyio.CancelScope(deadline=deadline)

    async def body() -> T:
        with scope:
            return await work()
        raise TimeoutError

    task = loop.create_task(body())
    over: asyncio.Future[None] = loop.create_future()

    def wake(_: object = None) -> None:
        if not over.done():
            over.set_result(None)

    task.add_done_callback(wake)
    timer = loop.call_at(deadline + GRACE_S, wake)
    try:
        await over
    except asyncio.CancelledError:
        scope.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([task])
        _error_of(task)
        raise
    finally:
        timer.cancel()
    if task.done():
        return task.result()
    _abandoned.add(task)
    task.add_done_callback(_discard_abandoned)
    raise TimeoutError


def _discard_abandoned(task: asyncio.Task[Any]) -> None:
    _abandoned.discard(task)
    error = _error_of(task)
    if error is not None and not isinstance(error, TimeoutError | PeciaError):
        log.warning("crashed after its deadline", extra={"action": "call"}, exc_info=error)


def _error_of(task: asyncio.Task[Any]) -> BaseException | None:
    """Retrieve the result: the loop warns of exceptions that nobody retrieves."""
    return None if task.cancelled() else task.exception()
