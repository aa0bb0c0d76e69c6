"""A deleted tenant leaves no row and no copy behind, whatever interrupts the deletion."""

import os
import pty
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any, LiteralString
from uuid import UUID, uuid4

import anyio
import anyio.to_thread
import psycopg
import pytest

from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.shell import LIMIT_S, Done, Shell, opened_shell
from tests.interfaces.tenant_contents import count_rows, open_filled, search, tenant_id_of
from tests.interfaces.tenant_server import Pecia, bearing
from tests.interfaces.test_cli_commands import external

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(240)]

BLOCKED = """SELECT count(*) FROM pg_stat_activity
              WHERE wait_event_type = 'Lock' AND query LIKE %s"""


@pytest.fixture
def shell(database: DatabaseLogins) -> Iterator[Shell]:
    with opened_shell(external(database)) as made:
        yield made


@pytest.fixture
async def filled(database: DatabaseLogins, shell: Shell) -> AsyncGenerator[Pecia]:
    async with open_filled(database, shell.home, shell.root / "disk") as pecia:
        yield pecia


async def test_nothing_of_a_deleted_tenant_is_left_and_another_is_untouched(
    database: DatabaseLogins, shell: Shell, filled: Pecia
) -> None:
    north, south = tenant_id_of(database, "north"), tenant_id_of(database, "south")
    before, others = count_rows(database, north), count_rows(database, south)
    # A new table must have rows here, or this test says nothing about it.
    assert [table for table, rows in before.items() if not rows] == []
    assert {it.parent.name for it in copies_of(shell.home, north)} == {"index", "repositories"}
    done = await run(shell, "tenant", "delete", "north", "--yes", "--json")
    assert done.code == 0, done.err
    assert f"{before['kernel.file']}  kernel.file" in done.err
    space = shell.root / "disk/north/spaces/notes"
    assert str(space) in done.err
    assert done.document["kept_folders"] == [str(space)]
    assert (space / "b.md").read_text() == "beta\n"
    assert rows_left(database, north) == {}
    assert count_rows(database, south) == others
    assert await search(filled, "south", "heron") == ["plan.md"]
    await expect_no_copies(shell.home, north)
    assert copies_of(shell.home, south)
    refused = await filled.call("admin/whoami")
    assert refused.status_code == 401
    assert deletions(database) == [
        ("tenant.begin_delete", "north", str(north), sum(before.values())),
        ("tenant.delete", "north", str(north), done.document["deleted_rows"]),
    ]


async def test_a_name_can_be_used_again_and_nothing_of_the_old_tenant_is_seen(
    database: DatabaseLogins, shell: Shell, filled: Pecia
) -> None:
    old = tenant_id_of(database, "north")
    assert (await run(shell, "tenant", "delete", "north", "--yes")).code == 0
    made = (await run(shell, "tenant", "add", "north", "--admin", "ana", "--json")).document
    assert made["id"] != str(old)
    who = bearing(made["token"])
    for tool, field in (
        ("lake/list_sources", "sources"),
        ("hub/list_servers", "servers"),
        ("admin/list_groups", "groups"),
        ("admin/list_secrets", "secrets"),
    ):
        assert (await filled.call(tool, {}, who)).json()[field] == [], tool
    users = (await filled.call("admin/list_users", {}, who)).json()["users"]
    assert [it["name"] for it in users] == ["ana"]
    again = await run(shell, "tenant", "delete", "nobody", "--yes")
    assert (again.code, "pecia tenant list" in again.err) == (1, True)


async def test_a_deletion_that_is_killed_is_listed_and_the_next_run_finishes_it(
    database: DatabaseLogins, shell: Shell, filled: Pecia
) -> None:
    north, south = tenant_id_of(database, "north"), tenant_id_of(database, "south")
    before, others = count_rows(database, north), count_rows(database, south)
    with psycopg.connect(database.system) as holding:
        holding.execute("SELECT 1 FROM kernel.user_group WHERE tenant_id = %s FOR UPDATE", [north])
        with shell.foreground("tenant", "delete", "north", "--yes") as deleting:
            await expect_blocked(database)
            deleting.kill()
    left = count_rows(database, north)
    assert left["kernel.file"] == 0
    assert left["kernel.user_group"] == before["kernel.user_group"]
    assert (await filled.call("admin/whoami")).status_code == 401
    tenants = (await run(shell, "tenant", "list", "--json")).document["tenants"]
    assert {it["name"]: (it["status"], it.get("next")) for it in tenants} == {
        "north": ("deleting", "pecia tenant delete north"),
        "south": ("active", None),
    }
    for words in (("add", "north"), ("resume", "north"), ("suspend", "north")):
        refused = await run(shell, "tenant", *words)
        assert (refused.code, "pecia tenant delete north" in refused.err) == (1, True), words
    done = await run(shell, "tenant", "delete", "north", "--yes")
    assert done.code == 0, done.err
    assert rows_left(database, north) == {}
    assert count_rows(database, south) == others
    await expect_no_copies(shell.home, north)
    assert [it[0] for it in deletions(database)] == [
        "tenant.begin_delete",
        "tenant.begin_delete",
        "tenant.delete",
    ]


