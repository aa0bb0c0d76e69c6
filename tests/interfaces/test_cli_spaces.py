"""Spaces of a team's server from the shell, with the token of a tenant's administrator."""

import signal
from collections.abc import Generator

import pytest

from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.shell import Shell, opened_shell
from tests.interfaces.test_cli_commands import external

pytestmark = pytest.mark.slow


@pytest.fixture
def shell(database: DatabaseLogins) -> Generator[Shell]:
    with opened_shell(external(database)) as it:
        yield it


def test_an_administrator_keeps_spaces_of_a_server(shell: Shell) -> None:
    root = shell.folder("disk/acme")
    config = shell.root / "spaces.yml"
    config.write_text("mode: server\nport: 0\n")
    made = shell.ok(
        "--config", config, "tenant", "add", "team", "--admin", "ana", "--json"
    ).document
    env = {"PECIA_TOKEN": made["token"]}
    operate = ("--config", config, "tenant")
    with shell.foreground("serve", "--config", config) as server:
        assert server.stdout is not None
        assert "is at" in server.stdout.readline()
        early = shell.run("space", "add", "handbook", env=env)
        assert (early.code, "--space-root" in early.err) == (1, True)
        # While the server runs, and in effect at once.
        given = shell.ok(*operate, "allow", "team", "--space-root", "~/disk/acme", "--json")
        assert given.document["space_roots"] == [str(root)]
        shell.ok(*operate, "add", "beta")
        taken = shell.run(*operate, "allow", "beta", "--space-root", root / "x")
        assert (taken.code, "'team'" in taken.err) == (1, True)
        read = shell.run(*operate, "allow", "beta", "--folder", root.parent)
        assert (read.code, f"{root} is a space root of 'team'" in read.err) == (1, True)
        added = shell.ok("space", "add", "handbook", "--json", env=env).document
        assert (added["name"], added["folder"]) == ("handbook", str(root / "handbook"))
        write = ("--docName", "a", "--markdown", "alpha", "--position", "replace")
        shell.ok("call", "wiki.write_document", *write, env=env)
        assert (root / "handbook/a.md").read_text() == "alpha"
        shell.ok("space", "rename", "handbook", "guide", env=env)
        shell.ok("space", "set", "guide", "--enabled", "false", env=env)
        [listed] = shell.ok("space", "list", "--json", env=env).document["spaces"]
        assert (listed["name"], listed["enabled"]) == ("guide", False)
        refused = shell.run("space", "add", "/etc", env=env)
        assert (refused.code, "--space-root" in refused.err) == (1, True)
        shell.ok("space", "remove", "guide", "--yes", env=env)
        assert shell.ok("space", "list", "--json", env=env).document["spaces"] == []
        assert (root / "handbook/a.md").exists()
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=30) == 0
