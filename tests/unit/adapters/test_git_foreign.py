"""Repositories that others made, some of them to hurt."""

from pathlib import Path

import pygit2
import pytest
from pygit2.enums import FileMode, ObjectType

from pecia.adapters.git.repository import GitReadLimits, Repository
from pecia.kernel.errors import NotFound, PayloadTooLarge, Unprocessable

pytestmark = pytest.mark.anyio

SOMEBODY = pygit2.Signature("somebody", "s@example.com", 1_700_000_000, 0)


@pytest.fixture
def foreign(tmp_path: Path) -> pygit2.Repository:
    return pygit2.init_repository(str(tmp_path / "foreign"), bare=True, initial_head="main")


def raw_tree(repository: pygit2.Repository, *entries: tuple[int, bytes, pygit2.Oid]) -> pygit2.Oid:
    """A tree written byte by byte, as no honest program would."""
    raw = b"".join(b"%o %s\0" % (mode, name) + bytes(oid.raw) for mode, name, oid in entries)
    return repository.odb.write(ObjectType.TREE, raw)


def commit_tree(repository: pygit2.Repository, tree: pygit2.Oid) -> Repository:
    raw = f"tree {tree}\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nm\n".encode()
    oid = repository.odb.write(ObjectType.COMMIT, raw)
    repository.references.create("refs/heads/main", oid)
    return Repository(Path(repository.path), GitReadLimits(entries=1000, file_bytes=1000))


async def test_links_submodules_and_odd_paths_are_refused_with_a_reason(
    foreign: pygit2.Repository,
) -> None:
    blob = foreign.create_blob(b"/etc/passwd")
    inner = raw_tree(foreign, (FileMode.BLOB, b"config", blob))
    tree = raw_tree(
        foreign,
        (FileMode.TREE, b"..", inner),
        (FileMode.TREE, b".GIT", inner),
        (FileMode.BLOB, b"a.md", blob),
        (FileMode.BLOB, b"x\xe9.md", blob),
        (FileMode.LINK, b"link.md", blob),
        (FileMode.BLOB_EXECUTABLE, b"run.sh", blob),
        (FileMode.COMMIT, b"sub", pygit2.Oid(hex="1" * 40)),
    )
    repository = commit_tree(foreign, tree)
    listing = await repository.tree("main")
    assert [(it.path, it.executable) for it in listing.files] == [("a.md", False), ("run.sh", True)]
    assert {path: reason.split()[-1] for path, reason in listing.skipped.items()} == {
        "..": "..",
        ".GIT": ".git",
        "x?.md": "UTF-8",
        "link.md": "link",
        "sub": "submodule",
    }
    with pytest.raises(NotFound):
        await repository.read("main", "link.md")


async def test_a_few_trees_that_mean_billions_of_files_are_refused(
    foreign: pygit2.Repository,
) -> None:
    tree = raw_tree(foreign, (FileMode.BLOB, b"a", foreign.create_blob(b"x")))
    for _ in range(10):
        tree = raw_tree(foreign, *((FileMode.TREE, b"%d" % n, tree) for n in range(10)))
    with pytest.raises(Unprocessable):
        await commit_tree(foreign, tree).tree("main")


async def test_a_huge_blob_is_listed_with_its_size_and_not_read(foreign: pygit2.Repository) -> None:
    blob = foreign.create_blob(bytes(1_000_000))
    repository = commit_tree(foreign, raw_tree(foreign, (FileMode.BLOB, b"big", blob)))
    assert (await repository.tree("main")).files[0].size_bytes == 1_000_000
    with pytest.raises(PayloadTooLarge):
        await repository.read("main", "big")


async def test_a_commit_whose_objects_are_missing_is_an_error_in_our_words(
    foreign: pygit2.Repository,
) -> None:
    missing = pygit2.Oid(hex="2" * 40)
    entries = ((FileMode.BLOB, b"a", missing), (FileMode.TREE, b"b", missing))
    repository = commit_tree(foreign, raw_tree(foreign, *entries))
    for call in (
        repository.tree("main"),
        repository.read("main", "a"),
        repository.read("main", "b/c"),
        repository.history(["main"], "b/c"),
        repository.diff(None, "main"),
    ):
        with pytest.raises((Unprocessable, NotFound)):
            await call


async def test_a_working_folder_is_read_at_its_commits_not_its_files(tmp_path: Path) -> None:
    repository = pygit2.init_repository(str(tmp_path), initial_head="main")
    tree = repository.TreeBuilder()
    tree.insert("a.md", repository.create_blob(b"committed"), FileMode.BLOB)
    repository.create_commit("refs/heads/main", SOMEBODY, SOMEBODY, "m", tree.write(), [])
    (tmp_path / "a.md").write_text("changed since")
    assert await Repository(tmp_path).read("main", "a.md") == b"committed"


async def test_a_folder_inside_a_repository_is_not_that_repository(tmp_path: Path) -> None:
    pygit2.init_repository(str(tmp_path))
    (tmp_path / "inside").mkdir()
    with pytest.raises(NotFound):
        await Repository(tmp_path / "inside").commit("HEAD")
