"""Upstream servers from a shell: what is added and cannot be used is said."""

from collections.abc import Iterator

import pytest

from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.shell import Shell, opened_shell
from tests.interfaces.test_cli_commands import external

pytestmark = pytest.mark.slow


@pytest.fixture
def shell(database: DatabaseLogins) -> Iterator[Shell]:
    with opened_shell(external(database)) as made:
        yield made


def test_a_program_that_is_not_there_is_added_with_a_warning(shell: Shell) -> None:
    added = shell.ok("hub", "add", "made", "--command", "/no/such/program", "--yes")
    assert "warning: 'made' is stored, but none of its tools can be called" in added.err
    assert "/no/such/program cannot be started" in added.err
    assert "pecia hub check made" in added.err
    checked = shell.ok("hub", "check", "made", "--json").document
    assert checked["state"] == "down"
    assert checked["degraded"][0].startswith("'made' is down: none of its tools")
