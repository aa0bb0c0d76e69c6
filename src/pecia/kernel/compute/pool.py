"""Work on what strangers send, in processes that can be ended at a deadline.

A thread cannot be stopped, and holds the lock that every other call needs. One pool for each event
loop: so many workers, of which one tenant never has all.
"""

from collections.abc import AsyncGenerator, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio
from anyio.lowlevel import RunVar, checkpoint_if_cancelled

from pecia.kernel.compute.wire import ComputeJob
from pecia.kernel.compute.worker import (
    ComputeLimits,
    ComputeWorker,
    ReportComputeProgress,
    start_worker,
)
from pecia.kernel.errors import RateLimited

T = TypeVar("T")

_RETRY_S = 5


async def compute(
    share: Hashable,
    function: Callable[..., T],
    *arguments: Any,
    report: ReportComputeProgress | None = None,
) -> T:
    """What a function of a module gives for these arguments, computed in a worker.

    `share` names whose work it is. Cancelling ends the worker. With `report` the function is given
    a `report` of its own, called with what is done and what there is in all.
    """
    return await _pool().run(share, ComputeJob(function, arguments, report is not None), report)


@asynccontextmanager
async def compute_workers() -> AsyncGenerator[None]:
    """While this is open, workers stay warm from one job to the next. Starts none."""
    pool = _pool()
    pool.owners += 1
    try:
        yield
    finally:
        pool.owners -= 1
        await pool.trim()


@dataclass(slots=True)
class _TenantSlots:
    slots: anyio.Semaphore
    jobs: int = 0


class ComputePool:
    def __init__(self, limits: ComputeLimits) -> None:
        self.limits = limits
        self.owners = 0
        self._slots = anyio.Semaphore(limits.workers)
        self._shares: dict[Hashable, _TenantSlots] = {}
        self._idle: list[ComputeWorker] = []

    async def run(
        self, share: Hashable, job: ComputeJob, report: ReportComputeProgress | None
    ) -> Any:
        async with self._acquire_slot(share):
            worker = await self._checkout()
            try:
                # Shielded: given up half way, the next caller would pay for the start again.
                with anyio.CancelScope(shield=True):
                    await worker.prepare(job.function.__module__)
                # Cancelled meanwhile: the worker has no job yet and is the next caller's.
                await checkpoint_if_cancelled()
                return await worker.run(job, report)
            finally:
                await self._checkin(worker)

    async def trim(self) -> None:
        """End the workers that nobody keeps warm."""
        while self._idle and not self.owners:
            await self._idle.pop().kill()

    @asynccontextmanager
    async def _acquire_slot(self, share: Hashable) -> AsyncGenerator[None]:
        """A tenant waits for its own jobs first, so it takes one place among the others."""
        mine = self._shares.setdefault(share, _TenantSlots(anyio.Semaphore(self.limits.share)))
        if mine.jobs >= self.limits.waiting:
            raise RateLimited(
                f"{mine.jobs} of your documents are being processed or queued",
                retry_after_seconds=_RETRY_S,
                hint="Wait for some of them.",
            )
        mine.jobs += 1
        try:
            async with mine.slots, self._slots:
                yield
        finally:
            mine.jobs -= 1
            if not mine.jobs:
                del self._shares[share]

    async def _checkout(self) -> ComputeWorker:
        while self._idle:
            worker = self._idle.pop()
            if worker.is_reusable:
                return worker
            await worker.kill()
        started: ComputeWorker | None = None
        with anyio.CancelScope(shield=True):
            started = await start_worker(self.limits)
        assert started is not None
        return started

    async def _checkin(self, worker: ComputeWorker) -> None:
        if self.owners and worker.is_reusable:
            self._idle.append(worker)
        else:
            await worker.kill()


_POOL: RunVar[ComputePool] = RunVar("pecia_compute_pool")


def _pool() -> ComputePool:
    try:
        return _POOL.get()
    except LookupError:
        pool = ComputePool(ComputeLimits())
        _POOL.set(pool)
        return pool
