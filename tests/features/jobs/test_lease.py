"""Leases: one holder at a time, and none that lost it writes again."""

import anyio
import psycopg
import pytest

from pecia.kernel.errors import Conflict, Unavailable
from pecia.kernel.store.lease import Lease, acquire, renew_forever
from tests.features.jobs.jobs_fixture import CUT, JobsFixture

pytestmark = pytest.mark.anyio

RUN_OUT = "UPDATE kernel.lease SET expires_at = now() - interval '1 s'"


async def taken(ground: JobsFixture, holder: str, *, lasts_s: float = 60) -> Lease:
    async with ground.store.system() as tx:
        return await acquire(tx, ground.bo.tenant_id, "space/notes", holder=holder, lasts_s=lasts_s)


async def check(ground: JobsFixture, lease: Lease) -> None:
    async with ground.store.system() as tx:
        await lease.check(tx)


async def test_a_lease_is_one_holders_until_it_runs_out_or_is_given_back(
    ground: JobsFixture,
) -> None:
    first = await taken(ground, "node-a")
    with pytest.raises(Unavailable) as refused:
        await taken(ground, "node-b")
    assert refused.value.fields["holder"] == "node-a"
    async with ground.store.system() as tx:
        await first.release(tx)
    second = await taken(ground, "node-b")
    await ground.run(RUN_OUT)
    third = await taken(ground, "node-c")
    assert first.fence < second.fence < third.fence
    for lost in (first, second):
        with pytest.raises(Conflict):
            await check(ground, lost)
    await check(ground, third)


async def test_a_lease_that_ran_out_is_held_until_somebody_takes_it(ground: JobsFixture) -> None:
    lease = await taken(ground, "node-a")
    await ground.run(RUN_OUT)
    await check(ground, lease)
    async with ground.store.system() as tx:
        await lease.renew(tx)
    with pytest.raises(Unavailable):
        await taken(ground, "node-b")


async def test_a_lease_that_was_given_back_is_lost(ground: JobsFixture) -> None:
    lease = await taken(ground, "node-a")
    async with ground.store.system() as tx:
        await lease.release(tx)
    with pytest.raises(Conflict):
        await check(ground, lease)
    with pytest.raises(Conflict):
        async with ground.store.system() as tx:
            await lease.renew(tx)


async def test_who_lost_a_lease_cannot_give_it_back_for_the_next(ground: JobsFixture) -> None:
    lost = await taken(ground, "node-a")
    await ground.run(RUN_OUT)
    held = await taken(ground, "node-b")
    async with ground.store.system() as tx:
        await lost.release(tx)
    await check(ground, held)


async def test_a_lease_is_not_taken_while_its_holder_writes(ground: JobsFixture) -> None:
    lease = await taken(ground, "node-a")
    await ground.run(RUN_OUT)
    order: list[str] = []

    async def take() -> None:
        await taken(ground, "node-b")
        order.append("taken")

    async with anyio.create_task_group() as group, ground.store.system() as tx:
        await lease.check(tx)
        group.start_soon(take)
        await waiting_for_a_lock(ground)
        order.append("written")
    assert order == ["written", "taken"]


async def waiting_for_a_lock(ground: JobsFixture) -> None:
    with anyio.fail_after(10):
        while True:
            async with ground.store.system() as tx:
                if await tx.fetch_value("SELECT count(*) FROM pg_locks WHERE NOT granted"):
                    return
            await anyio.sleep(0.01)


async def test_a_callers_write_is_checked_in_the_callers_own_tenant(ground: JobsFixture) -> None:
    lease = await taken(ground, "node-a")
    async with ground.writing(ground.bo) as tx:
        await lease.check(tx)
    with pytest.raises(Conflict):
        async with ground.writing(ground.away) as tx:
            await lease.check(tx)


async def test_nobody_can_ask_about_a_lease(ground: JobsFixture) -> None:
    lease = await taken(ground, "node-a")
    ask = "SELECT kernel.holds_lease(%s, %s, %s)"
    async with await psycopg.AsyncConnection.connect(ground.store.logins.app) as nobody:
        found = await nobody.execute(ask, [lease.tenant_id, lease.name, lease.fence])
        assert await found.fetchone() == (False,)


async def test_a_kept_lease_does_not_run_out_even_when_connections_are_cut(
    ground: JobsFixture,
) -> None:
    lease = await taken(ground, "node-a", lasts_s=1)
    expiry = "SELECT expires_at FROM kernel.lease"
    async with ground.store.system() as tx:
        before = await tx.fetch_value(expiry)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(renew_forever, ground.store, lease)
            async with await psycopg.AsyncConnection.connect(ground.store.logins.system) as other:
                await other.execute(CUT)
                await other.rollback()
                while (await (await other.execute(expiry)).fetchone()) == (before,):
                    await other.rollback()
                    await anyio.sleep(0.01)
            group.cancel_scope.cancel()
    await check(ground, lease)


async def test_whoever_keeps_a_lease_learns_of_its_loss(ground: JobsFixture) -> None:
    lease = await taken(ground, "node-a", lasts_s=0.3)
    await ground.run(RUN_OUT)
    await taken(ground, "node-b")
    with anyio.fail_after(10), pytest.raises(Conflict, match="no longer held"):
        await renew_forever(ground.store, lease)


async def test_a_lease_that_cannot_be_renewed_in_time_counts_as_lost(ground: JobsFixture) -> None:
    lease = await taken(ground, "node-a", lasts_s=0.3)
    async with await psycopg.AsyncConnection.connect(ground.store.logins.system) as other:
        await other.execute("LOCK TABLE kernel.lease IN ACCESS EXCLUSIVE MODE")
        with anyio.fail_after(10), pytest.raises(Conflict, match="could not be renewed"):
            await renew_forever(ground.store, lease)
