"""A worker: runs what was asked for, tries again, stops, and never acts for a run it has lost."""

from datetime import UTC, datetime

import anyio
import psycopg
import pytest

from pecia.kernel.errors import Conflict, NotFound, Unavailable
from pecia.kernel.jobs import (
    Job,
    JobCall,
    JobState,
    NoArguments,
    RetryPolicy,
    cancel_job,
    defer_as_system,
)
from pecia.kernel.jobs.outcome import SUCCEEDED
from pecia.kernel.jobs.queue import open_queue
from pecia.kernel.jobs.reclaim import end_run, reclaim_stalled
from pecia.kernel.jobs.schedule import defer_due, list_scheduled
from pecia.kernel.jobs.worker import run_until_idle
from pecia.kernel.jobs.worker_loop import WorkerIntervals
from tests.features.jobs.jobs_fixture import CUT, QUICK, About, JobsFixture, Probe

pytestmark = pytest.mark.anyio

IMPATIENT = WorkerIntervals(heartbeat_s=0.05, stalled_s=30, poll_s=0.05, grace_s=0)
WOKEN = WorkerIntervals(heartbeat_s=0.05, stalled_s=30, poll_s=60, grace_s=5)

# Workers of other tests listen too, on databases of their own.
LISTENS = """
SELECT count(*) FROM pg_stat_activity
 WHERE query LIKE 'LISTEN %%' AND state = 'idle' AND datname = current_database()
"""
SILENCE = "UPDATE jobs.procrastinate_workers SET last_heartbeat = now() - interval '1 h'"


async def listening(ground: JobsFixture) -> None:
    with anyio.fail_after(10):
        while True:
            async with ground.store.system() as tx:
                if await tx.fetch_value(LISTENS):
                    return
            await anyio.sleep(0.01)


async def test_a_job_runs_and_tells_how_far_it_is(ground: JobsFixture) -> None:
    async def half(call: JobCall) -> None:
        await call.progress(1, 2, "half")
        told.set()
        await probe.wait(call)
        await call.progress(2, 2)

    told = anyio.Event()
    probe = Probe(then=half)
    job_id = await ground.ask(ground.bo, probe.job)
    async with ground.working(probe.job):
        await told.wait()
        running = await ground.state(job_id)
        assert (running.status, running.done, running.total) == ("running", 1, 2)
        assert running.message == "half"
        probe.go_on.set()
        done = await ground.reaches(job_id, "done")
    assert (done.done, done.attempts, probe.runs) == (2, 1, [1])


async def test_a_worker_hears_of_a_job_when_the_write_commits(ground: JobsFixture) -> None:
    probe = Probe()
    async with ground.working(probe.job, pace=WOKEN):
        await listening(ground)
        # It looks again in a minute, or when it is told.
        await ground.reaches(await ground.ask(ground.bo, probe.job), "done")


async def test_a_handler_knows_for_whom_it_works(ground: JobsFixture) -> None:
    calls: list[JobCall] = []

    async def note(call: JobCall) -> None:
        calls.append(call)

    job = Probe(then=note).job
    await ground.ask(ground.bo, job)
    async with ground.store.system() as tx:
        await defer_as_system(tx, job, About(), tenant_id=None)
    await run_until_idle(ground.store, [job])
    assert [(it.tenant_id, it.user_id) for it in calls] == [
        (ground.bo.tenant_id, ground.bo.user_id),
        (None, None),
    ]


async def test_a_job_that_fails_is_tried_again_and_then_given_up_with_the_reason(
    ground: JobsFixture,
) -> None:
    async def fail(call: JobCall) -> None:
        raise Unavailable("the source sleeps; password=hunter2")

    probe = Probe(then=fail)
    job_id = await ground.ask(ground.bo, probe.job)
    async with ground.working(probe.job):
        failed = await ground.reaches(job_id, "failed")
    assert probe.runs == [1, 2, 3]
    assert failed.attempts == 3
    assert failed.problem is not None
    assert failed.problem["code"] == "UNAVAILABLE"
    assert "hunter2" not in str(failed.problem)


