"""A worker that is woken by notifications alone misses nothing when its listener is cut."""

import pytest

from pecia.kernel.jobs import cancel_job
from pecia.kernel.jobs.worker_loop import WorkerIntervals
from tests.features.jobs.jobs_fixture import JobsFixture, Probe
from tests.listeners import cut_listeners

pytestmark = pytest.mark.anyio

# Nothing is polled within the time of a test.
NOTIFIED = WorkerIntervals(heartbeat_s=600, stalled_s=3600, poll_s=600, grace_s=5)


async def test_a_job_put_while_the_listener_is_down_is_run(ground: JobsFixture) -> None:
    probe = Probe()
    async with ground.working(probe.job, pace=NOTIFIED):
        await cut_listeners(ground.store.logins.system, 1)
        await ground.reaches(await ground.ask(ground.ana, probe.job), "done")
        await ground.reaches(await ground.ask(ground.ana, probe.job, "s2"), "done")


async def test_a_job_cancelled_while_the_listener_is_down_is_stopped(ground: JobsFixture) -> None:
    probe = Probe()
    probe.then = probe.wait
    async with ground.working(probe.job, pace=NOTIFIED):
        job_id = await ground.ask(ground.ana, probe.job)
        await probe.began.wait()
        await cut_listeners(ground.store.logins.system, 1)
        async with ground.writing(ground.ana) as tx:
            await cancel_job(tx, job_id)
        await ground.reaches(job_id, "cancelled")
