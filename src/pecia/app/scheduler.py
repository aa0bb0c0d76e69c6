"""Slots for running calls, with a queue per principal."""

import asyncio
import math
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TypeAlias

import anyio

from pecia.app.fair_queue import FairQueue, SlotLimits, SlotOwner
from pecia.kernel.errors import RateLimited, Unavailable

Waiter: TypeAlias = asyncio.Future[None]

MAX_RETRY_AFTER_S = 60
SMOOTHING = 0.05


class Scheduler:
    """Hands out slots. Cheap where one is free: no future, no task, no lock."""

    def __init__(self, limits: SlotLimits | None = None, *, wait_s: float = 30.0) -> None:
        self.queue: FairQueue[Waiter] = FairQueue(limits or SlotLimits())
        self._wait_s = wait_s
        self._mean_s = 0.05
        """Moving average of how long a call holds a slot."""

    def slot(self, who: SlotOwner) -> "Slot":
        """A slot to be taken."""
        return Slot(self, who)

    async def acquire(self, who: SlotOwner) -> None:
        """Wait for a slot; or RateLimited, Unavailable, each with the seconds to wait."""
        queue = self.queue
        if queue.try_acquire(who):
            return
        self._require_capacity(who)
        waiter: Waiter = asyncio.get_running_loop().create_future()
        queue.enqueue(who, waiter)
        with anyio.move_on_after(self._wait_s) as patience:
            try:
                await waiter
            except BaseException:
                if waiter.done() and not waiter.cancelled():
                    # It was granted just as it was cancelled.
                    self.release(who)
                else:
                    queue.remove(who, waiter)
                raise
        if patience.cancelled_caught:
            raise self.overload_error(who)

    def release(self, who: SlotOwner, held_s: float | None = None) -> None:
        """Release a slot to the next in line."""
        if held_s is not None:
            self._mean_s += SMOOTHING * (held_s - self._mean_s)
        following = self.queue.release(who)
        while following is not None:
            principal, waiter = following
            if not waiter.done():
                waiter.set_result(None)
                return
            # Cancelled, and not yet run to say so.
            following = self.queue.release(principal)

    def overload_error(self, who: SlotOwner) -> Unavailable:
        """The refusal of a call that never began to run."""
        seconds = self._retry_after_s(who)
        return Unavailable(
            f"the server is busy and this call was not started; try again in {seconds} s",
            retry_after_seconds=seconds,
        )

    def _require_capacity(self, who: SlotOwner) -> None:
        if not self.queue.has_capacity_for(who):
            most = self.queue.limits.principal_waiting
            seconds = self._retry_after_s(who)
            raise RateLimited(
                f"{most} of your calls are waiting; try again in {seconds} s, with fewer at once",
                retry_after_seconds=seconds,
                max=most,
            )
        if not self.queue.has_capacity():
            raise self.overload_error(who)

    def _retry_after_s(self, who: SlotOwner) -> int:
        """Estimated seconds until the waiting calls have run."""
        limits, queue = self.queue.limits, self.queue
        own = queue.count_waiting(who) / limits.principal_running
        every = queue.waiting / limits.running
        return max(1, min(MAX_RETRY_AFTER_S, math.ceil(max(own, every) * self._mean_s)))


class Slot:
    """One call's slot: taken once, released at the end and while the call waits for others."""

    __slots__ = ("_scheduler", "_since", "_who", "was_taken")

    def __init__(self, scheduler: Scheduler, who: SlotOwner) -> None:
        self._scheduler = scheduler
        self._who = who
        self._since: float | None = None
        self.was_taken = False

    async def acquire(self) -> None:
        await self._scheduler.acquire(self._who)
        self._since = time.monotonic()
        self.was_taken = True

    def release(self) -> None:
        """Idempotent."""
        if self._since is not None:
            held_s, self._since = time.monotonic() - self._since, None
            self._scheduler.release(self._who, held_s)

    @asynccontextmanager
    async def idle(self) -> AsyncGenerator[None]:
        """Others may run while this call waits, for a person or another server."""
        self.release()
        yield
        await self.acquire()

    def overload_error(self) -> Unavailable:
        return self._scheduler.overload_error(self._who)
