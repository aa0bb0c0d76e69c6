"""A write that is killed between its swap and its check loses nothing that a program wrote."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.journal import (
    JournaledFile,
    WriteJournal,
    delete_journal,
    digest,
    read_journal,
    write_journal,
)
from pecia.features.wiki.storage.recovery import RecoveryOutcome, roll_back

# Runs one step of `disk`. At the call of the named function a program writes the file by rename;
# behind it the process is killed.
VICTIM = """
import os, signal, sys
from pathlib import Path
from pecia.features.wiki.storage import disk, posix

root, point, act, path = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
module = posix if point == "exchange" else os
step = getattr(module, point)

def trapped(*args, **named):
    setattr(module, point, step)
    if "theirs" in sys.argv:
        (root / ".swp").write_bytes(b"known, and p64 p65")
        os.replace(root / ".swp", root / path)
    step(*args, **named)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(module, point, trapped)
if act == "replace":
    disk.replace(root, path, b"ours", b"known")
else:
    disk.remove_known(root, path, b"known")
"""


def killed(root: Path, *words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", VICTIM, str(root), *words], check=False, timeout=60
    )
    assert done.returncode == -signal.SIGKILL


def recover(root: Path) -> RecoveryOutcome:
    journal = read_journal(root, "")
    assert journal is not None
    outcome = roll_back(root, journal)
    assert roll_back(root, journal).edited == outcome.edited, "it can be repeated"
    delete_journal(root)
    return outcome


CUTS = [("exchange", "replace", digest(b"ours")), ("rename", "remove", None)]


@pytest.mark.parametrize(("point", "act", "after"), CUTS)
@pytest.mark.parametrize("path", ["a.md", "in/a.md"])
def test_what_a_program_wrote_before_the_swap_is_put_back(
    tmp_path: Path, point: str, act: str, after: bytes | None, path: str
) -> None:
    disk.write(tmp_path, path, b"known")
    write_journal(tmp_path, "", WriteJournal("1", (), (JournaledFile(path, b"known", after),)))
    killed(tmp_path, point, act, path, "theirs")
    assert not (tmp_path / path).exists() or disk.read(tmp_path, path) == b"ours"
    assert recover(tmp_path).edited == [path]
    assert disk.read(tmp_path, path) == b"known, and p64 p65"
    assert [*(tmp_path / path).parent.glob(".*.pecia-tmp")] == []


@pytest.mark.parametrize(("point", "act", "after"), CUTS)
def test_without_a_program_the_known_text_is_restored(
    tmp_path: Path, point: str, act: str, after: bytes | None
) -> None:
    disk.write(tmp_path, "a.md", b"known")
    # Left by a write before: its part of a text is nobody's.
    stray = tmp_path / f"{disk.temporary_lead('a.md')}00000000.pecia-tmp"
    stray.write_bytes(b"half a te")
    later = tmp_path / "later"
    while not later.exists() or later.stat().st_ctime_ns <= stray.stat().st_ctime_ns:
        later.touch()
    write_journal(tmp_path, "", WriteJournal("1", (), (JournaledFile("a.md", b"known", after),)))
    killed(tmp_path, point, act, "a.md")
    assert recover(tmp_path).edited == []
    assert disk.read(tmp_path, "a.md") == b"known"
