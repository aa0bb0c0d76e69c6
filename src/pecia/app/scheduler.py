"""When a call runs, and until when: slots with a queue per principal, and deadlines.

Slots are granted round robin over principals, FIFO in each.
"""

import asyncio
import logging
import math
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import anyio

from pecia.kernel.errors import PeciaError, RateLimited, Unavailable

T = TypeVar("T")
K = TypeVar("K")
W = TypeVar("W", bound=Hashable)

Waiter: TypeAlias = asyncio.Future[None]

MAX_RETRY_AFTER_S = 60
SMOOTHING = 0.05

GRACE_S = 0.1
"""How long cancelled work may clean up before the answer goes out without it."""

log = logging.getLogger(__name__)

_abandoned: set[asyncio.Task[Any]] = set()
"""The loop itself keeps no task alive."""


class SlotOwner(NamedTuple):
    """Whose calls are counted together, and in which tenant."""

    tenant: Hashable
    name: Hashable


@dataclass(frozen=True, slots=True)
class SlotLimits:
    """How many calls run at one time, and how many may wait for that."""

    running: int = 16
    tenant_running: int = 12
    """Less than all: another tenant finds a slot however busy this one is."""
    principal_running: int = 4
    waiting: int = 4096
    principal_waiting: int = 256


class FairQueue(Generic[W]):
    """Slots, and a queue for each principal that waits for one. Pure: no clock, no loop. A slot is
    free only while no waiting call may take it.

    A principal who may run waits for at most one grant to each other principal: one that got a slot
    goes to the end of the ring. One that is at its own limit, or whose tenant is, keeps its place.
    """

    def __init__(self, limits: SlotLimits) -> None:
        self.limits = limits
        self.running = 0
        self.waiting = 0
        self._of_principal: dict[SlotOwner, int] = {}
        self._of_tenant: dict[Hashable, int] = {}
        self._ring: OrderedDict[SlotOwner, OrderedDict[W, None]] = OrderedDict()

    def try_acquire(self, who: SlotOwner) -> bool:
        """Take a slot at once; False if this principal has to wait."""
        if self.running >= self.limits.running or not self._may_run(who):
            return False
        self._grant(who)
        return True

    def has_capacity(self) -> bool:
        """Whether anybody at all may still wait."""
        return self.waiting < self.limits.waiting

    def has_capacity_for(self, who: SlotOwner) -> bool:
        """Whether one more call of this principal may wait."""
        return len(self._ring.get(who, ())) < self.limits.principal_waiting

    def enqueue(self, who: SlotOwner, waiter: W) -> None:
        """Queue up behind the principal's own calls."""
        self._ring.setdefault(who, OrderedDict())[waiter] = None
        self.waiting += 1

    def remove(self, who: SlotOwner, waiter: W) -> None:
        """Stop waiting. Idempotent."""
        queue = self._ring.get(who)
        if queue is None or waiter not in queue:
            return
        del queue[waiter]
        self.waiting -= 1
        if not queue:
            del self._ring[who]

    def release(self, who: SlotOwner) -> tuple[SlotOwner, W] | None:
        """Release a slot. Returns who gets it now, and for which call."""
        self.running -= 1
        _decrement(self._of_principal, who)
        _decrement(self._of_tenant, who.tenant)
        if not self._ring or self.running >= self.limits.running:
            return None
        following = next((it for it in self._ring if self._may_run(it)), None)
        return None if following is None else (following, self._pop(following))

    def count_waiting(self, who: SlotOwner) -> int:
        """How many calls of this principal wait."""
        return len(self._ring.get(who, ()))

    def is_idle(self) -> bool:
        """Whether nothing is held and nothing kept."""
        return not (self.running or self.waiting or self._of_principal or self._of_tenant) and (
            not self._ring
        )

    def _pop(self, who: SlotOwner) -> W:
        queue = self._ring[who]
        waiter, _ = queue.popitem(last=False)
        self.waiting -= 1
        if queue:
            self._ring.move_to_end(who)
        else:
            del self._ring[who]
        self._grant(who)
        return waiter

    def _may_run(self, who: SlotOwner) -> bool:
        limits = self.limits
        return (
            self._of_principal.get(who, 0) < limits.principal_running
            and self._of_tenant.get(who.tenant, 0) < limits.tenant_running
        )

    def _grant(self, who: SlotOwner) -> None:
        self.running += 1
        self._of_principal[who] = self._of_principal.get(who, 0) + 1
        self._of_tenant[who.tenant] = self._of_tenant.get(who.tenant, 0) + 1


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


def _decrement(counts: dict[K, int], key: K) -> None:
    left = counts[key] - 1
    if left:
        counts[key] = left
    else:
        # Drop idle principals: their number is unbounded.
        del counts[key]
