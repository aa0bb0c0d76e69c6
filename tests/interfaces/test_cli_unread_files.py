"""Files that could not be read are named by every way of asking, after any crawl."""

import os
from collections.abc import Iterator
from typing import Any, cast

import pytest

from pecia.interfaces.cli.server.client import ServerClient
from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.shell import Shell, opened_shell
from tests.interfaces.test_cli_commands import external

pytestmark = pytest.mark.slow

BROKEN = b"%PDF-1.7\nthis is none\n%%EOF\n"


def ask(shell: Shell, tool: str, **arguments: Any) -> dict[str, Any]:
    return cast(dict[str, Any], ServerClient(shell.lock.url).call(f"/api/v1/{tool}", arguments))


@pytest.fixture(scope="module")
def shell(module_database: DatabaseLogins) -> Iterator[Shell]:
    with opened_shell(external(module_database)) as opened:
        opened.ok("start", opened.folder("notes"), "--detach", "--port", 0)
        yield opened


def test_a_file_that_cannot_be_read_shows_until_it_can(shell: Shell) -> None:
    papers = shell.folder("papers")
    (papers / "good.md").write_text("# Spokes\n")
    (papers / "bad.pdf").write_bytes(BROKEN)
    (papers / "empty.md").write_text("")
    shell.ok("source", "add", "papers", "--folder", papers, "--no-watch")
    for _ in range(2):
        # The second crawl reads nothing, and says the same of the source.
        done = shell.run("source", "crawl", "papers", "--wait", "--json")
        found = done.document
        assert (done.code, found["state"], found["unread"]) == (1, "done", 1)
        assert found["condition"] == "incomplete"
        assert (found["files"], found["indexed"]) == (3, 2)
        assert "1 file could not be read: pecia source unread papers" in done.err
    told = shell.ok("source", "status", "papers")
    assert "pecia source unread papers" in told.out
    [unread] = shell.ok("source", "unread", "papers", "--json").document["files"]
    assert unread["key"] == "bad.pdf"
    stats = shell.ok("source", "stats", "papers", "--json").document
    assert (stats["files"], stats["indexed"], stats["unread_files"]) == (3, 2, 1)
    assert sum(it["files"] for it in stats["unread"]) == 1
    rows = {it["source_id"]: it for it in ask(shell, "lake/list_sources")["sources"]}
    assert (rows["papers"]["condition"], rows["papers"]["unread"]) == ("incomplete", 1)
    doctor = shell.ok("doctor", "--json").document["findings"]
    [of_sources] = [it for it in doctor if it["check"] == "sources"]
    assert (of_sources["state"], "papers" in of_sources["found"]) == ("warn", True)
    assert "papers: 1" in shell.ok("status", "--json").out
    (papers / "bad.pdf").unlink()
    done = shell.run("source", "crawl", "papers", "--wait", "--json")
    assert (done.code, done.document["condition"]) == (0, "up_to_date")
    assert done.document["note"] == ""


def test_a_file_whose_name_is_refused_is_not_called_read(shell: Shell) -> None:
    named = shell.folder("named")
    (named / "good.md").write_text("# Spokes\n")
    (named / os.fsdecode(b"caf\xe9.md")).write_text("# Bells\n")
    shell.ok("source", "add", "named", "--folder", named, "--no-watch")
    done = shell.run("source", "crawl", "named", "--wait", "--json")
    assert (done.code, done.document["unread"]) == (1, 1)
    doctor = shell.ok("doctor", "--json").document["findings"]
    assert "named of tenant" in str([it["found"] for it in doctor if it["check"] == "sources"])
    assert "named: 1" in shell.ok("status", "--json").out
    shell.ok("source", "remove", "named", "--yes")


def test_the_doctor_and_the_status_name_a_source_whose_crawl_failed(shell: Shell) -> None:
    papers = shell.folder("gone")
    shell.ok("source", "add", "gone", "--folder", papers, "--no-watch")
    papers.rmdir()
    crawled = shell.run("source", "crawl", "gone", "--wait")
    assert (crawled.code, "the crawl of 'gone' failed" in crawled.err) == (1, True)
    assert f"the folder {papers} cannot be read: no such file or directory" in crawled.err
    doctor = shell.ok("doctor", "--json").document["findings"]
    [said] = [it for it in doctor if "gone of tenant" in it["found"]]
    assert (said["state"], "the last crawl failed" in said["found"]) == ("warn", True)
    assert "pecia source crawl gone" in said["advice"]
    assert "gone: the folder" in str(shell.ok("status", "--json").document["sources"]["failed"])
    shell.ok("source", "remove", "gone", "--yes")


def test_a_source_at_a_folder_that_is_not_there_is_refused_and_not_made(shell: Shell) -> None:
    nope = shell.root / "nope"
    refused = shell.run("source", "add", "typo", "--folder", nope)
    assert (refused.code, str(nope) in refused.err) == (1, True)
    assert "no such folder" in refused.err
    assert shell.run("source", "add", "typo").code != 0
    assert "typo" not in shell.ok("source", "list", "--json").out