async def test_between_attempts_a_job_rests(ground: JobsFixture) -> None:
    async def fail(call: JobCall) -> None:
        raise Unavailable("the source sleeps")

    probe = Probe(then=fail, retry=RetryPolicy(first_s=1000, max_s=1000))
    job_id = await ground.ask(ground.bo, probe.job)
    await run_until_idle(ground.store, [probe.job])
    resting = await ground.state(job_id)
    assert (resting.status, resting.attempts) == ("waiting", 1)
    assert resting.next_at is not None
    assert 400 < (resting.next_at - datetime.now(UTC)).total_seconds() <= 1000


async def test_an_error_that_will_not_pass_ends_the_job_at_once(ground: JobsFixture) -> None:
    async def fail(call: JobCall) -> None:
        raise NotFound("no source 's1'")

    probe = Probe(then=fail)
    job_id = await ground.ask(ground.bo, probe.job)
    await run_until_idle(ground.store, [probe.job])
    failed = await ground.state(job_id)
    assert (failed.status, failed.attempts) == ("failed", 1)


async def test_a_job_that_takes_too_long_is_stopped(ground: JobsFixture) -> None:
    probe = Probe(timeout_s=0.05, retry=RetryPolicy(attempts=1))
    probe.then = probe.wait
    job_id = await ground.ask(ground.bo, probe.job)
    await run_until_idle(ground.store, [probe.job])
    failed = await ground.state(job_id)
    assert failed.status == "failed"
    assert failed.problem == {"code": "TIMEOUT", "message": "it took longer than 0.05 s"}


async def test_a_running_job_that_is_cancelled_stops(ground: JobsFixture) -> None:
    probe = Probe()
    probe.then = probe.wait
    job_id = await ground.ask(ground.bo, probe.job)
    async with ground.working(probe.job, pace=WOKEN):
        await probe.began.wait()
        async with ground.writing(ground.bo) as tx:
            await cancel_job(tx, job_id)
        stopped = await ground.reaches(job_id, "cancelled")
    assert stopped.finished_at is not None
    assert probe.runs == [1]


async def test_a_worker_that_is_to_stop_finishes_what_it_runs(ground: JobsFixture) -> None:
    probe = Probe()
    probe.then = probe.wait
    job_id = await ground.ask(ground.bo, probe.job)
    # With a hand free it may be reaching for a job in the very moment in which it is to stop.
    async with ground.working(probe.job, concurrency=1) as stop:
        await probe.began.wait()
        stop.set()
        late = await ground.ask(ground.bo, probe.job)
        probe.go_on.set()
    assert (await ground.state(job_id)).status == "done"
    assert (await ground.state(late)).status == "waiting"


async def test_what_takes_too_long_is_handed_back_and_not_counted(ground: JobsFixture) -> None:
    probe = Probe(retry=RetryPolicy(attempts=1))
    probe.then = probe.wait
    job_id = await ground.ask(ground.bo, probe.job)
    for _ in range(3):
        probe.began = anyio.Event()
        async with ground.working(probe.job, pace=IMPATIENT):
            await probe.began.wait()
        back = await ground.state(job_id)
        assert (back.status, back.attempts) == ("waiting", 0)
    probe.go_on.set()
    await run_until_idle(ground.store, [probe.job])
    assert (await ground.state(job_id)).status == "done"


async def test_a_worker_that_is_cancelled_hands_back_too(ground: JobsFixture) -> None:
    probe = Probe()
    probe.then = probe.wait
    job_id = await ground.ask(ground.bo, probe.job)
    with anyio.CancelScope() as scope:
        async with ground.working(probe.job):
            await probe.began.wait()
            scope.cancel()
    assert (await ground.state(job_id)).status == "waiting"


async def test_a_job_that_this_worker_does_not_know_waits_for_one_that_does(
    ground: JobsFixture,
) -> None:
    job_id = await ground.ask(ground.bo, Probe().job)
    await run_until_idle(ground.store, [])
    found = await ground.state(job_id)
    assert (found.status, found.attempts) == ("waiting", 0)
    assert found.next_at is not None


