"""Folders as they are on a real disk."""

import os
from pathlib import Path

import pytest

from pecia.adapters.connectors.filesystem.scan import (
    FileSelection,
    SymlinkPolicy,
    scan,
    scan_folders,
)
from pecia.kernel.errors import InvalidFormat


def plant(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)


def test_every_file_is_found_under_its_relative_path(tmp_path: Path) -> None:
    plant(tmp_path, "a.md", "deep/er/b.md", "ünïcode/c d.md")
    found = scan(tmp_path, FileSelection())
    assert sorted(found.files) == ["a.md", "deep/er/b.md", "ünïcode/c d.md"]
    assert found.folders == {"", "deep", "deep/er", "ünïcode"}
    assert found.files["a.md"].size_bytes == 4


def test_only_what_is_included_and_not_excluded_counts(tmp_path: Path) -> None:
    plant(tmp_path, "a.md", "a.txt", "draft/b.md", "node_modules/x/c.md", "build/d.md", "build2.md")
    selection = FileSelection(
        include=("**/*.md",), exclude=("draft/b.md", "**/node_modules", "build/**")
    )
    found = scan(tmp_path, selection)
    assert sorted(found.files) == ["a.md", "build2.md"]
    assert found.folders == {"", "draft"}


@pytest.mark.parametrize("path", ["draft/b.md", "node_modules/x/c.md", "build/d.md", "build"])
def test_one_path_is_judged_as_the_scan_judges_it(path: str) -> None:
    selection = FileSelection(exclude=("draft/b.md", "**/node_modules", "build/**"))
    assert selection.admits(path) is (path == "build")


def test_folders_of_programs_are_left_out_unless_they_are_included(tmp_path: Path) -> None:
    """The address of a remote may hold a password."""
    plant(tmp_path, "a.md", ".git/config", "deep/.git/HEAD", ".pecia/history/x", ".github/ci.md")
    assert sorted(scan(tmp_path, FileSelection()).files) == [".github/ci.md", "a.md"]
    beside = FileSelection(include=("**", ".github/**"))
    assert sorted(scan(tmp_path, beside).files) == [".github/ci.md", "a.md"]
    asked = scan(tmp_path, FileSelection(include=(".git/**",)))
    assert sorted(asked.files) == [".git/config"]


def test_links_are_passed_over_unless_they_are_asked_for(tmp_path: Path) -> None:
    plant(tmp_path, "real/a.md")
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    (tmp_path / "b.md").symlink_to(tmp_path / "real/a.md")
    assert sorted(scan(tmp_path, FileSelection()).files) == ["real/a.md"]
    followed = scan(tmp_path, FileSelection(links=SymlinkPolicy.INSIDE))
    assert sorted(followed.files) == ["alias/a.md", "b.md", "real/a.md"]
    assert followed.folders == {"", "real"}


def test_a_link_out_of_the_folder_is_never_followed(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    plant(outside, "secret.md")
    plant(root, "a.md")
    (root / "door").symlink_to(outside)
    (root / "window.md").symlink_to(outside / "secret.md")
    (root / "up").symlink_to("..")
    found = scan(root, FileSelection(links=SymlinkPolicy.INSIDE))
    assert sorted(found.files) == ["a.md"]
    assert set(found.skipped.values()) == {"the link leaves the folder"}


def test_links_that_lead_in_circles_end(tmp_path: Path) -> None:
    plant(tmp_path, "a/x.md", "b/y.md")
    (tmp_path / "a/self").symlink_to(tmp_path / "a")
    (tmp_path / "a/to-b").symlink_to(tmp_path / "b")
    (tmp_path / "b/to-a").symlink_to(tmp_path / "a")
    (tmp_path / "broken").symlink_to("nowhere")
    found = scan(tmp_path, FileSelection(links=SymlinkPolicy.INSIDE))
    assert sorted(found.files) == ["a/to-b/y.md", "a/x.md", "b/to-a/x.md", "b/y.md"]
    assert found.skipped["a/self"] == "the link leads back to itself"
    assert found.skipped["b/to-a/to-b"] == "a link behind a link"
    assert found.skipped["broken"] == "no such file or directory"


def test_what_cannot_be_a_file_of_ours_is_refused_with_a_reason(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / os.fsdecode(b"x\xe9.md")).touch()
    found = scan(tmp_path, FileSelection())
    assert found.files == {}
    assert found.skipped == {
        "pipe": "not a plain file",
        r"'x\udce9.md'": "the name is not UTF-8",
    }


def test_a_folder_that_is_not_there_is_empty_and_says_why(tmp_path: Path) -> None:
    found = scan(tmp_path / "none", FileSelection())
    assert (found.files, found.skipped) == ({}, {".": "no such file or directory"})


def test_a_bad_pattern_is_refused_at_once() -> None:
    with pytest.raises(InvalidFormat):
        FileSelection(exclude=("/etc/**",))


@pytest.mark.parametrize("part", ["sub", "sub/deep"])
def test_a_folder_that_becomes_a_link_while_it_is_scanned_shows_no_name_behind_it(
    tmp_path: Path, part: str
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    plant(root, "sub/deep/a.md", "sub/b.md")
    plant(outside, "deep/secret.md", "secret.md")
    steps = scan_folders(root, FileSelection())
    found = [next(steps)]
    if part != "sub":
        found.append(next(steps))
    # The way to the last folder is put elsewhere after its name was read.
    (root / "sub").rename(tmp_path / "away")
    (root / "sub").symlink_to(outside)
    found += steps
    assert not any("secret" in it for step in found for it in step.files)
    assert any(part in step.skipped and part in step.uncertain | {"sub"} for step in found)
