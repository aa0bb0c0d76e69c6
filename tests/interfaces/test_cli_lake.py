"""The lake from a shell: files are sent, and who searched can be looked up."""

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


def test_files_and_folders_are_sent_under_their_names(shell: Shell) -> None:
    folder = shell.folder("letters")
    (folder / "2026").mkdir()
    (folder / "2026" / "a.md").write_text("first")
    (shell.root / "b.txt").write_text("second")
    shell.ok("source", "add", "inbox", "--protocol", "upload")
    sent = shell.ok("source", "upload", "inbox", folder, "b.txt", "--json").document["files"]
    assert [(it["key"], it["size"]) for it in sent] == [("letters/2026/a.md", 5), ("b.txt", 6)]
    missing = shell.run("source", "upload", "inbox", "nothing.txt", "--json")
    assert missing.code == 1
    assert missing.document["error"]["code"] == "NOT_FOUND"


@pytest.mark.requirement("lake.audit.review")
def test_the_audit_is_listed_and_narrowed_to_a_tool(shell: Shell) -> None:
    shell.ok("call", "search_content", "--query", "brakes", "--mode", "lexical")
    shell.ok("source", "list")
    every = shell.ok("audit", "--json").document["rows"]
    assert {"lake.search_content", "lake.list_sources"} <= {it["tool"] for it in every}
    [row] = shell.ok("audit", "--tool", "search_content", "--json").document["rows"]
    assert (row["tool"], row["interface"]) == ("lake.search_content", "cli")
    assert row["arguments"]["query"] == "brakes"
