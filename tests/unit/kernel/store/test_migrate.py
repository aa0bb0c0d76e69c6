"""Which databases are migrated, and which are refused as they are."""

from typing import LiteralString

import psycopg
import pytest

from pecia.kernel.errors import Conflict
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.store.migrate import KERNEL_SCHEMA, list_migrations, migrate

pytestmark = pytest.mark.anyio

# What a database of the time before 0.1 has: other files under the same part.
DEVELOPMENT = """
CREATE SCHEMA kernel;
CREATE TABLE kernel.migration (
    part text, name text, sha256 text, applied_at timestamptz DEFAULT now(),
    PRIMARY KEY (part, name));
INSERT INTO kernel.migration (part, name, sha256) VALUES
    ('kernel', '0001_pre_identity.sql', 'a'), ('kernel', '0015_pre_leases.sql', 'b');
"""
TABLES = "SELECT count(*) FROM pg_class WHERE relnamespace = 'kernel'::regnamespace"


def run(conninfo: str, statement: LiteralString) -> list[tuple[object, ...]]:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


async def test_an_empty_database_gets_every_file_and_then_nothing(
    empty_database: DatabaseLogins,
) -> None:
    known = list_migrations([KERNEL_SCHEMA])
    assert await migrate(empty_database.owner, [KERNEL_SCHEMA]) == known
    assert await migrate(empty_database.owner, [KERNEL_SCHEMA]) == []


async def test_a_database_of_a_development_version_is_refused_and_left_as_it_is(
    empty_database: DatabaseLogins,
) -> None:
    run(empty_database.owner, DEVELOPMENT)
    before = run(empty_database.owner, TABLES)
    with pytest.raises(Conflict) as refused:
        await migrate(empty_database.owner, [KERNEL_SCHEMA])
    assert "development version" in refused.value.message
    assert "kernel/0001_pre_identity.sql" in refused.value.message
    assert "use an empty database" in refused.value.message
    assert run(empty_database.owner, TABLES) == before


async def test_a_newer_database_is_refused_and_asks_for_a_newer_program(
    empty_database: DatabaseLogins,
) -> None:
    await migrate(empty_database.owner, [KERNEL_SCHEMA])
    run(
        empty_database.owner,
        "INSERT INTO kernel.migration (part, name, sha256)"
        " VALUES ('kernel', '9999_later.sql', 'c')",
    )
    with pytest.raises(Conflict, match=r"newer than this Pecia: it has kernel/9999_later\.sql"):
        await migrate(empty_database.owner, [KERNEL_SCHEMA])


async def test_a_file_that_changed_after_it_was_applied_is_refused(
    empty_database: DatabaseLogins,
) -> None:
    await migrate(empty_database.owner, [KERNEL_SCHEMA])
    run(
        empty_database.owner,
        "UPDATE kernel.migration SET sha256 = 'other' WHERE name = '0001_identity.sql'",
    )
    with pytest.raises(Conflict, match=r"kernel/0001_identity\.sql changed after it was applied"):
        await migrate(empty_database.owner, [KERNEL_SCHEMA])
