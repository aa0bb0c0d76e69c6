"""A store with three callers, and jobs whose handlers a test can steer."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import anyio
from anyio.abc import TaskGroup

from pecia.kernel.identity.caller import EVERY_SCOPE, Caller, CredentialKind, Scope
from pecia.kernel.jobs import (
    Job,
    JobArguments,
    JobCall,
    JobState,
    RetryPolicy,
    get_job,
    list_jobs,
)
from pecia.kernel.jobs.defer import defer
from pecia.kernel.jobs.worker import run_worker
from pecia.kernel.jobs.worker_loop import WorkerIntervals
from pecia.kernel.store.audit.record import AuditRecord
from pecia.kernel.store.store import Store, Transaction

QUICK = WorkerIntervals(heartbeat_s=0.05, stalled_s=30, poll_s=0.05, grace_s=5)
AT_ONCE = RetryPolicy(attempts=3, first_s=0, max_s=0)


# Every connection of the house to this database, but the one that says so.
CUT = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
 WHERE usename = 'pecia_system' AND datname = current_database() AND pid <> pg_backend_pid()
"""


class About(JobArguments):
    """What the probe jobs are about."""

    what: str = "s1"


@dataclass(frozen=True, slots=True)
class JobsFixture:
    """`ana` administers a tenant in which `bo` is a member; `away` administers another."""

    store: Store
    ana: Caller
    bo: Caller
    away: Caller

    @asynccontextmanager
    async def writing(self, who: Caller) -> AsyncGenerator[Transaction]:
        trace = AuditRecord(
            uuid4(), "probe.jobs", "test", who.tenant_id, who.user_id, who.credential_id
        )
        async with self.store.writing(who, trace) as tx:
            yield tx

    async def ask(self, who: Caller, job: Job, what: str = "s1", after_s: float = 0) -> int:
        async with self.writing(who) as tx:
            return await defer(tx, job, About(what=what), after_s=after_s)

    async def state(self, job_id: int) -> JobState:
        """As the administrator sees it."""
        async with self.store.reading(self.ana) as tx:
            return await get_job(tx, job_id)

    async def seen_by(self, who: Caller) -> list[int]:
        async with self.store.reading(who) as tx:
            return [it.id for it in await list_jobs(tx)]

    async def reaches(self, job_id: int, *statuses: str) -> JobState:
        """The job, as soon as it is in one of these states."""
        with anyio.fail_after(10):
            while True:
                found = await self.state(job_id)
                if found.status in statuses:
                    return found
                await anyio.sleep(0.01)

    @asynccontextmanager
    async def working(
        self, *jobs: Job, pace: WorkerIntervals = QUICK, concurrency: int = 2
    ) -> AsyncGenerator[anyio.Event]:
        """A worker for the length of a block. The event that stops it is handed out."""
        stop = anyio.Event()
        async with anyio.create_task_group() as group:
            self._start(group, jobs, stop, pace, concurrency)
            yield stop
            stop.set()

    def _start(
        self,
        group: TaskGroup,
        jobs: Sequence[Job],
        stop: anyio.Event,
        pace: WorkerIntervals,
        concurrency: int,
    ) -> None:
        async def work() -> None:
            await run_worker(self.store, jobs, stop=stop, pace=pace, concurrency=concurrency)

        group.start_soon(work)

    async def run(self, statement: Any, **values: Any) -> int:
        """A statement of the test's own, as the system."""
        async with self.store.system() as tx:
            return await tx.execute(statement, **values)


@dataclass(slots=True)
class Probe:
    """A job that notes its runs, tells when one began, and goes on when it is let go."""

    then: Callable[[JobCall], Awaitable[None]] | None = None
    retry: RetryPolicy = AT_ONCE
    timeout_s: float = 30
    runs: list[int] = field(default_factory=list[int])
    began: anyio.Event = field(default_factory=anyio.Event)
    go_on: anyio.Event = field(default_factory=anyio.Event)

    @property
    def job(self) -> Job:
        return Job(
            "probe",
            "work",
            self._run,
            About,
            key=lambda it: it.what,
            retry=self.retry,
            timeout_s=self.timeout_s,
        )

    async def _run(self, call: JobCall, about: About) -> None:
        self.runs.append(call.attempt)
        self.began.set()
        if self.then is not None:
            await self.then(call)

    async def wait(self, call: JobCall) -> None:
        """As `then`: stay until let go."""
        await self.go_on.wait()


@asynccontextmanager
async def open_ground(store: Store) -> AsyncGenerator[JobsFixture]:
    await store.open()
    try:
        here, there = await _tenant(store, "here"), await _tenant(store, "there")
        yield JobsFixture(
            store,
            ana=await _caller(store, here, "here", "ana", admin=True),
            bo=await _caller(store, here, "here", "bo"),
            away=await _caller(store, there, "there", "ana", admin=True),
        )
    finally:
        await store.close()


async def narrowed(store: Store, who: Caller, *scopes: Scope) -> Caller:
    """The same user with a token of fewer scopes."""
    return await _credential(store, who.tenant_id, who.user_id, who.user, frozenset(scopes))


async def _tenant(store: Store, name: str) -> UUID:
    async with store.system() as tx:
        return await tx.fetch_value("SELECT kernel.create_tenant(%(name)s)", name=name)


async def _caller(
    store: Store, tenant_id: UUID, tenant: str, name: str, *, admin: bool = False
) -> Caller:
    async with store.system() as tx:
        user_id = await tx.fetch_value(
            "INSERT INTO kernel.user_account (tenant_id, name, role)"
            " VALUES (%(tenant_id)s, %(name)s, %(role)s) RETURNING id",
            tenant_id=tenant_id,
            name=name,
            role="admin" if admin else "member",
        )
    return await _credential(store, tenant_id, user_id, name, EVERY_SCOPE)


async def _credential(
    store: Store, tenant_id: UUID, user_id: UUID | None, name: str, scopes: frozenset[Scope]
) -> Caller:
    async with store.system() as tx:
        credential_id = await tx.fetch_value(
            "INSERT INTO kernel.credential (tenant_id, kind, user_id, scopes)"
            " VALUES (%(tenant_id)s, 'local', %(user_id)s, %(scopes)s) RETURNING id",
            tenant_id=tenant_id,
            user_id=user_id,
            scopes=[it.value for it in scopes],
        )
    return Caller(credential_id, CredentialKind.LOCAL, tenant_id, "test", user_id, name, scopes)
