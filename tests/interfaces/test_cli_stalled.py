"""What stands still is seen: a frozen worker, an index behind, a key that is lost."""

import os
import shutil
import signal
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from pecia.kernel.corpus.keyword.directory import IndexDirectory
from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.shell import Shell, opened_shell
from tests.interfaces.test_cli_commands import external

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

LONGEST_S = 90


@pytest.fixture
def shell(database: DatabaseLogins) -> Iterator[Shell]:
    with opened_shell(external(database)) as opened:
        yield opened


def children(pid: int) -> list[int]:
    """Every process below this one."""
    found: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == pid:
            found += [int(stat.parent.name), *children(int(stat.parent.name))]
    return found


@contextmanager
def frozen(shell: Shell) -> Generator[None]:
    """Everything that the server started stands still."""
    stopped = children(shell.lock.pid)
    assert stopped
    signal_each(stopped, signal.SIGSTOP)
    try:
        yield
    finally:
        signal_each(stopped, signal.SIGCONT)


def signal_each(pids: Iterable[int], number: signal.Signals) -> None:
    """One that ended since it was listed needs none: readers of files come and go."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def until(look: Callable[[], Any]) -> Any:
    """What the look gives as soon as it gives something."""
    end = time.monotonic() + LONGEST_S
    while time.monotonic() < end:
        if found := look():
            return found
    raise AssertionError("it was never seen")


def findings(shell: Shell, check: str) -> list[dict[str, Any]]:
    told = shell.run("doctor", "--json").document["findings"]
    return [it for it in told if it["check"] == check]


def started(shell: Shell) -> Path:
    """The folder of a server that has found what is in it."""
    notes = shell.folder("notes")
    (notes / "a.md").write_text("# Heron\n")
    shell.ok("start", notes, "--detach", "--port", 0)
    search = ("call", "lake.search_content", "--query", "heron", "--json")
    until(lambda: shell.ok(*search).document["hits"])
    return notes


def conditions(shell: Shell) -> set[str]:
    sources = shell.ok("source", "list", "--json").document["sources"]
    return {it["condition"] for it in sources if it["condition"] is not None}


def test_a_worker_that_stands_still_is_seen_wherever_one_asks_for_sources(shell: Shell) -> None:
    notes = started(shell)
    assert shell.ok("source", "list", "--json").document["degraded"] == []
    until(lambda: conditions(shell) == {"up_to_date"})
    with frozen(shell):
        (notes / "b.md").write_text("# Another heron\n")
        shell.ok("call", "wiki.write_document", "--args", WRITE)
        [said] = until(lambda: shell.ok("source", "list", "--json").document["degraded"])
        assert "no worker has answered for" in said
        assert conditions(shell) == {"no_worker"}
        [worker] = findings(shell, "worker")
        assert (worker["state"], bool(worker["advice"])) == ("warn", True)
        index, *_ = until(lambda: [it for it in findings(shell, "index") if it["state"] == "warn"])
        assert "behind" in index["found"]
        assert "pecia" in index["advice"]
    assert until(lambda: not shell.ok("source", "list", "--json").document["degraded"])
    assert until(lambda: all(it["state"] == "ok" for it in findings(shell, "index")))


def test_a_crawl_that_waits_for_a_worker_says_so_and_ends_when_one_is_there(shell: Shell) -> None:
    docs = shell.folder("docs")
    (docs / "a.md").write_text("# Heron\n")
    shell.ok("start", shell.folder("notes"), "--detach", "--port", 0)
    shell.ok("source", "add", "docs", "--folder", docs)
    until(lambda: conditions(shell) == {"up_to_date"})
    with frozen(shell):
        until(lambda: conditions(shell) == {"no_worker"})
        with shell.foreground("source", "crawl", "docs", "--wait") as waits:
            assert waits.stderr is not None
            said = waits.stderr.readline()
            assert "no worker runs, so the crawl waits for one. Start one: pecia worker" in said
            for pid in children(shell.lock.pid):
                os.kill(pid, signal.SIGCONT)
            assert waits.wait(LONGEST_S) == 0


def test_a_crawl_is_waited_for_until_keyword_search_finds_its_files(shell: Shell) -> None:
    started(shell)
    docs = shell.folder("docs")
    shell.ok("source", "add", "docs", "--folder", docs)
    until(lambda: conditions(shell) == {"up_to_date"})
    [tenant] = [it for it in (shell.home / "index").iterdir() if it.is_dir()]
    index = IndexDirectory(tenant)
    with index.request_lock():
        held = until(index.lock)
    (docs / "b.md").write_text("# Otter\n")
    with shell.foreground("source", "crawl", "docs", "--wait") as waits:
        assert waits.stderr is not None
        said = waits.stderr.readline()
        assert "the files are read; waiting until keyword search finds them" in said
        found = shell.ok("source", "status", "docs", "--json").document
        assert (found["state"], found["condition"]) == ("done", "indexing")
        assert found["index_lag"] > 0
        assert waits.poll() is None
        held.close()
        assert waits.wait(LONGEST_S) == 0
    search = ("call", "lake.search_content", "--query", "otter", "--mode", "lexical", "--json")
    hits = shell.ok(*search).document["hits"]
    assert [it["key"] for it in hits] == ["b.md"]
    assert shell.ok("source", "status", "docs", "--json").document["condition"] == "up_to_date"


WRITE = '{"docName": "c", "markdown": "a third heron", "position": "replace"}'


def test_an_index_that_cannot_be_made_is_seen(shell: Shell) -> None:
    notes = started(shell)
    [index] = [it for it in (shell.home / "index").iterdir() if it.is_dir()]
    shutil.rmtree(index)
    index.touch()
    (notes / "b.md").write_text("# Otter\n")
    shell.ok("call", "wiki.list_documents", "--json")
    [said] = until(lambda: [it for it in findings(shell, "index") if it["state"] == "warn"])
    assert "stalled" in said["found"] or "behind" in said["found"]
    index.unlink()
    until(lambda: [it["state"] for it in findings(shell, "index")] == ["ok"])


def test_a_secret_whose_key_is_lost_is_named_by_the_list_and_the_doctor(shell: Shell) -> None:
    notes = shell.folder("notes")
    shell.ok("start", notes, "--detach", "--port", 0)
    shell.ok("secret", "set", "there", "--purpose", "upstream", stdin="value\n")
    [kept] = shell.ok("secret", "list", "--json").document["secrets"]
    assert kept["opens"] is True
    assert [it["state"] for it in findings(shell, "secrets")] == ["ok"]
    shell.ok("stop")
    (shell.home / "keys.json").unlink()
    shell.ok("start", notes, "--detach", "--port", 0)
    [lost] = shell.ok("secret", "list", "--json").document["secrets"]
    assert lost["opens"] is False
    [said] = findings(shell, "secrets")
    assert said["state"] == "warn"
    assert "there" in said["found"]
    assert kept["key_id"] in said["found"]
    assert "pecia secret set there --purpose upstream" in said["advice"]
    shell.ok("secret", "set", "there", "--purpose", "upstream", stdin="value\n")
    assert [it["state"] for it in findings(shell, "secrets")] == ["ok"]