async def test_the_jobs_of_a_suspended_tenant_wait(ground: JobsFixture) -> None:
    probe = Probe()
    await ground.ask(ground.away, probe.job)
    await ground.run("UPDATE kernel.tenant SET status = 'suspended' WHERE name = 'there'")
    await run_until_idle(ground.store, [probe.job])
    assert probe.runs == []


async def test_arguments_that_no_longer_fit_fail_the_job(ground: JobsFixture) -> None:
    probe = Probe()
    job_id = await ground.ask(ground.bo, probe.job)
    await ground.run("UPDATE jobs.procrastinate_jobs SET args = '{\"which\": 1}'")
    await run_until_idle(ground.store, [probe.job])
    failed = await ground.state(job_id)
    assert (failed.status, probe.runs) == ("failed", [])
    assert failed.problem == {
        "code": "INVALID_INPUT",
        "message": "the job's arguments do not fit this version: which",
    }


async def test_the_same_work_never_runs_twice_at_once(ground: JobsFixture) -> None:
    at_once = most = 0

    async def count(call: JobCall) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        async with call.tx() as tx:
            await tx.fetch_value("SELECT pg_sleep(0.02)")
        at_once -= 1

    probe = Probe(then=count)
    async with ground.working(probe.job, concurrency=4), ground.working(probe.job):
        asked: set[int] = set()
        for _ in range(10):
            job_id = await ground.ask(ground.bo, probe.job)
            await ground.reaches(job_id, "running", "done")
            asked.add(job_id)
        for job_id in asked:
            await ground.reaches(job_id, "done")
    assert (most, len(probe.runs)) == (1, len(asked))


async def test_a_run_that_was_given_to_another_can_write_no_more(ground: JobsFixture) -> None:
    refused: list[str] = []
    ended: list[JobState] = []
    lost = anyio.Event()

    async def lose(call: JobCall) -> None:
        if call.attempt > 1:
            return
        async with call.tx() as tx:
            # Whoever writes at this moment is left alone.
            await ground.run(SILENCE)
            assert await reclaim_stalled(ground.store, {}, stalled_s=60) == 0
            await tx.fetch_value("SELECT 1")
        # The worker was forgotten all the same, so the next look finds its job.
        assert await reclaim_stalled(ground.store, {job.full_name: job}, stalled_s=60) == 1
        try:
            async with call.tx():
                refused.append("nothing")
        except Conflict:
            refused.append("tx")
        try:
            await call.progress(1, 1)
        except Conflict:
            refused.append("progress")
        lost.set()
        await probe.wait(call)

    probe = Probe(then=lose)
    job = probe.job
    job_id = await ground.ask(ground.bo, job)
    async with anyio.create_task_group() as tasks:
        # Neither with a heartbeat nor looking for stalled runs: each would end the silence, or find
        # the run before this test does, if its first one came after the job had begun.
        tasks.start_soon(run_until_idle, ground.store, [job])
        with anyio.fail_after(10):
            await lost.wait()
        async with ground.working(job):
            ended.append(await ground.reaches(job_id, "done"))
        probe.go_on.set()
    # What the lost run says at its end changes nothing.
    ended.append(await ground.state(job_id))
    assert refused == ["tx", "progress"]
    assert ([it.attempts for it in ended], probe.runs) == ([2, 2], [1, 2])
    assert ended[0] == ended[1]


async def test_a_run_that_was_given_to_another_can_end_nothing(ground: JobsFixture) -> None:
    job = Probe().job
    job_id = await ground.ask(ground.bo, job)
    async with open_queue(ground.store.logins.system, None) as queue:
        lost = await queue.fetch_job(await queue.register_worker())
        await ground.run(SILENCE)
        assert await reclaim_stalled(ground.store, {job.full_name: job}, stalled_s=60) == 1
        held = await queue.fetch_job(await queue.register_worker())
    assert lost is not None
    assert held is not None
    async with ground.store.system() as tx:
        assert not await end_run(tx, lost, SUCCEEDED)
    assert (await ground.state(job_id)).status == "running"
    async with ground.store.system() as tx:
        assert await end_run(tx, held, SUCCEEDED)
    assert (await ground.state(job_id)).status == "done"


