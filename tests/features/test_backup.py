"""A backup of a busy server restores to an equal one; an export holds one tenant and no secret."""

import zipfile
from pathlib import Path

import anyio
import psycopg
import pytest
from psycopg import sql

from pecia.app.app import migration_parts
from pecia.kernel.errors import Conflict, NotFound, Unprocessable
from pecia.kernel.store.backup.dump import back_up
from pecia.kernel.store.backup.export import export_tenant
from pecia.kernel.store.backup.restore import restore
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.store.store import Store
from tests.conftest import House, OpenHouse

pytestmark = pytest.mark.anyio


def quiet(name: str, done: int, of: int) -> None:
    """Nobody watches the progress of a test."""


def contents(conninfo: str) -> dict[str, set[str]]:
    """Every row of every table of ours, as text."""
    with psycopg.connect(conninfo) as connection:
        names = connection.execute(
            "SELECT schemaname, tablename FROM pg_tables WHERE schemaname IN ('kernel', 'jobs')"
            " AND tablename NOT IN ('seal', 'migration')"
        ).fetchall()
        query = sql.SQL("SELECT t::text FROM {} t")
        return {
            f"{in_schema}.{table}": {
                row[0] for row in connection.execute(query.format(sql.Identifier(in_schema, table)))
            }
            for in_schema, table in names
        }


async def furnish(house: House) -> None:
    await house.call(house.ana, "add_source", source_id="s1", protocol="upload")
    await house.call(house.ana, "add_group", name="staff")
    await house.call(house.ana, "add_member", group="staff", user="bo")
    await house.call(
        house.ana, "grant", source_id="s1", to="group:staff", role="writer", folder="a"
    )
    await house.app.audit_log.drain()


async def test_a_restored_database_holds_the_same_rows(
    house: House, empty_database: DatabaseLogins, tmp_path: Path
) -> None:
    await furnish(house)
    backup = tmp_path / "b.zip"
    made = await back_up(house.app.store.logins.system, backup, quiet)
    before = contents(house.app.store.logins.system)
    loaded = await restore(empty_database.owner, backup, migration_parts(), quiet)
    assert loaded == made
    assert contents(empty_database.system) == before
    assert made.rows == sum(map(len, before.values()))


async def test_a_restored_pecia_goes_on_where_the_old_one_was(
    house: House, empty_database: DatabaseLogins, tmp_path: Path, open_house: OpenHouse
) -> None:
    await furnish(house)
    await back_up(house.app.store.logins.system, tmp_path / "b.zip", quiet)
    await restore(empty_database.owner, tmp_path / "b.zip", migration_parts(), quiet)
    async with open_house(empty_database, tmp_path / "home2") as app:
        again = House(app, house.ana, house.bo, house.bo_token)
        listed = await again.call(again.bo, "list_sources")
        assert [it["source_id"] for it in listed["sources"]] == ["s1"]
        await again.call(again.ana, "add_source", source_id="s2", protocol="upload")


async def test_workers_of_the_original_are_none_of_the_copy(
    house: House, empty_database: DatabaseLogins, tmp_path: Path
) -> None:
    with psycopg.connect(house.app.store.logins.owner, autocommit=True) as connection:
        connection.execute("INSERT INTO jobs.procrastinate_workers DEFAULT VALUES")
    await back_up(house.app.store.logins.system, tmp_path / "b.zip", quiet)
    await restore(empty_database.owner, tmp_path / "b.zip", migration_parts(), quiet)
    assert contents(empty_database.system)["jobs.procrastinate_workers"] == set()


async def test_a_backup_taken_while_others_write_is_of_one_moment(
    house: House, empty_database: DatabaseLogins, tmp_path: Path
) -> None:
    async def write(store: Store, stop: anyio.Event) -> None:
        count = 0
        while not stop.is_set():
            # A group and its first member are written together, so they must be found together.
            count += 1
            await house.call(house.ana, "add_group", name=f"g{count}")
            await house.call(house.ana, "add_member", group=f"g{count}", user="bo")

    stop = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(write, house.app.store, stop)
        await back_up(house.app.store.logins.system, tmp_path / "b.zip", quiet)
        stop.set()
    await restore(empty_database.owner, tmp_path / "b.zip", migration_parts(), quiet)
    with psycopg.connect(empty_database.system) as connection:
        row = connection.execute(
            "SELECT (SELECT count(*) FROM kernel.user_group)"
            " - (SELECT count(*) FROM kernel.group_member)"
        ).fetchone()
    assert row is not None
    assert row[0] in (0, 1)


async def test_a_backup_is_not_restored_over_something(house: House, tmp_path: Path) -> None:
    await back_up(house.app.store.logins.system, tmp_path / "b.zip", quiet)
    with pytest.raises(Conflict, match="empty database"):
        await restore(house.app.store.logins.owner, tmp_path / "b.zip", migration_parts(), quiet)


async def test_a_damaged_backup_leaves_the_database_empty(
    house: House, empty_database: DatabaseLogins, tmp_path: Path
) -> None:
    good, bad = tmp_path / "b.zip", tmp_path / "bad.zip"
    await back_up(house.app.store.logins.system, good, quiet)
    with zipfile.ZipFile(good) as source, zipfile.ZipFile(bad, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            target.writestr(name, b"" if name == "tables/kernel.user_account.copy" else content)
    with pytest.raises(Unprocessable, match=r"kernel\.user_account"):
        await restore(empty_database.owner, bad, migration_parts(), quiet)
    assert contents(empty_database.system) == {}


async def test_what_is_no_backup_is_said_to_be_none(
    tmp_path: Path, empty_database: DatabaseLogins
) -> None:
    with pytest.raises(NotFound):
        await restore(empty_database.owner, tmp_path / "none.zip", migration_parts(), quiet)
    (tmp_path / "b.zip").write_bytes(b"hello")
    with pytest.raises(Unprocessable):
        await restore(empty_database.owner, tmp_path / "b.zip", migration_parts(), quiet)


async def test_an_export_holds_one_tenant_and_no_hash(house: House, tmp_path: Path) -> None:
    async with house.app.store.system() as tx:
        await tx.execute("SELECT kernel.create_tenant('other')")
    counts = await export_tenant(house.app.store.logins.system, "local", tmp_path / "e.zip", quiet)
    assert counts["kernel.tenant"] == 1
    assert counts["kernel.user_account"] == 2
    with zipfile.ZipFile(tmp_path / "e.zip") as file:
        everything = b"".join(file.read(it) for it in file.namelist())
    assert b'"name": "bo"' in everything
    assert b"other" not in everything
    assert b'"hash"' not in everything
