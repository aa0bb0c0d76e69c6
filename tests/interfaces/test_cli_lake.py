"""The lake from a shell: files are sent, and who searched can be looked up."""

import os
from collections.abc import Iterator

import pytest

from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.shell import Shell, opened_shell
from tests.interfaces.test_cli_commands import external
from tests.interfaces.test_cli_stalled import until

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


def test_two_files_that_would_replace_each_other_are_refused_before_any_is_sent(
    shell: Shell,
) -> None:
    for name in ("north", "south"):
        (shell.folder(name) / "plan.md").write_text(name)
    shell.ok("source", "add", "inbox", "--protocol", "upload")
    done = shell.run("source", "upload", "inbox", "north/plan.md", "south/plan.md")
    assert done.code == 1
    assert "north/plan.md and south/plan.md would both be plan.md" in done.err
    assert "nothing was sent" in done.err
    named = ("north", "south", "north/plan.md", "north/plan.md")
    sent = shell.ok("source", "upload", "inbox", *named, "--json").document["files"]
    assert [it["key"] for it in sent] == ["north/plan.md", "south/plan.md", "plan.md"]


def test_a_file_that_is_refused_is_named_with_how_many_were_sent(shell: Shell) -> None:
    (shell.root / "a.md").write_text("first")
    with (shell.root / "b.bin").open("wb") as large:
        large.truncate(20_000_000)
    (shell.root / "c.md").write_text("third")
    shell.ok("source", "add", "inbox", "--protocol", "upload")
    shell.ok("start", shell.folder("notes"), "--port", 0, "--detach", "--no-ask")
    done = shell.run("source", "upload", "inbox", "a.md", "b.bin", "c.md")
    assert done.code == 1
    assert "b.bin: " in done.err
    assert "sent: 1 of 3" in done.err
    # A worker reads it.
    until(lambda: _uploaded(shell))
    assert _uploaded(shell) == ["a.md"]


def test_a_name_that_is_not_utf_8_is_named_before_any_file_is_sent(shell: Shell) -> None:
    folder = shell.folder("old")
    (folder / "a.md").write_text("first")
    (folder / os.fsdecode(b"caf\xe9.md")).write_text("second")
    shell.ok("source", "add", "inbox", "--protocol", "upload")
    shell.ok("start", shell.folder("notes"), "--port", 0, "--detach", "--no-ask")
    done = shell.run("source", "upload", "inbox", "old")
    assert done.code == 1
    assert "old/caf\\udce9.md' is not UTF-8" in done.err
    assert _uploaded(shell) == []


@pytest.mark.parametrize("is_served", [False, True])
def test_a_text_that_is_not_utf_8_is_refused_by_the_name_of_its_argument(
    shell: Shell, is_served: bool
) -> None:
    if is_served:
        shell.ok("start", shell.folder("notes"), "--port", 0, "--detach", "--no-ask")
    given = os.fsdecode(b'{"query": "caf\xe9"}')
    done = shell.run("call", "lake.search_content", "--args", given)
    assert done.code in (1, 2)
    assert "query is not UTF-8" in done.err


def _uploaded(shell: Shell) -> list[str]:
    found = shell.ok("call", "lake.list_files", "--source-id", "inbox", "--json").document
    return sorted(it["key"] for it in found["files"])


@pytest.mark.requirement("lake.audit.review")
def test_the_audit_is_listed_and_narrowed_to_a_tool(shell: Shell) -> None:
    shell.ok("call", "search_content", "--query", "brakes", "--mode", "lexical")
    shell.ok("source", "list")
    every = shell.ok("audit", "--json").document["rows"]
    assert {"lake.search_content", "lake.list_sources"} <= {it["tool"] for it in every}
    [row] = shell.ok("audit", "--tool", "search_content", "--json").document["rows"]
    assert (row["tool"], row["interface"]) == ("lake.search_content", "cli")
    assert row["arguments"]["query"] == "brakes"
