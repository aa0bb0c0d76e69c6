"""Into the queue: with the write or not at all, once, and for whoever asked."""

import anyio
import psycopg
import pytest

from pecia.kernel.errors import AuthRequired, Forbidden, InvalidInput, NotFound, PayloadTooLarge
from pecia.kernel.jobs import NoArguments, defer_as_system
from pecia.kernel.jobs.defer import defer, encode_job
from pecia.kernel.jobs.queue import JobQueue, open_queue
from pecia.kernel.store.pg_errors import as_pecia_error
from pecia.kernel.store.store import Store
from tests.features.jobs.jobs_fixture import About, JobsFixture, Probe

pytestmark = pytest.mark.anyio


async def taken(queue: JobQueue, worker_id: int) -> int | None:
    run = await queue.fetch_job(worker_id)
    return None if run is None else run.job_id


async def test_a_job_exists_if_and_only_if_the_write_commits(ground: JobsFixture) -> None:
    job = Probe().job

    async def fail() -> None:
        async with ground.writing(ground.bo) as tx:
            await defer(tx, job, About())
            raise NotFound("the write failed")

    with pytest.raises(NotFound):
        await fail()
    assert await ground.seen_by(ground.ana) == []
    asked = await ground.ask(ground.bo, job)
    assert await ground.seen_by(ground.ana) == [asked]


async def test_the_same_work_waits_once_for_all_who_asked(ground: JobsFixture) -> None:
    job = Probe().job
    first = await ground.ask(ground.ana, job)
    assert await ground.seen_by(ground.bo) == []
    assert await ground.ask(ground.bo, job) == first
    assert await ground.seen_by(ground.bo) == [first]
    assert await ground.ask(ground.bo, job, "s2") != first


async def test_the_same_work_of_two_tenants_is_not_the_same(ground: JobsFixture) -> None:
    job = Probe().job
    assert await ground.ask(ground.ana, job) != await ground.ask(ground.away, job)


async def test_work_that_runs_can_be_asked_for_again_and_waits_its_turn(
    ground: JobsFixture,
) -> None:
    job = Probe().job
    first = await ground.ask(ground.ana, job)
    async with open_queue(ground.store.logins.system, None) as queue:
        worker_id = await queue.register_worker()
        assert await taken(queue, worker_id) == first
        second = await ground.ask(ground.ana, job)
        assert second != first
        assert await taken(queue, worker_id) is None
        await queue.unregister_worker(worker_id)


async def test_a_job_does_not_start_before_the_writes_that_joined_it_are_seen(
    ground: JobsFixture,
) -> None:
    job = Probe().job
    asked = await ground.ask(ground.ana, job)
    async with open_queue(ground.store.logins.system, None) as queue:
        worker_id = await queue.register_worker()
        async with ground.writing(ground.bo) as tx:
            assert await defer(tx, job, About()) == asked
            assert await taken(queue, worker_id) is None
        assert await taken(queue, worker_id) == asked


async def test_who_wants_it_now_does_not_wait_for_who_wants_it_later(ground: JobsFixture) -> None:
    job = Probe().job
    asked = await ground.ask(ground.ana, job, after_s=3600)
    assert (await ground.state(asked)).next_at is not None
    assert await ground.ask(ground.ana, job) == asked
    assert (await ground.state(asked)).next_at is None


async def test_many_who_ask_at_once_get_the_same_job(ground: JobsFixture) -> None:
    job = Probe().job
    ids: set[int] = set()

    async def ask() -> None:
        ids.add(await ground.ask(ground.bo, job))

    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(ask)
    assert len(ids) == 1


async def test_a_call_that_only_reads_cannot_defer(ground: JobsFixture) -> None:
    with pytest.raises(Forbidden):
        async with ground.store.reading(ground.ana) as tx:
            await defer(tx, Probe().job, About())


async def test_arguments_are_of_the_jobs_own_kind_and_small(ground: JobsFixture) -> None:
    with pytest.raises(InvalidInput) as wrong:
        encode_job(Probe().job, NoArguments())
    assert wrong.value.fields["field"] == "arguments"
    with pytest.raises(PayloadTooLarge):
        encode_job(Probe().job, About(what="x" * 20_000))


async def test_the_house_defers_for_a_tenant_or_for_itself(ground: JobsFixture) -> None:
    job = Probe().job
    async with ground.store.system() as tx:
        theirs = await defer_as_system(tx, job, About(), tenant_id=ground.bo.tenant_id)
        own = await defer_as_system(tx, job, About(), tenant_id=None)
    assert own != theirs
    assert await ground.seen_by(ground.ana) == [theirs]
    assert await ground.seen_by(ground.bo) == []


async def test_a_tenant_that_is_deleted_leaves_nothing_in_the_queue(ground: JobsFixture) -> None:
    await ground.ask(ground.ana, Probe().job)
    kept = await ground.ask(ground.away, Probe().job)
    await ground.run("DELETE FROM kernel.tenant WHERE id = %(id)s", id=ground.ana.tenant_id)
    async with ground.store.system() as tx:
        left = await tx.fetch_all("SELECT id FROM jobs.procrastinate_jobs")
    assert [it["id"] for it in left] == [kept]


DEFER = "SELECT kernel.defer_job('probe.work', NULL, 'default', 0, '{}', NULL)"


async def refused(store: Store, statement: str) -> psycopg.Error:
    """How the database refuses a statement of the app's login, outside any identity."""
    async with await psycopg.AsyncConnection.connect(store.logins.app) as connection:
        with pytest.raises(psycopg.Error) as caught:
            await connection.execute(statement)  # pyright: ignore[reportArgumentType, reportCallIssue] - literals of this file
        return caught.value


async def test_nobody_can_defer(ground: JobsFixture) -> None:
    assert isinstance(as_pecia_error(await refused(ground.store, DEFER)), AuthRequired)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM jobs.procrastinate_jobs",
        "SELECT * FROM kernel.job",
        "SELECT jobs.procrastinate_cancel_job_v1(1, true, true)",
        "SELECT kernel.put_job(NULL, NULL, 'kernel.cleanup', NULL, 'default', 0, '{}', NULL)",
        "SELECT kernel.end_run(1, 1, 0, 'succeeded', NULL, NULL, true)",
    ],
)
async def test_the_apps_login_has_no_way_around(ground: JobsFixture, statement: str) -> None:
    error = await refused(ground.store, statement)
    assert isinstance(error, psycopg.errors.InsufficientPrivilege)
