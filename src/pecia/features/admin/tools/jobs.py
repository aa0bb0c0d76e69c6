"""Background jobs: crawls, embeddings, maintenance. Users see their own, administrators all."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from pecia.kernel.identity.caller import Scope
from pecia.kernel.jobs.status import JobState, cancel_job, get_job, list_jobs, retry_job
from pecia.kernel.store.store import Store
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool

FEATURE = "admin"


class JobOut(Output):
    id: int
    name: str
    key: str | None
    status: Literal["waiting", "running", "done", "failed", "cancelled"]
    stopping: bool = Field(description="Its worker was asked to stop.")
    attempts: int
    done: float | None
    total: float | None
    message: str | None
    problem: dict[str, Any] | None = Field(description="Why the last attempt failed.")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    next_at: datetime | None = Field(description="When it is tried again.")


class JobsOut(Output):
    jobs: list[JobOut]
    next_cursor: int | None = None


class ListJobs(Input):
    status: Literal["waiting", "running", "done", "failed", "cancelled"] | None = None
    name: str | None = Field(default=None, max_length=200, description="`lake.crawl`.")
    cursor: int | None = Field(default=None, ge=1, le=2**63 - 1)
    limit: int = Field(default=50, ge=1, le=200)


class JobTarget(Input):
    id: int = Field(ge=1, le=2**63 - 1)


@dataclass(frozen=True, slots=True)
class JobTools:
    """The handlers. PostgreSQL decides whose jobs a caller sees and may change."""

    store: Store

    async def list_jobs(self, call: Call, ask: ListJobs) -> JobsOut:
        """Background jobs, newest first: state, progress, and why one failed."""
        async with self.store.reading(call.caller) as tx:
            found = await list_jobs(
                tx, status=ask.status, name=ask.name, before=ask.cursor, limit=ask.limit + 1
            )
        page = found[: ask.limit]
        more = len(found) > ask.limit
        return JobsOut(
            jobs=[_out(it) for it in page], next_cursor=page[-1].id if more and page else None
        )

    async def cancel(self, call: Call, ask: JobTarget) -> JobOut:
        """End a waiting job, or ask the worker of a running one to stop."""
        async with self.store.writing(call.caller, call.trace) as tx:
            await get_job(tx, ask.id)
            await cancel_job(tx, ask.id)
            return _out(await get_job(tx, ask.id))

    async def retry(self, call: Call, ask: JobTarget) -> JobOut:
        """Queue a job again that failed or was cancelled."""
        async with self.store.writing(call.caller, call.trace) as tx:
            await get_job(tx, ask.id)
            await retry_job(tx, ask.id)
            return _out(await get_job(tx, ask.id))


def job_tools(store: Store) -> tuple[AnyTool, ...]:
    it = JobTools(store)
    return (
        Tool(FEATURE, "list_jobs", Scope.READ, ListJobs, JobsOut, it.list_jobs),
        Tool(
            FEATURE,
            "cancel_job",
            Scope.ADMIN,
            JobTarget,
            JobOut,
            it.cancel,
            read_only=False,
            destructive=True,
        ),
        Tool(FEATURE, "retry_job", Scope.ADMIN, JobTarget, JobOut, it.retry, read_only=False),
    )


def _out(it: JobState) -> JobOut:
    return JobOut(**asdict(it))
