"""The worker loop: one registration with the queue, kept alive by a heartbeat.

Jobs run in one task group and what serves them in another, so that the heartbeat goes on until
the last job has ended. A short outage of the database ends nothing.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import anyio
import orjson
from anyio.abc import TaskGroup
from psycopg import Notify

from pecia.kernel.errors import PeciaError
from pecia.kernel.jobs.call import JobRun
from pecia.kernel.jobs.execute import execute_run
from pecia.kernel.jobs.job import Job
from pecia.kernel.jobs.outcome import ABORTED, RunOutcome, reschedule
from pecia.kernel.jobs.queue import CHANNEL, JobQueue
from pecia.kernel.jobs.reclaim import end_run, reclaim_stalled
from pecia.kernel.jobs.schedule import defer_due, list_scheduled, seconds_until_due
from pecia.kernel.logs import Log
from pecia.kernel.store.listen import listen
from pecia.kernel.store.store import Store

UNREGISTER_TIMEOUT_S = 5.0

_log = Log(__name__)


@dataclass(frozen=True, slots=True)
class WorkerIntervals:
    """The intervals of a worker. One silent for `stalled_s` loses its jobs to others."""

    heartbeat_s: float = 2.0
    stalled_s: float = 12.0
    poll_s: float = 1.0
    grace_s: float = 10.0


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """The dependencies of a worker."""

    store: Store
    jobs: dict[str, Job]
    concurrency: int
    intervals: WorkerIntervals


@dataclass(eq=False, slots=True)
class RunningJob:
    """A run in this process. The next run of its job may begin before this one is gone."""

    run: JobRun
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    aborted: bool = False


class WorkerLoop:
    """Single use."""

    def __init__(self, context: WorkerContext, queue: JobQueue) -> None:
        self._context = context
        self._queue = queue
        self._worker_id = 0
        self._running: set[RunningJob] = set()
        self._stopping = anyio.Event()
        self._wakeup = anyio.Event()

    async def run(self, stop: anyio.Event) -> None:
        """Run until `stop`, or until the queue has declared us dead."""
        intervals = self._context.intervals
        self._worker_id = await self._queue.register_worker()
        _log.info("jobs.worker_registered", worker=self._worker_id)
        try:
            async with anyio.create_task_group() as around:
                around.start_soon(self._repeat, self._heartbeat, intervals.heartbeat_s)
                around.start_soon(self._repeat, self._reclaim, intervals.heartbeat_s)
                around.start_soon(
                    listen, self._context.store, [CHANNEL], self._on_notify, "jobs.listen"
                )
                around.start_soon(self._repeat, self._follow_schedules, 0)
                around.start_soon(self._stop_with, stop)
                async with anyio.create_task_group() as runs:
                    await self._fetch_jobs(runs)
                    await self._drain()
                around.cancel_scope.cancel()
        finally:
            await self._unregister()

    async def run_until_idle(self) -> None:
        """One job after another, until none is due."""
        self._worker_id = await self._queue.register_worker()
        try:
            while run := await self._queue.fetch_job(self._worker_id):
                await self._run_job(RunningJob(run))
        finally:
            await self._unregister()

    async def _fetch_jobs(self, runs: TaskGroup) -> None:
        while not self._stopping.is_set():
            # Made before the poll, so that a notification meanwhile is not lost.
            self._wakeup = anyio.Event()
            if len(self._running) < self._context.concurrency and (run := await self._fetch_job()):
                self._running.add(running := RunningJob(run))
                runs.start_soon(self._run_job, running)
                continue
            with anyio.move_on_after(self._context.intervals.poll_s):
                await self._wakeup.wait()

    async def _fetch_job(self) -> JobRun | None:
        try:
            return await self._queue.fetch_job(self._worker_id)
        except PeciaError as error:
            _log.warning("jobs.queue_unreachable", problem=error.message)
            return None

    async def _run_job(self, running: RunningJob) -> None:
        """Without an outcome the run was stopped with the worker: unregistering hands it back."""
        ending: RunOutcome | None = None
        try:
            with running.scope:
                ending = await self._execute(running.run)
            if running.aborted:
                ending = ending or ABORTED
            if ending is not None:
                await self._record_outcome(running.run, ending)
        finally:
            self._running.discard(running)
            self._wakeup.set()

    async def _execute(self, run: JobRun) -> RunOutcome:
        try:
            return await execute_run(self._context.store, self._context.jobs.get(run.name), run)
        except PeciaError as error:
            # Not a handler's failure: the database failed before the work began.
            _log.warning("jobs.queue_unreachable", problem=error.message)
            return reschedule(self._context.intervals.poll_s)

    async def _record_outcome(self, run: JobRun, ending: RunOutcome) -> None:
        """Retried until it succeeds: a run that is never ended would stay this worker's."""
        while True:
            try:
                async with self._context.store.system() as tx:
                    ours = await end_run(tx, run, ending)
            except PeciaError as error:
                _log.warning("jobs.queue_unreachable", problem=error.message)
                if self._stopping.is_set():
                    return
                await anyio.sleep(self._context.intervals.poll_s)
            else:
                if not ours:
                    _log.warning("jobs.lost", job=run.job_id, name=run.name)
                return

    async def _drain(self) -> None:
        """Let the running jobs finish, within the grace period."""
        with anyio.move_on_after(self._context.intervals.grace_s):
            while self._running:
                self._wakeup = anyio.Event()
                await self._wakeup.wait()
        self._cancel_runs()

    def _cancel_runs(self) -> None:
        for running in self._running:
            running.scope.cancel()

    async def _unregister(self) -> None:
        with anyio.move_on_after(UNREGISTER_TIMEOUT_S, shield=True):
            try:
                await self._queue.unregister_worker(self._worker_id)
            except PeciaError as error:
                # The others will reclaim its jobs when the heartbeat is missing for long enough.
                _log.warning("jobs.queue_unreachable", problem=error.message)
        _log.info("jobs.worker_unregistered", worker=self._worker_id)

    async def _repeat(self, task: Callable[[], Awaitable[None]], rest_s: float) -> None:
        """Run one of the worker's periodic tasks."""
        while True:
            try:
                await task()
            except PeciaError as error:
                _log.debug("jobs.queue_unreachable", task=task.__name__, problem=error.message)
                await anyio.sleep(self._context.intervals.poll_s)
            else:
                await anyio.sleep(rest_s)

    async def _heartbeat(self) -> None:
        if not await self._queue.heartbeat(self._worker_id):
            _log.warning("jobs.declared_dead", worker=self._worker_id)
            self._stop()
            self._cancel_runs()
        elif self._running:
            self._abort(await self._queue.list_aborted())

    async def _reclaim(self) -> None:
        stalled_s = self._context.intervals.stalled_s
        await reclaim_stalled(self._context.store, self._context.jobs, stalled_s=stalled_s)

    async def _on_notify(self, notification: Notify | None) -> None:
        if notification is None:
            if self._running:
                self._abort(await self._queue.list_aborted())
            self._wakeup.set()
            return
        news = orjson.loads(notification.payload)
        if news["type"] == "abort_job_requested":
            self._abort([news["job_id"]])
        else:
            self._wakeup.set()

    def _abort(self, job_ids: Sequence[int]) -> None:
        for running in self._running:
            if running.run.job_id in job_ids:
                running.aborted = True
                running.scope.cancel()

    async def _follow_schedules(self) -> None:
        jobs = list_scheduled(self._context.jobs.values())
        await defer_due(self._context.store, jobs, datetime.now(UTC))
        await anyio.sleep(seconds_until_due(jobs, datetime.now(UTC)))

    async def _stop_with(self, stop: anyio.Event) -> None:
        await stop.wait()
        self._stop()

    def _stop(self) -> None:
        self._stopping.set()
        self._wakeup.set()
