"""What a caller sees of the queue, and may cancel or retry. PostgreSQL decides whose jobs show."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from pecia.kernel.errors import Conflict, Json, NotFound
from pecia.kernel.jobs.call import SQL
from pecia.kernel.store.store import Transaction

JobStatus: TypeAlias = Literal["waiting", "running", "done", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class JobState:
    """A job as it stands. `problem` is why the last attempt failed, as `code` and `message`."""

    id: int
    name: str
    key: str | None
    status: JobStatus
    stopping: bool
    attempts: int
    done: float | None
    total: float | None
    message: str | None
    problem: dict[str, Json] | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    next_at: datetime | None


async def list_jobs(
    tx: Transaction,
    *,
    status: JobStatus | None = None,
    name: str | None = None,
    before: int | None = None,
    limit: int = 50,
) -> list[JobState]:
    """Newest first: the caller's own jobs; for an administrator, all of the tenant."""
    wanted = {"status": status, "name": name, "before": before, "limit": limit}
    return await tx.fetch_all_as(JobState, SQL["list_jobs"], **wanted)


async def get_job(tx: Transaction, job_id: int) -> JobState:
    """One job, or NotFound."""
    for found in await tx.fetch_all_as(JobState, SQL["get_job"], id=job_id):
        return found
    raise NotFound(f"no job {job_id}")


async def cancel_job(tx: Transaction, job_id: int) -> None:
    """End a waiting job; ask the worker of a running one to stop. Conflict when it has ended."""
    if not await tx.fetch_value(SQL["cancel_job"], id=job_id):
        raise Conflict(f"job {job_id} has ended already", job=job_id)


async def retry_job(tx: Transaction, job_id: int) -> None:
    """Queue a job again that failed or was cancelled. Conflict for any other."""
    if not await tx.fetch_value(SQL["retry_job"], id=job_id):
        raise Conflict(f"job {job_id} has neither failed nor been cancelled", job=job_id)
