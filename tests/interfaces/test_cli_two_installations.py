"""One folder and two installations, each with a home and a database of its own."""

import subprocess
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from pecia.features.wiki.storage.folder_claim import CLAIM_PATH
from pecia.interfaces.cli.server.lock import folder_lock_path, read_lock
from tests.interfaces.shell import Done, Shell, end_process, opened_shell

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

LIMIT_S = 40


@pytest.fixture
def first() -> Generator[Shell]:
    with opened_shell() as it:
        yield it


@pytest.fixture
def second() -> Generator[Shell]:
    with opened_shell() as it:
        yield it


def append(shell: Shell, space: str, line: str) -> Done:
    words = ("--docName", "log", "--position", "append", "--markdown", line, "--space", space)
    return shell.run("call", "wiki.write_document", *words)


def test_a_folder_is_served_by_one_installation_at_a_time(first: Shell, second: Shell) -> None:
    notes = first.folder("notes")
    subprocess.run(["git", "init", "-q", notes], check=True)
    (notes / "log.md").write_text("# Log\n")
    first.ok("start", notes, "--detach", "--port", 0)
    announced = read_lock(folder_lock_path(notes))
    assert announced == first.lock
    refused = second.run("start", notes, "--port", 0)
    _require_sentence(refused, notes, first)
    # The address of the first is still in the folder, and git sees nothing of the claim.
    assert read_lock(folder_lock_path(notes)) == announced
    assert (notes / CLAIM_PATH).exists()
    seen = subprocess.run(
        ["git", "-C", notes, "status", "--porcelain", "-uall"], capture_output=True, check=True
    )
    assert b"installation" not in seen.stdout
    # A server that runs for another folder is refused the same, and goes on.
    second.ok("start", second.folder("own"), "--detach", "--port", 0)
    _require_sentence(second.run("start", notes), notes, first)
    assert read_lock(folder_lock_path(notes)) == announced
    assert [it["name"] for it in second.ok("space", "list", "--json").document["spaces"]] == ["own"]
    # Killed, it leaves nothing that has to be cleaned up.
    assert append(first, "notes", "one").code == 0
    end_process(first.lock.pid)
    _until_started(second, notes)
    assert append(second, "notes", "two").code == 0
    # Now the second is the one, also for a first that has the folder as a space already.
    _require_sentence(first.run("start", notes, "--port", 0), notes, second)
    first.ok("start", first.folder("other"), "--detach", "--port", 0)
    refused = append(first, "notes", "lost")
    assert (refused.code, str(second.home) in refused.err) == (1, True)
    # A space that is removed is free, while the server goes on.
    second.ok("space", "remove", "notes", "--yes")
    assert append(first, "notes", "three").code == 0
    lines = (notes / "log.md").read_text().split()
    assert [it for it in lines if it in ("one", "two", "three", "lost")] == ["one", "two", "three"]


def _require_sentence(refused: Done, folder: Path, other: Shell) -> None:
    assert refused.code == 1, refused
    stop = f"PECIA_HOME={other.home} pecia stop"
    for part in (str(folder), str(other.home), other.lock.url, stop):
        assert part in refused.err, refused.err


def _until_started(shell: Shell, folder: Path) -> None:
    """The worker of a server that was killed ends a moment later."""
    deadline = time.monotonic() + LIMIT_S
    while shell.run("start", folder).code:
        assert time.monotonic() < deadline
