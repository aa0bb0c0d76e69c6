"""A write that is killed between its swap and its check loses nothing that a program wrote."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.journal import (
    JournaledFile,
    JournaledMove,
    JournaledOther,
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

def write(body):
    (root / ".swp").write_bytes(body)
    os.replace(root / ".swp", root / path)

def trapped(*args, **named):
    setattr(module, point, step)
    if "before" in sys.argv:
        os.kill(os.getpid(), signal.SIGKILL)
    if "theirs" in sys.argv:
        write(b"known, and p64 p65")
    step(*args, **named)
    if "again" in sys.argv:
        write(b"ours, and p66")
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


def journal_change(root: Path, path: str, after: bytes | None) -> None:
    """That the file will be written. Other files than documents are journaled without texts."""
    if path.endswith(".md"):
        journal = WriteJournal("1", files=(JournaledFile(path, b"known", after),))
    else:
        journal = WriteJournal("1", others=(JournaledOther(path, digest(b"known"), after),))
    write_journal(root, "", journal)


def list_hidden(root: Path) -> list[Path]:
    return [it for it in root.rglob(".*") if it.is_file() and ".pecia" not in it.parts]


CUTS = [("exchange", "replace", digest(b"ours")), ("rename", "remove", None)]
PATHS = ["a.md", "in/a.md", "a.png", "in/Makefile"]


@pytest.mark.parametrize(("point", "act", "after"), CUTS)
@pytest.mark.parametrize("path", PATHS)
def test_what_a_program_wrote_before_the_swap_is_put_back(
    tmp_path: Path, point: str, act: str, after: bytes | None, path: str
) -> None:
    disk.write(tmp_path, path, b"known")
    journal_change(tmp_path, path, after)
    killed(tmp_path, point, act, path, "theirs")
    assert not (tmp_path / path).exists() or disk.read(tmp_path, path) == b"ours"
    assert recover(tmp_path).edited == ([path] if path.endswith(".md") else [])
    assert disk.read(tmp_path, path) == b"known, and p64 p65"
    assert list_hidden(tmp_path) == []


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("words", [("before",), ()])
@pytest.mark.parametrize(("point", "act", "after"), CUTS)
def test_nothing_of_ours_is_left_under_a_temporary_name(
    tmp_path: Path, point: str, act: str, after: bytes | None, words: tuple[str, ...], path: str
) -> None:
    disk.write(tmp_path, path, b"known")
    journal_change(tmp_path, path, after)
    killed(tmp_path, point, act, path, *words)
    assert recover(tmp_path).edited == []
    assert disk.read(tmp_path, path) == b"known"
    assert list_hidden(tmp_path) == []


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("point", "act", "after"), CUTS)
def test_of_two_programs_that_wrote_within_a_swap_both_texts_are_there(
    tmp_path: Path, point: str, act: str, after: bytes | None, path: str
) -> None:
    disk.write(tmp_path, path, b"known")
    journal_change(tmp_path, path, after)
    killed(tmp_path, point, act, path, "theirs", "again")
    journal = read_journal(tmp_path, "")
    assert journal is not None
    roll_back(tmp_path, journal)
    there = {it.name: it.read_bytes() for it in (tmp_path / path).parent.iterdir() if it.is_file()}
    name = Path(path)
    kept = f"{name.stem} (recovered){name.suffix}"
    assert there == {name.name: b"ours, and p66", kept: b"known, and p64 p65"}


def test_what_a_program_wrote_to_a_document_that_moved_is_put_back(tmp_path: Path) -> None:
    disk.write(tmp_path, "a.md", b"known")
    journal = WriteJournal(
        "1",
        (JournaledMove("a.md", "in/b.md"),),
        (JournaledFile("a.md", b"known", digest(b"ours")),),
    )
    write_journal(tmp_path, "", journal)
    disk.move(tmp_path, "a.md", "in/b.md")
    killed(tmp_path, "exchange", "replace", "in/b.md", "theirs")
    assert recover(tmp_path).edited == ["a.md"]
    assert disk.read(tmp_path, "a.md") == b"known, and p64 p65"
    assert list_hidden(tmp_path) == []
    assert not (tmp_path / "in").exists()


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
