"""The database's failures as ours, told by a database that is brought to fail."""

from collections.abc import AsyncGenerator, Iterator
from typing import LiteralString

import anyio
import psycopg
import pytest
from psycopg import AsyncConnection

from pecia.kernel.errors import InvalidInput, PeciaError, Unavailable
from pecia.kernel.store.cluster import Cluster, DatabaseLogins
from pecia.kernel.store.pg_errors import is_value_rejected
from pecia.kernel.store.store import Store
from tests.unit.kernel.store.cluster_fixture import ClusterFixture, base, fresh

__all__ = ["base", "fresh"]

pytestmark = pytest.mark.anyio

PAGES = 64
SMALL = "ALTER SYSTEM SET max_notify_queue_pages = 64"
NOTICE = "SELECT pg_notify('news', repeat('x', 7900))"
NARROW = "CREATE TABLE narrow (a text PRIMARY KEY); GRANT INSERT ON narrow TO pecia_system"
WIDE = "INSERT INTO narrow SELECT string_agg(md5(n::text), '') FROM generate_series(1, 1000) AS n"


@pytest.fixture
def small_cluster(fresh: ClusterFixture) -> Iterator[Cluster]:
    """One in which few notices may wait to be heard."""
    cluster = fresh.open()
    with psycopg.connect(cluster.conninfo("superuser"), autocommit=True) as connection:
        connection.execute(SMALL)
    anyio.run(cluster.stop)
    cluster = fresh.open()
    with psycopg.connect(cluster.logins.owner) as connection:
        connection.execute(NARROW)
    yield cluster
    anyio.run(cluster.stop)


@pytest.fixture
async def store(small_cluster: Cluster) -> AsyncGenerator[Store]:
    found = Store(small_cluster.logins)
    await found.open()
    yield found
    await found.close()


async def failure(store: Store, statement: LiteralString, times: int = 1) -> PeciaError:
    """The failure that one of so many transactions ends with."""
    try:
        for _ in range(times):
            async with store.system() as tx:
                await tx.execute(statement)
    except PeciaError as error:
        return error
    raise AssertionError("nothing failed")


async def hard_of_hearing(logins: DatabaseLogins) -> AsyncConnection:
    """Somebody who listens and is in the midst of something else."""
    listener = await AsyncConnection.connect(logins.system)
    await listener.execute("LISTEN news")
    await listener.commit()
    await listener.execute("SELECT 1")
    return listener


async def test_notices_that_nobody_hears_are_no_fault_of_what_was_written(store: Store) -> None:
    """The database gives both the same code: a value too large, and a queue that is full."""
    async with await hard_of_hearing(store.logins):
        full = await failure(store, NOTICE, 2 * PAGES)
    large = await failure(store, WIDE)
    causes = [full.__cause__, large.__cause__]
    assert all(isinstance(it, psycopg.errors.ProgramLimitExceeded) for it in causes)
    assert (type(full), is_value_rejected(full)) == (Unavailable, False)
    assert (type(large), is_value_rejected(large)) == (InvalidInput, True)
