"""Connections that the database cut are replaced, and nobody reads of them on a screen."""

import re

import anyio
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from pecia.kernel.store.cluster import Cluster, DatabaseLogins
from tests.interfaces.shell import opened_shell
from tests.interfaces.test_cli_commands import external
from tests.listeners import cut_and_wait

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

CUT = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = %s AND pid <> pg_backend_pid()"
)


def test_a_server_whose_connections_are_cut_says_nothing_of_its_pool(
    database: DatabaseLogins, cluster: Cluster
) -> None:
    name = str(conninfo_to_dict(database.app)["dbname"])
    with (
        opened_shell(external(database)) as shell,
        shell.foreground("start", shell.folder("notes"), "--port", 0) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline()
        with psycopg.connect(cluster.conninfo("superuser", name), autocommit=True) as admin:
            admin.execute(CUT, [name])
        shell.run("call", "whoami")
        shell.ok("call", "whoami")
        process.terminate()
        _, err = process.communicate(timeout=40)
    assert "discarding closed connection" not in err


def test_every_listener_of_an_install_comes_back(
    database: DatabaseLogins, cluster: Cluster
) -> None:
    """Server: identity, MCP. Worker: jobs, keyword index, embeddings."""
    name = str(conninfo_to_dict(database.app)["dbname"])
    with (
        opened_shell(external(database)) as shell,
        shell.foreground("start", shell.folder("notes"), "--port", 0) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline()
        before, after = anyio.run(cut_and_wait, cluster.conninfo("superuser", name), 5)
        process.terminate()
        process.communicate(timeout=40)
    assert after == before
    assert {*re.findall('"(.+?)"', " ".join(before))} == {
        "pecia_identity",
        "pecia_tools",
        "pecia_changes",
        "procrastinate_any_queue_v1",
    }
