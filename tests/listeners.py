"""Cutting the LISTEN connections of a database, and waiting for them to return."""

from collections import Counter

import anyio
import psycopg

FIND = """
SELECT pid, query FROM pg_stat_activity
 WHERE datname = current_database() AND query LIKE 'LISTEN%%' AND pid <> ALL (%(but)s)
"""


async def cut_listeners(conninfo: str, count: int) -> Counter[str]:
    """Terminate the backends of so many listeners, once there are as many: what each listens to."""
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        found = await _wait_for(connection, count, [])
        for pid in found:
            await connection.execute("SELECT pg_terminate_backend(%s)", [pid])
    return Counter(found.values())


async def cut_and_wait(conninfo: str, count: int) -> tuple[Counter[str], Counter[str]]:
    """What was listened to before the cut, and what by other backends after it."""
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        before = await _wait_for(connection, count, [])
        for pid in before:
            await connection.execute("SELECT pg_terminate_backend(%s)", [pid])
        after = await _wait_for(connection, count, [*before])
    return Counter(before.values()), Counter(after.values())


async def _wait_for(
    connection: psycopg.AsyncConnection, count: int, but: list[int]
) -> dict[int, str]:
    with anyio.fail_after(60):
        while True:
            cursor = await connection.execute(FIND, {"but": but})
            found: dict[int, str] = dict(await cursor.fetchall())
            if len(found) >= count:
                return found
            await anyio.sleep(0.02)
