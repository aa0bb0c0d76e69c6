"""A worker: runs jobs until stopped, and waits while the database is down."""

import signal
from collections.abc import Sequence

import anyio

from pecia.kernel.errors import PeciaError
from pecia.kernel.jobs.job import Job, index_jobs
from pecia.kernel.jobs.queue import open_queue
from pecia.kernel.jobs.schedule import list_scheduled
from pecia.kernel.jobs.worker_loop import WorkerContext, WorkerIntervals, WorkerLoop
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store

_log = Log(__name__)


async def run_worker(
    store: Store,
    jobs: Sequence[Job],
    *,
    stop: anyio.Event,
    concurrency: int = 2,
    queues: Sequence[str] | None = None,
    pace: WorkerIntervals | None = None,
) -> None:
    """Run jobs until `stop`; then finish what runs, or hand it back when it takes too long.

    It runs one loop per registration with the queue: a loop ends with `stop`, or when the worker
    was silent for so long that its jobs were given to others.
    """
    list_scheduled(jobs)
    post = WorkerContext(store, index_jobs(jobs), concurrency, pace or WorkerIntervals())
    while not stop.is_set():
        try:
            async with open_queue(store.logins.system, queues) as queue:
                while not stop.is_set():
                    await WorkerLoop(post, queue).run(stop)
        except PeciaError as error:
            _log.warning("jobs.queue_unreachable", problem=error.message)
            with anyio.move_on_after(post.intervals.poll_s):
                await stop.wait()


async def run_until_idle(store: Store, jobs: Sequence[Job]) -> None:
    """Run what is due, then return."""
    post = WorkerContext(store, index_jobs(jobs), concurrency=1, intervals=WorkerIntervals())
    async with open_queue(store.logins.system, None) as queue:
        await WorkerLoop(post, queue).run_until_idle()


async def stop_on_signal(stop: anyio.Event) -> None:
    """Set `stop` at the first SIGTERM or SIGINT. Start it before the worker, in the main thread."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            stop.set()
            return
