"""Who sees a job, and who may cancel it or have it tried again."""

import pytest

from pecia.kernel.errors import Conflict, Forbidden, NotFound
from pecia.kernel.identity.caller import Caller, Scope
from pecia.kernel.jobs import cancel_job, get_job, list_jobs, retry_job
from pecia.kernel.jobs.call import JobRun
from pecia.kernel.jobs.outcome import RunOutcome
from pecia.kernel.jobs.queue import open_queue
from pecia.kernel.jobs.reclaim import end_run
from tests.features.jobs.jobs_fixture import JobsFixture, Probe, narrowed

pytestmark = pytest.mark.anyio

FAILED = RunOutcome("failed", {"code": "NOT_FOUND", "message": "no source"})


async def taken(ground: JobsFixture) -> JobRun:
    async with open_queue(ground.store.logins.system, None) as queue:
        run = await queue.fetch_job(await queue.register_worker())
    assert run is not None
    return run


async def ended(ground: JobsFixture, ending: RunOutcome) -> None:
    """Run what waits, and end it like this."""
    run = await taken(ground)
    async with ground.store.system() as tx:
        assert await end_run(tx, run, ending)


async def cancel(ground: JobsFixture, who: Caller, job_id: int) -> None:
    async with ground.writing(who) as tx:
        await cancel_job(tx, job_id)


async def retry(ground: JobsFixture, who: Caller, job_id: int) -> None:
    async with ground.writing(who) as tx:
        await retry_job(tx, job_id)


async def test_a_user_sees_own_jobs_and_an_administrator_those_of_the_tenant(
    ground: JobsFixture,
) -> None:
    mine = await ground.ask(ground.bo, Probe().job, "s1")
    theirs = await ground.ask(ground.ana, Probe().job, "s2")
    assert await ground.seen_by(ground.bo) == [mine]
    assert await ground.seen_by(ground.ana) == [theirs, mine]
    assert await ground.seen_by(ground.away) == []
    with pytest.raises(NotFound):
        async with ground.store.reading(ground.bo) as tx:
            await get_job(tx, theirs)


async def test_jobs_are_listed_by_state_and_name_and_page_by_page(ground: JobsFixture) -> None:
    ids = [await ground.ask(ground.bo, Probe().job, f"s{it}") for it in range(5)]
    await ended(ground, FAILED)
    async with ground.store.reading(ground.bo) as tx:
        assert [it.id for it in await list_jobs(tx, status="failed")] == ids[:1]
        assert [it.id for it in await list_jobs(tx, name="probe.other")] == []
        page = [it.id for it in await list_jobs(tx, limit=2)]
        assert page == [ids[4], ids[3]]
        assert [it.id for it in await list_jobs(tx, before=page[-1], limit=2)] == [ids[2], ids[1]]


async def test_a_waiting_job_that_is_cancelled_never_runs(ground: JobsFixture) -> None:
    job_id = await ground.ask(ground.bo, Probe().job)
    await cancel(ground, ground.bo, job_id)
    found = await ground.state(job_id)
    assert (found.status, found.attempts) == ("cancelled", 0)
    assert found.finished_at is not None
    async with open_queue(ground.store.logins.system, None) as queue:
        assert await queue.fetch_job(await queue.register_worker()) is None
    with pytest.raises(Conflict):
        await cancel(ground, ground.bo, job_id)


async def test_a_running_job_that_is_cancelled_is_about_to_stop(ground: JobsFixture) -> None:
    job_id = await ground.ask(ground.bo, Probe().job)
    await taken(ground)
    await cancel(ground, ground.bo, job_id)
    found = await ground.state(job_id)
    assert (found.status, found.stopping, found.attempts) == ("running", True, 1)


async def test_nobody_cancels_what_they_cannot_see(ground: JobsFixture) -> None:
    job_id = await ground.ask(ground.ana, Probe().job)
    for stranger in (ground.bo, ground.away):
        with pytest.raises(NotFound):
            await cancel(ground, stranger, job_id)


async def test_what_others_count_on_only_an_administrator_cancels(ground: JobsFixture) -> None:
    job_id = await ground.ask(ground.bo, Probe().job)
    await ground.ask(ground.ana, Probe().job)
    with pytest.raises(Forbidden):
        await cancel(ground, ground.bo, job_id)
    await cancel(ground, ground.ana, job_id)
    assert (await ground.state(job_id)).status == "cancelled"


async def test_cancelling_needs_a_token_that_may_write(ground: JobsFixture) -> None:
    job_id = await ground.ask(ground.bo, Probe().job)
    reader = await narrowed(ground.store, ground.bo, Scope.READ)
    with pytest.raises(Forbidden):
        await cancel(ground, reader, job_id)


async def test_a_failed_job_says_why_and_can_be_tried_from_the_start(ground: JobsFixture) -> None:
    job_id = await ground.ask(ground.bo, Probe().job)
    await ended(ground, RunOutcome("todo", FAILED.problem))
    assert (await ground.state(job_id)).attempts == 1
    await ended(ground, FAILED)
    failed = await ground.state(job_id)
    assert (failed.status, failed.attempts, failed.problem) == ("failed", 2, FAILED.problem)
    await retry(ground, ground.bo, job_id)
    again = await ground.state(job_id)
    assert (again.status, again.attempts, again.finished_at) == ("waiting", 0, None)
    await ended(ground, RunOutcome("succeeded"))
    done = await ground.state(job_id)
    assert (done.status, done.attempts, done.problem) == ("done", 1, None)


async def test_only_what_failed_or_was_cancelled_is_tried_again(ground: JobsFixture) -> None:
    job_id = await ground.ask(ground.bo, Probe().job)
    with pytest.raises(Conflict):
        await retry(ground, ground.bo, job_id)
    await cancel(ground, ground.bo, job_id)
    await retry(ground, ground.bo, job_id)
    assert (await ground.state(job_id)).status == "waiting"


async def test_a_job_is_not_tried_again_while_the_same_work_waits(ground: JobsFixture) -> None:
    old = await ground.ask(ground.bo, Probe().job)
    await ended(ground, FAILED)
    await ground.ask(ground.bo, Probe().job)
    with pytest.raises(Conflict):
        await retry(ground, ground.bo, old)


async def test_a_run_that_fails_gives_way_to_the_same_work_that_waits(ground: JobsFixture) -> None:
    old = await ground.ask(ground.bo, Probe().job)
    run = await taken(ground)
    new = await ground.ask(ground.bo, Probe().job)
    async with ground.store.system() as tx:
        assert await end_run(tx, run, RunOutcome("todo", FAILED.problem))
    gone = await ground.state(old)
    assert gone.status == "cancelled"
    assert gone.problem == {"code": "CONFLICT", "message": "the same work waits in another job"}
    assert (await taken(ground)).job_id == new
