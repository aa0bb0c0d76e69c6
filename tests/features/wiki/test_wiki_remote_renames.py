"""Renames on both sides of a git remote."""

from pathlib import Path

import pytest

from tests.features.wiki.conftest import Space
from tests.features.wiki.git_remote import GitRemote, SyncedSpace

pytestmark = pytest.mark.anyio


async def test_a_file_that_both_sides_renamed_and_mostly_rewrote_is_shown(
    space: Space, tmp_path: Path
) -> None:
    remote = GitRemote.create(tmp_path)
    synced = SyncedSpace(space, remote)
    old = "".join(f"line {it} of before\n" for it in range(12))
    ours = old[: old.index("line 4")] + "".join(f"ours {it}\n" for it in range(20))
    theirs = "".join(f"theirs {it}\n" for it in range(20)) + old[: old.index("line 3")]
    remote.commit_files("Begin", {"a.md": old, "gone.md": old.replace("before", "gone")})
    await synced.set_remote(mode="pull_and_push")
    await synced.sync()
    await space.value("rename_document", docName="a", newDocName="here")
    await space.value("write_document", docName="here", markdown=ours, position="replace")
    await space.value("delete_document", docName="gone")
    remote.commit_files("Renamed", {"a.md": None, "gone.md": None, "there.md": theirs})
    await synced.sync()
    # Lines 0 to 2 are in both: which of the two files goes on is for people to say.
    listed = (await space.value("list_conflicts"))["conflicts"]
    assert [(it["path"], it["renamedTo"]) for it in listed] == [("here.md", "there.md")]
    assert remote.files() == ["there.md"]
    assert (space.read("here.md"), space.read("there.md")) == (ours, theirs)
    # A file that both deleted, and new ones that have nothing of it, are no rename.
    await space.value("write_document", docName="new", markdown="new\n", position="replace")
    await synced.sync()
    assert remote.files() == ["new.md", "there.md"]
