"""A folder as a source: several small files at once are what each is alone, and never more."""

import errno
import os
from pathlib import Path

import pytest

from pecia.adapters.connectors.filesystem.bounds import ANYWHERE, FolderBounds
from pecia.adapters.connectors.filesystem.scan import (
    FileSelection,
    FolderSnapshot,
    StatStamp,
    SymlinkPolicy,
)
from pecia.adapters.connectors.folder import FolderConnector
from pecia.kernel.corpus.connector import ListedFile, SkippedFile
from pecia.kernel.errors import NotFound, Unavailable

pytestmark = pytest.mark.anyio


async def test_a_handful_holds_the_small_files_and_leaves_out_the_rest(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.md").write_bytes(b"a" * 10)
    (tmp_path / "sub" / "b.md").write_bytes(b"")
    (tmp_path / "large.md").write_bytes(b"x" * 11)
    keys = ["a.md", "sub/b.md", "large.md", "gone.md", "sub"]
    found = await FolderConnector(tmp_path, FileSelection()).read_many(keys, 10)
    assert found == {"a.md": b"a" * 10, "sub/b.md": b""}


@pytest.mark.parametrize("links", SymlinkPolicy)
async def test_a_handful_never_leaves_the_folder_nor_waits_for_a_pipe(
    tmp_path: Path, links: SymlinkPolicy
) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.md").write_text("hidden")
    (inside / "a.md").write_text("plain")
    (inside / "out.md").symlink_to(tmp_path / "secret.md")
    (inside / "in.md").symlink_to(inside / "a.md")
    os.mkfifo(inside / "pipe.md")
    keys = ["a.md", "out.md", "in.md", "pipe.md", "../secret.md"]
    found = await FolderConnector(inside, FileSelection(links=links)).read_many(keys, 100)
    followed = {"in.md": b"plain"} if links is SymlinkPolicy.INSIDE else {}
    assert found == {"a.md": b"plain"} | followed


async def test_everything_is_listed_once_however_deep_it_lies(tmp_path: Path) -> None:
    for key in ("z.md", "a/b/c.md", "a/b.md", "a/b/d/e.md"):
        (tmp_path / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / key).write_text(key)
    os.mkfifo(tmp_path / "a" / "pipe")
    listed = [it async for it in FolderConnector(tmp_path, FileSelection()).listing()]
    seen = sorted(it.key for it in listed if isinstance(it, ListedFile))
    assert seen == ["a/b.md", "a/b/c.md", "a/b/d/e.md", "z.md"]
    assert [it.key for it in listed if isinstance(it, SkippedFile)] == ["a/pipe"]


async def test_a_path_longer_than_can_be_kept_is_passed_over_and_costs_no_other(
    tmp_path: Path,
) -> None:
    # In bytes: what an index holds is counted in them.
    folder = "é" * 120
    deep = "/".join([folder] * 10)
    (tmp_path / deep).mkdir(parents=True)
    (tmp_path / deep / "long.md").write_text("x")
    (tmp_path / "a.md").write_text("x")
    listed = [it async for it in FolderConnector(tmp_path, FileSelection()).listing()]
    assert [it.key for it in listed if isinstance(it, ListedFile)] == ["a.md"]
    [passed] = [it for it in listed if isinstance(it, SkippedFile)]
    assert passed.key.startswith(folder)
    assert passed.reason == "the path is longer than 2000 bytes"


async def test_a_file_from_beyond_all_calendars_is_listed_without_a_time(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x")
    beyond = StatStamp(1, 2**60 * 1000, 1, settled=True)
    found = FolderConnector(tmp_path, FileSelection()).describe("a.md", beyond)
    assert isinstance(found, ListedFile)
    assert found.modified_at is None


@pytest.mark.parametrize(
    ("number", "is_gone"), [(errno.ENOENT, True), (errno.EACCES, False), (errno.EIO, False)]
)
async def test_a_file_that_may_not_be_opened_is_not_told_as_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, is_gone: bool
) -> None:
    (tmp_path / "a.md").write_text("x")

    def refuse(*_: object, **__: object) -> int:
        raise OSError(number, os.strerror(number))

    folder = FolderConnector(tmp_path, FileSelection())
    monkeypatch.setattr("pecia.adapters.connectors.folder.os.open", refuse)
    with pytest.raises(NotFound if is_gone else Unavailable, match="cannot be opened"):
        folder.open_file("a.md")
    assert await folder.read_many(["a.md"], 10) == {}


@pytest.mark.parametrize(("number", "is_sure"), [(errno.EACCES, True), (errno.ESTALE, False)])
def test_a_folder_that_cannot_be_read_for_now_is_told_so(number: int, is_sure: bool) -> None:
    """What lies in it stays known until the folder can be read again."""
    found = FolderSnapshot()
    found.record_failure("sub", OSError(number, os.strerror(number)))
    assert (found.uncertain == set()) is is_sure
    assert found.skipped["sub"] == os.strerror(number).lower()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
async def test_a_hard_link_to_a_file_of_another_owner_is_not_read_for_a_tenant(
    tmp_path: Path,
) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    for folder, uid in ((own, 54_321), (other, 54_322)):
        folder.mkdir()
        (folder / "plain.md").write_text("plain")
        for it in (folder, folder / "plain.md"):
            os.chown(it, uid, uid)
    os.link(other / "plain.md", own / "taken.md")
    os.link(own / "plain.md", own / "again.md")
    given = FolderConnector(own, FileSelection(), FolderBounds((own,)))
    listed = [it async for it in given.listing()]
    assert {it.key for it in listed if isinstance(it, ListedFile)} == {"plain.md", "again.md"}
    [passed] = [it for it in listed if isinstance(it, SkippedFile)]
    assert (passed.key, passed.reason) == ("taken.md", "a hard link to a file of another owner")
    assert await given.stat_many(["taken.md"]) == [passed]
    assert await given.read_many(["taken.md", "again.md"], 100) == {"again.md": b"plain"}
    with pytest.raises(NotFound, match="hard link"):
        given.open_file("taken.md")
    # The owner of a machine may read all of it, and a folder of root alone is trusted.
    assert await FolderConnector(own, FileSelection(), ANYWHERE).read_many(["taken.md"], 9) == {
        "taken.md": b"plain"
    }
    os.chown(own, 0, 0)
    assert await given.read_many(["taken.md"], 100) == {"taken.md": b"plain"}
    own.chmod(0o1777)
    assert await given.read_many(["taken.md"], 100) == {}
