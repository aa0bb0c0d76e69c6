"""A scan kept current by events is the scan of the folder as it is."""

import os
import random
import shutil
import sys
from pathlib import Path

import pytest

from pecia.features.wiki.storage.inotify import MAX_QUEUES
from pecia.features.wiki.storage.scan import SpaceScan, scan_space
from pecia.features.wiki.storage.watched_scan import WatchedScan
from pecia.kernel.errors import Unavailable

NAMES = ("a.md", "a.mdx", "A.MD", "b.md", "p.png", ".hidden.md", "x.pecia-tmp", "c.txt")
FOLDERS = ("", "d", "d/e", "f", "node_modules", "f/g")


def facts(found: SpaceScan) -> tuple[object, ...]:
    others = sorted(found.other_files)
    return found.documents, found.stamps, others, found.refused, found.linked, found.rules.keys()


@pytest.mark.parametrize("seed", range(20))
def test_any_sequence_of_changes_leads_to_what_a_full_scan_finds(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    watched = WatchedScan(root)
    for step in range(120):
        _change(dice, root, outside, step)
        if dice.random() < 0.6:
            assert facts(watched.refresh().scan) == facts(scan_space(root))
    assert facts(watched.refresh().scan) == facts(scan_space(root))


def _change(dice: random.Random, root: Path, outside: Path, step: int) -> None:
    folder = root / dice.choice(FOLDERS)
    file = folder / dice.choice(NAMES)
    kind = dice.randrange(12)
    if kind < 4:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(f"text {step}", encoding="utf-8")
    elif kind < 7:
        _change_folder(kind, root, folder, outside / f"gone{step}")
    elif kind == 7:
        for it in outside.glob("link*"):
            it.write_text(f"through another name {step}", encoding="utf-8")
    elif kind == 8 and folder.exists():
        rules = dice.choice(("a.*\n", "e/\n", "", "*.png\n!a.md\n"))
        (folder / dice.choice((".gitignore", ".okignore"))).write_text(rules, encoding="utf-8")
    elif file.exists():
        _change_file(kind, file, folder / f"moved{step}.md", outside / f"link{step}")


def _change_folder(kind: int, root: Path, folder: Path, spare: Path) -> None:
    if kind == 4 and folder != root and folder.exists():
        shutil.rmtree(folder)
    elif kind == 5 and folder != root and folder.exists():
        folder.rename(spare)
    elif kind == 6 and not folder.exists() and folder.parent.exists():
        for it in sorted(spare.parent.glob("gone*"))[:1]:
            it.rename(folder)


def _change_file(kind: int, file: Path, spare: Path, link: Path) -> None:
    if kind == 9:
        file.unlink()
    elif kind == 10:
        file.rename(spare)
    elif kind == 11:
        os.link(file, link)
        # The link itself makes no event.
        os.utime(file)


@pytest.mark.skipif(sys.platform != "linux", reason="events are those of Linux")
def test_an_unchanged_folder_is_not_listed_again(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.md").write_text("one", encoding="utf-8")
    watched = WatchedScan(tmp_path)
    first = watched.refresh()
    assert first.touched is None
    again = watched.refresh()
    assert (again.scan, again.touched) == (first.scan, frozenset())
    (tmp_path / "d" / "a.md").write_text("two", encoding="utf-8")
    assert watched.refresh().touched == {"d/a.md"}


def test_a_folder_that_is_replaced_is_scanned_anew(tmp_path: Path) -> None:
    root = tmp_path / "above" / "root"
    root.mkdir(parents=True)
    (root / "a.md").write_text("one", encoding="utf-8")
    watched = WatchedScan(root)
    assert watched.refresh().scan.documents == {"a": "a.md"}
    (tmp_path / "above").rename(tmp_path / "former")
    with pytest.raises(Unavailable):
        watched.refresh()
    root.mkdir(parents=True)
    (root / "b.md").write_text("two", encoding="utf-8")
    assert watched.refresh().scan.documents == {"b": "b.md"}


def test_spaces_beyond_the_queues_of_a_process_are_seen_as_they_are_too(tmp_path: Path) -> None:
    before = count_queues()
    spaces = [WatchedScan(tmp_path / str(it)) for it in range(MAX_QUEUES + 2)]
    for it in spaces:
        it.root.mkdir()
        it.refresh()
    assert count_queues() - before <= MAX_QUEUES
    for it in spaces:
        (it.root / "a.md").write_text("words")
        assert "a" in it.refresh().scan.documents
    for it in spaces:
        it.close()
    assert count_queues() == before


def count_queues() -> int:
    """Of this process, those of other tests included."""
    if sys.platform != "linux":
        return 0
    there = [it for it in Path("/proc/self/fd").iterdir() if it.is_symlink()]
    return sum("inotify" in str(it.readlink()) for it in there)