async def test_the_library_itself_lets_a_lost_run_end_the_run_of_another(
    ground: JobsFixture,
) -> None:
    """Why the worker loop is ours (ADR 10). When this fails, the library fences runs: use it."""
    job = Probe().job
    job_id = await ground.ask(ground.bo, job)
    async with open_queue(ground.store.logins.system, None) as queue:
        assert await queue.fetch_job(await queue.register_worker()) is not None
        await ground.run(SILENCE)
        assert await reclaim_stalled(ground.store, {job.full_name: job}, stalled_s=60) == 1
        assert await queue.fetch_job(await queue.register_worker()) is not None
    async with ground.store.system() as tx:
        await tx.execute("SET LOCAL search_path = jobs")
        # All that the first worker has to say: neither its own id nor its attempt.
        await tx.fetch_value(
            "SELECT procrastinate_finish_job_v1(%(id)s, 'succeeded', false)::text", id=job_id
        )
    assert (await ground.state(job_id)).status == "done"


async def test_a_worker_that_was_taken_for_dead_begins_anew(ground: JobsFixture) -> None:
    async def stay_once(call: JobCall) -> None:
        if call.attempt == 1:
            await probe.wait(call)

    probe = Probe(then=stay_once)
    job_id = await ground.ask(ground.bo, probe.job)
    async with ground.working(probe.job):
        await probe.began.wait()
        await ground.run("DELETE FROM jobs.procrastinate_workers")
        done = await ground.reaches(job_id, "done")
    assert (done.attempts, probe.runs) == (2, [1, 2])


async def test_a_job_whose_worker_always_dies_fails_in_the_end(ground: JobsFixture) -> None:
    probe = Probe(retry=RetryPolicy(attempts=2, first_s=0))
    job_id = await ground.ask(ground.bo, probe.job)
    take = "SELECT jobs.procrastinate_fetch_job_v2(NULL, NULL)"
    jobs = {probe.job.full_name: probe.job}
    for _ in range(2):
        await ground.run(take)
        assert await reclaim_stalled(ground.store, jobs, stalled_s=60) == 1
    failed = await ground.state(job_id)
    assert (failed.status, failed.attempts) == ("failed", 2)
    assert failed.problem == {
        "code": "UNAVAILABLE",
        "message": "the worker of this job stopped responding",
    }


async def test_a_worker_outlives_its_connections(ground: JobsFixture) -> None:
    probe = Probe()
    probe.then = probe.wait
    running = await ground.ask(ground.bo, probe.job, "running")
    async with ground.working(probe.job, pace=QUICK):
        await probe.began.wait()
        async with await psycopg.AsyncConnection.connect(ground.store.logins.system) as other:
            await other.execute(CUT)
        probe.go_on.set()
        await ground.reaches(running, "done")
        later = await ground.ask(ground.bo, probe.job, "later")
        await ground.reaches(later, "done")
    assert probe.runs == [1, 1]


def scheduled(name: str, ran: anyio.Event) -> Job:
    async def run(call: JobCall, about: NoArguments) -> None:
        ran.set()

    return Job("probe", name, run, NoArguments, schedule="23 * * * *")


async def test_a_tick_is_queued_once_however_many_look_and_missed_ones_only_once(
    ground: JobsFixture,
) -> None:
    jobs = list_scheduled([scheduled("hourly", anyio.Event())])
    first = datetime(2026, 1, 2, 3, 24, tzinfo=UTC)
    for now in (first, first, first.replace(hour=9), first.replace(hour=9, minute=59), first):
        await defer_due(ground.store, jobs, now)
    async with ground.store.system() as tx:
        assert await tx.fetch_value("SELECT count(*) FROM jobs.procrastinate_jobs") == 2


async def test_a_worker_queues_what_fell_due(ground: JobsFixture) -> None:
    ran = anyio.Event()
    async with ground.working(scheduled("hourly", ran)):
        with anyio.fail_after(10):
            await ran.wait()
