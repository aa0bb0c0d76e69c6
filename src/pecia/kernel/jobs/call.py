"""What a job's handler gets: its run, a fenced transaction, and progress reports."""

import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

import anyio

from pecia.kernel.errors import Conflict, Json, Timeout
from pecia.kernel.jobs.message import truncate_message
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store, Transaction

SQL = load_queries("pecia.kernel.jobs")

PROGRESS_INTERVAL_S = 0.5

# A frozen process must not hold its job by an open transaction.
MAX_IDLE_IN_TRANSACTION = "30s"


@dataclass(frozen=True, slots=True)
class JobRun:
    """One run of one job. Worker and attempt together are its fencing token: never reused."""

    job_id: int
    name: str
    worker_id: int | None
    attempt: int
    arguments: dict[str, Json] = field(default_factory=dict[str, Json])


@dataclass(slots=True)
class JobCall:
    """One run in flight. `attempt` counts from 1; `user_id` is who deferred it, if any."""

    store: Store
    run: JobRun
    attempt: int
    tenant_id: UUID | None
    user_id: UUID | None
    deadline: float
    _reported_at: float = field(default=-math.inf, init=False)

    @asynccontextmanager
    async def tx(self) -> AsyncGenerator[Transaction]:
        """A system transaction that commits only while this run is the job's only one.

        Conflict if another worker took the job over; it cannot until the transaction ends.
        """
        async with self.store.system() as tx:
            held = await tx.fetch_optional(
                SQL["hold_run"], idle=MAX_IDLE_IN_TRANSACTION, **fence_parameters(self.run)
            )
            if held is None:
                raise _lost_error(self.run)
            yield tx

    async def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Report progress. Written at most twice a second, and when `done` is `total`."""
        if done != total and anyio.current_time() - self._reported_at < PROGRESS_INTERVAL_S:
            return
        self._reported_at = anyio.current_time()
        async with self.store.system() as tx:
            progress = {
                "done": done,
                "total": total,
                "message": message and truncate_message(message),
            }
            if not await tx.execute(SQL["tell_progress"], **progress, **fence_parameters(self.run)):
                raise _lost_error(self.run)

    def remaining_s(self) -> float:
        """Seconds left, or Timeout when there are none."""
        left = self.deadline - anyio.current_time()
        if left <= 0:
            raise Timeout("the deadline of this job has passed")
        return left


def fence_parameters(run: JobRun) -> dict[str, int | None]:
    """The fencing parameters of every statement of a run."""
    return {"id": run.job_id, "worker_id": run.worker_id, "attempt": run.attempt}


def _lost_error(run: JobRun) -> Conflict:
    return Conflict(f"job {run.job_id} was taken over by another worker", job=run.job_id)
