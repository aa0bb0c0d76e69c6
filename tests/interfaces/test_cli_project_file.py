"""A project's file with keys that nobody knows, or with a wrong value, at the start of a server."""

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


def test_an_unknown_key_is_a_warning_and_a_wrong_value_an_error(shell: Shell) -> None:
    notes = shell.folder("notes")
    file = shell.folder("notes/.pecia") / "config.yml"
    file.write_text("# ours\nfoldesr: []\nmcp:\n  autoStart: perhaps\n")
    refused = shell.run("start", notes, "--detach", "--port", 0, "--json")
    assert refused.code == 1
    assert "mcp_autostart" in refused.document["error"]["message"]
    assert "expected" in refused.document["error"]["message"]
    file.write_text("# ours\nfoldesr: []\nmcp:\n  autoStart: true\n")
    done = shell.ok("start", notes, "--detach", "--port", 0, "--json")
    assert done.document["space"]["name"] == "notes"
    assert f"warning: {file}:2: `foldesr` is not a setting; did you mean `folders`?" in done.err
