"""One shift of a worker: registered with the queue, alive by its heartbeat, until it is over.

Jobs run in one task group and what serves them in another, so that the heart beats until the last
job has ended. Nothing here gives up because the database is away for a moment.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import anyio
from anyio.abc import TaskGroup

from pecia.kernel.errors import PeciaError
from pecia.kernel.jobs.call import Run
from pecia.kernel.jobs.carry import carry_out
from pecia.kernel.jobs.ending import ABORTED, Ending, later
from pecia.kernel.jobs.job import Job
from pecia.kernel.jobs.queue import Queue
from pecia.kernel.jobs.rescue import end_run, rescue_stalled
from pecia.kernel.jobs.schedule import defer_due, on_schedule, wait_s
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store

LEAVE_WITHIN_S = 5.0

_log = Log(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """The rhythm of a worker. Whoever is silent for `stalled_s` loses its jobs to others."""

    beat_s: float = 2.0
    stalled_s: float = 12.0
    poll_s: float = 1.0
    grace_s: float = 10.0


@dataclass(frozen=True, slots=True)
class Post:
    """What a worker works with."""

    store: Store
    jobs: dict[str, Job]
    concurrency: int
    pace: Pace


@dataclass(eq=False, slots=True)
class Running:
    """A run in this process. The next run of its job may begin before this one is gone."""

    run: Run
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    aborted: bool = False


class Shift:
    """Used once: `work` for ever, `work_off` until nothing is left."""

    def __init__(self, post: Post, queue: Queue) -> None:
        self._post = post
        self._queue = queue
        self._worker_id = 0
        self._running: set[Running] = set()
        self._over = anyio.Event()
        self._stir = anyio.Event()

    async def work(self, stop: anyio.Event) -> None:
        """Until `stop`, or until the queue has taken us for dead."""
        pace = self._post.pace
        self._worker_id = await self._queue.register()
        _log.info("jobs.shift_began", worker=self._worker_id)
        try:
            async with anyio.create_task_group() as around:
                around.start_soon(self._keep, self._stay_alive, pace.beat_s)
                around.start_soon(self._keep, self._rescue, pace.beat_s)
                around.start_soon(self._keep, self._listen, 0)
                around.start_soon(self._keep, self._follow_schedules, 0)
                around.start_soon(self._end_with, stop)
                async with anyio.create_task_group() as runs:
                    await self._take_jobs(runs)
                    await self._wind_down()
                around.cancel_scope.cancel()
        finally:
            await self._leave()

    async def work_off(self) -> None:
        """One job after another, until none is due."""
        self._worker_id = await self._queue.register()
        try:
            while run := await self._queue.take(self._worker_id):
                await self._run(Running(run))
        finally:
            await self._leave()

    async def _take_jobs(self, runs: TaskGroup) -> None:
        while not self._over.is_set():
            # Made before we look, so that news which comes while we look is not lost.
            self._stir = anyio.Event()
            if len(self._running) < self._post.concurrency and (run := await self._take()):
                self._running.add(running := Running(run))
                runs.start_soon(self._run, running)
                continue
            with anyio.move_on_after(self._post.pace.poll_s):
                await self._stir.wait()

    async def _take(self) -> Run | None:
        try:
            return await self._queue.take(self._worker_id)
        except PeciaError as error:
            _log.warning("jobs.queue_away", problem=error.message)
            return None

    async def _run(self, running: Running) -> None:
        """Without an ending the run was stopped for the worker's sake: leaving hands it back."""
        ending: Ending | None = None
        try:
            with running.scope:
                ending = await self._carry_out(running.run)
            if running.aborted:
                ending = ending or ABORTED
            if ending is not None:
                await self._end(running.run, ending)
        finally:
            self._running.discard(running)
            self._stir.set()

    async def _carry_out(self, run: Run) -> Ending:
        try:
            return await carry_out(self._post.store, self._post.jobs.get(run.name), run)
        except PeciaError as error:
            # Handlers' failures do not come here: the database went away before the work began.
            _log.warning("jobs.queue_away", problem=error.message)
            return later(self._post.pace.poll_s)

    async def _end(self, run: Run, ending: Ending) -> None:
        """Said until it is heard: a run that nobody ends would be this worker's for ever."""
        while True:
            try:
                async with self._post.store.system() as tx:
                    ours = await end_run(tx, run, ending)
            except PeciaError as error:
                _log.warning("jobs.queue_away", problem=error.message)
                if self._over.is_set():
                    return
                await anyio.sleep(self._post.pace.poll_s)
            else:
                if not ours:
                    _log.warning("jobs.lost", job=run.job_id, name=run.name)
                return

    async def _wind_down(self) -> None:
        """Let the running jobs finish, but not for ever."""
        with anyio.move_on_after(self._post.pace.grace_s):
            while self._running:
                self._stir = anyio.Event()
                await self._stir.wait()
        self._stop_runs()

    def _stop_runs(self) -> None:
        for running in self._running:
            running.scope.cancel()

    async def _leave(self) -> None:
        with anyio.move_on_after(LEAVE_WITHIN_S, shield=True):
            try:
                await self._queue.unregister(self._worker_id)
            except PeciaError as error:
                # The others will find out when the heart has stopped for long enough.
                _log.warning("jobs.queue_away", problem=error.message)
        _log.info("jobs.shift_ended", worker=self._worker_id)

    async def _keep(self, duty: Callable[[], Awaitable[None]], rest_s: float) -> None:
        """One of the worker's duties, again and again."""
        while True:
            try:
                await duty()
            except PeciaError as error:
                _log.debug("jobs.queue_away", duty=duty.__name__, problem=error.message)
                await anyio.sleep(self._post.pace.poll_s)
            else:
                await anyio.sleep(rest_s)

    async def _stay_alive(self) -> None:
        if not await self._queue.beat(self._worker_id):
            _log.warning("jobs.taken_for_dead", worker=self._worker_id)
            self._finish()
            self._stop_runs()
        elif self._running:
            self._abort(await self._queue.aborted())

    async def _rescue(self) -> None:
        stalled_s = self._post.pace.stalled_s
        await rescue_stalled(self._post.store, self._post.jobs, stalled_s=stalled_s)

    async def _listen(self) -> None:
        await self._queue.listen(self._hear)

    def _hear(self, aborted: int | None) -> None:
        if aborted is None:
            self._stir.set()
        else:
            self._abort([aborted])

    def _abort(self, job_ids: Sequence[int]) -> None:
        for running in self._running:
            if running.run.job_id in job_ids:
                running.aborted = True
                running.scope.cancel()

    async def _follow_schedules(self) -> None:
        jobs = on_schedule(self._post.jobs.values())
        await defer_due(self._post.store, jobs, datetime.now(UTC))
        await anyio.sleep(wait_s(jobs, datetime.now(UTC)))

    async def _end_with(self, stop: anyio.Event) -> None:
        await stop.wait()
        self._finish()

    def _finish(self) -> None:
        self._over.set()
        self._stir.set()