async def test_a_row_that_others_update_meanwhile_is_deleted_all_the_same(
    database: DatabaseLogins, shell: Shell, filled: Pecia
) -> None:
    """As an indexer does that follows the deletion: a row is passed over while it is updated, also
    when it is the last one."""
    north = tenant_id_of(database, "north")
    touch = "UPDATE kernel.index_node SET seen_at = now() WHERE tenant_id = %s"
    with psycopg.connect(database.system) as first, psycopg.connect(database.system) as then:
        first.execute(touch, [north])
        with shell.foreground("tenant", "delete", "north", "--yes") as deleting:
            await expect_blocked(database)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run_query, then, touch, north)
                await expect_blocked(database, "%index_node SET seen_at%")
                first.commit()
            # Passed over once, it is now the only one that is left.
            await expect_blocked(database)
            then.commit()
            assert await anyio.to_thread.run_sync(deleting.wait, LIMIT_S) == 0
    assert rows_left(database, north) == {}


async def test_a_worker_on_another_machine_removes_its_copies_of_a_deleted_tenant(
    database: DatabaseLogins, shell: Shell
) -> None:
    shell.ok("tenant", "add", "acme")
    config = shell.root / "pecia.yml"
    config.write_text("mode: server\n")
    here, gone = tenant_id_of(database, "acme"), uuid4()
    for tenant_id in (here, gone):
        (shell.home / "repositories" / str(tenant_id) / "copy").mkdir(parents=True)
    with shell.foreground("worker", "--config", config):
        await expect_no_copies(shell.home, gone)
    assert copies_of(shell.home, here)


async def test_without_the_name_typed_again_nothing_is_deleted(
    database: DatabaseLogins, shell: Shell
) -> None:
    shell.ok("tenant", "add", "acme")
    acme = tenant_id_of(database, "acme")
    before = count_rows(database, acme)
    refused = shell.run("tenant", "delete", "acme", stdin="acme\n")
    assert refused.code == 1
    assert "pecia tenant delete acme --yes" in refused.err
    code, said = typed(shell, "acne", "tenant", "delete", "acme")
    assert (code, "type acme" in said) == (1, True), said
    assert count_rows(database, acme) == before
    code, said = typed(shell, "acme", "tenant", "delete", "acme")
    assert code == 0, said
    assert tenant_id_of(database, "acme") is None


async def run(shell: Shell, *words: object) -> Done:
    """One command, while the server of the test goes on."""
    return await anyio.to_thread.run_sync(lambda: shell.run(*words))


async def run_query(connection: psycopg.Connection, query: LiteralString, tenant: UUID) -> None:
    """In a thread: it waits for a row that the test holds."""
    await anyio.to_thread.run_sync(lambda: connection.execute(query, [tenant]))


def typed(shell: Shell, line: str, *words: str) -> tuple[int, str]:
    """One command in a terminal, in which somebody types a line; its exit code and its output."""
    ours, theirs = pty.openpty()
    environ = {"PATH": os.environ["PATH"], "HOME": str(shell.root), "PECIA_HOME": str(shell.home)}
    with subprocess.Popen(
        [sys.executable, "-m", "pecia", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env={**environ, **shell.env},
        cwd=shell.root,
        text=True,
    ) as process:
        os.close(theirs)
        os.write(ours, f"{line}\n".encode())
        _, said = process.communicate(timeout=50)
    os.close(ours)
    return process.returncode, said


def rows_left(database: DatabaseLogins, tenant_id: UUID) -> dict[str, int]:
    return {table: rows for table, rows in count_rows(database, tenant_id).items() if rows}


def copies_of(home: Path, tenant_id: UUID) -> list[Path]:
    """The folders of a tenant in a home."""
    return [*home.rglob(str(tenant_id))]


async def expect_no_copies(home: Path, tenant_id: UUID) -> None:
    """The indexer of the test removes the index that it had open."""
    with anyio.fail_after(30):
        while copies_of(home, tenant_id):  # noqa: ASYNC110
            await anyio.sleep(0.05)


async def expect_blocked(database: DatabaseLogins, query: str = "%delete_tenant_rows%") -> None:
    """The deletion, or another query, has come to the row that the test holds."""
    with psycopg.connect(database.system, autocommit=True) as connection, anyio.fail_after(40):
        while connection.execute(BLOCKED, [query]).fetchone() == (0,):  # noqa: ASYNC110
            await anyio.sleep(0.05)


def deletions(database: DatabaseLogins) -> list[tuple[Any, ...]]:
    """What the audit log says of deletions, among the rows that belong to no tenant."""
    with psycopg.connect(database.system) as connection:
        return connection.execute(
            "SELECT tool, arguments->>'tenant', arguments->>'id', (arguments->>'rows')::bigint"
            " FROM kernel.audit WHERE tenant_id IS NULL AND status = 'ok'"
            " AND tool IN ('tenant.begin_delete', 'tenant.delete') ORDER BY at"
        ).fetchall()
