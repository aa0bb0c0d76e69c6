"""Compiles that the server pays for are counted in the database: over restarts and at one time."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import anyio
import pytest

from pecia.features.ckf.llm.quota import SQL, DailyAllowance, DailyQuota, StoredQuotaCounter
from pecia.kernel.errors import RateLimited
from tests.conftest import House

pytestmark = pytest.mark.anyio


class Clock:
    def __init__(self) -> None:
        self.moment = datetime(2026, 1, 31, 23, 59, 30, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment


async def test_a_quota_counts_by_user_and_in_all_and_starts_again_at_midnight(
    house: House,
) -> None:
    clock, tenant = Clock(), house.ana.tenant_id
    ana, bo, cleo = uuid4(), uuid4(), uuid4()

    def restarted() -> DailyQuota:
        return DailyQuota(DailyAllowance(1, 2), StoredQuotaCounter(house.app.store), clock)

    await restarted().take(tenant, ana)
    with pytest.raises(RateLimited) as caught:
        await restarted().take(tenant, ana)
    told = caught.value.fields
    assert (told["retry_after_seconds"], told["quota"], told["limit"]) == (30, "user", 1)
    await restarted().take(tenant, bo)
    with pytest.raises(RateLimited) as caught:
        await restarted().take(tenant, cleo)
    assert caught.value.fields["quota"] == "total"
    clock.moment += timedelta(seconds=31)
    await restarted().take(tenant, ana)


async def test_two_at_one_time_never_take_the_last_one_both(house: House) -> None:
    store, tenant, clock = house.app.store, house.ana.tenant_id, Clock()
    counter, allowed = StoredQuotaCounter(store), DailyAllowance(10, 2)
    day = clock().date()
    assert await counter.take(tenant, uuid4(), day, allowed) is None
    spent: list[str | None] = []

    async def second() -> None:
        spent.append(await counter.take(tenant, uuid4(), day, allowed))

    async with anyio.create_task_group() as group, store.system() as first:
        taken = {"tenant_id": tenant, "payer": uuid4(), "day": day, "per_user": 10, "total": 2}
        assert await first.fetch_value(SQL["take_compile"], **taken) is None
        group.start_soon(second)
        await waiting(house)
    assert spent == ["total"]


async def waiting(house: House) -> None:
    """Until somebody waits for what somebody else holds."""
    asked = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    with anyio.fail_after(10):
        while True:
            async with house.app.store.system() as tx:
                if await tx.fetch_value(asked):
                    return
            await anyio.sleep(0.01)


async def test_days_gone_by_and_users_who_left_are_not_kept(house: House) -> None:
    clock, bo = Clock(), house.bo
    assert bo.user_id
    quota = DailyQuota(DailyAllowance(9, 9), StoredQuotaCounter(house.app.store), clock)
    await quota.take(bo.tenant_id, bo.user_id)
    clock.moment += timedelta(days=5)
    await quota.take(bo.tenant_id, bo.user_id)
    assert await rows(house) == [(bo.user_id, clock.moment.date(), 1)]
    async with house.app.store.system() as tx:
        await tx.execute("DELETE FROM kernel.user_account WHERE id = %(id)s", id=bo.user_id)
    assert await rows(house) == []


async def rows(house: House) -> list[tuple[object, ...]]:
    async with house.app.store.system() as tx:
        found = await tx.fetch_all("SELECT payer, day, used FROM ckf.model_use ORDER BY day")
    return [(it["payer"], it["day"], it["used"]) for it in found]
