"""The law of leases: one holder at a time, and whoever lost a lease never writes again."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import UUID, uuid4

import anyio
import psycopg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pecia.kernel.errors import Conflict, Unavailable
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.store.lease import Lease, acquire
from pecia.kernel.store.store import Store
from tests.soak import SOAK

LASTS_S = 1000
HOLDERS = ["node-a", "node-b", "node-c"]

Step: TypeAlias = tuple[str, int]

# The number says who takes it, which of the leases ever given is meant, or how long the wait is.
steps = st.lists(
    st.tuples(st.sampled_from(["take", "take", "renew", "release", "wait"]), st.integers(0, 9)),
    min_size=5,
    max_size=25,
)
tried = settings(
    max_examples=1000 if SOAK else 40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@dataclass(slots=True)
class World:
    """The lease in the database, and beside it what the law says of it."""

    store: Store
    tenant_id: UUID
    name: str = field(default_factory=lambda: str(uuid4()))
    given: list[Lease] = field(default_factory=list[Lease])
    held: Lease | None = None
    left_s: int = 0

    async def step(self, verb: str, number: int) -> None:
        meant = self.given[number % len(self.given)] if self.given else None
        if verb == "take":
            await self.take(HOLDERS[number % len(HOLDERS)])
        elif verb == "wait":
            await self.wait(number * LASTS_S // 4)
        elif verb == "renew" and meant:
            await self.renew(meant)
        elif verb == "release" and meant:
            await self.release(meant)

    async def take(self, holder: str) -> None:
        free = self.held is None or self.left_s <= 0
        where = (self.tenant_id, self.name)
        try:
            async with self.store.system() as tx:
                lease = await acquire(tx, *where, holder=holder, lasts_s=LASTS_S)
        except Unavailable:
            assert not free
            return
        assert free
        assert all(lease.fence > it.fence for it in self.given)
        self.given.append(lease)
        self.held, self.left_s = lease, LASTS_S

    async def renew(self, lease: Lease) -> None:
        async with self.store.system() as tx:
            assert await passes(lease.renew(tx)) == (lease is self.held)
        if lease is self.held:
            self.left_s = LASTS_S

    async def release(self, lease: Lease) -> None:
        async with self.store.system() as tx:
            await lease.release(tx)
        self.held = None if lease is self.held else self.held

    async def wait(self, seconds: int) -> None:
        """Time passes: for the database, the lease runs out so much sooner."""
        self.left_s -= seconds
        async with self.store.system() as tx:
            await tx.execute(
                "UPDATE kernel.lease SET expires_at = expires_at - make_interval(secs => %(s)s)"
                " WHERE name = %(name)s",
                s=seconds,
                name=self.name,
            )

    async def writers(self) -> list[Lease]:
        """Whoever of all that ever held the lease may write now."""
        async with self.store.system() as tx:
            return [it for it in self.given if await passes(it.check(tx))]


async def passes(asking: Awaitable[None]) -> bool:
    try:
        await asking
    except Conflict:
        return False
    return True


def in_store(database: DatabaseLogins, law: Callable[[Store, UUID], Awaitable[None]]) -> None:
    """Try a law in an open store, for a tenant of its own."""

    async def main() -> None:
        store = Store(database)
        await store.open()
        try:
            async with store.system() as tx:
                name = f"t{uuid4().hex}"
                tenant_id = await tx.fetch_value("SELECT kernel.create_tenant(%(name)s)", name=name)
            await law(store, tenant_id)
        finally:
            await store.close()

    anyio.run(main)


@given(plan=steps)
@tried
def test_of_all_that_ever_held_a_lease_only_the_holder_may_write(
    database: DatabaseLogins, plan: list[Step]
) -> None:
    async def law(store: Store, tenant_id: UUID) -> None:
        world = World(store, tenant_id)
        for step in plan:
            await world.step(*step)
            assert await world.writers() == ([world.held] if world.held else [])

    in_store(database, law)


LOG = """
CREATE TABLE IF NOT EXISTS public.written (
    n bigint GENERATED ALWAYS AS IDENTITY, tenant_id uuid, fence bigint, holder text);
GRANT ALL ON public.written TO pecia_system;
"""


@given(plans=st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), min_size=2, max_size=4))
@tried
def test_writes_under_an_older_lease_never_come_after_those_of_a_newer(
    database: DatabaseLogins, plans: list[list[int]]
) -> None:
    """Holders that take the lease from each other at every turn, since it runs out at once."""

    async def hold(store: Store, tenant_id: UUID, holder: str, writes: int) -> None:
        async with store.system() as tx:
            lease = await acquire(tx, tenant_id, "space", holder=holder, lasts_s=0)
        for _ in range(writes):
            async with store.system() as tx:
                await lease.check(tx)
                await tx.fetch_value("SELECT pg_sleep(0.001)")
                await tx.execute(
                    "INSERT INTO public.written (tenant_id, fence, holder)"
                    " VALUES (%(tenant_id)s, %(fence)s, %(holder)s)",
                    tenant_id=tenant_id,
                    fence=lease.fence,
                    holder=holder,
                )

    async def law(store: Store, tenant_id: UUID) -> None:
        async def work(holder: str, plan: list[int]) -> None:
            for writes in plan:
                await passes(hold(store, tenant_id, holder, writes))

        async with anyio.create_task_group() as group:
            for number, plan in enumerate(plans):
                group.start_soon(work, f"node-{number}", plan)
        async with store.system() as tx:
            rows = await tx.fetch_all(
                "SELECT fence, holder FROM public.written WHERE tenant_id = %(it)s ORDER BY n",
                it=tenant_id,
            )
        fences = [it["fence"] for it in rows]
        assert fences == sorted(fences)
        assert len({(it["fence"], it["holder"]) for it in rows}) == len(set(fences))

    prepare(database)
    in_store(database, law)


def prepare(database: DatabaseLogins) -> None:
    with psycopg.connect(database.owner) as connection:
        connection.execute(LOG)
