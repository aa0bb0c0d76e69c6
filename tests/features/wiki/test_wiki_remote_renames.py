"""Renames on both sides of a git remote."""

from datetime import datetime
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


async def test_a_renamed_file_that_the_remote_changed_is_pushed_by_who_renamed_it(
    space: Space, tmp_path: Path
) -> None:
    remote = GitRemote.create(tmp_path)
    synced = SyncedSpace(space, remote)
    old = "".join(f"line {it}\n" for it in range(12))
    remote.commit_files("Begin", {"a.md": old})
    await synced.set_remote(mode="pull_and_push", authors=["bo=Bo <bo@x.example>"])
    await synced.sync()
    await space.admin("admin.grant", to="user:bo", role="writer")
    await space.ask_as_bo("rename_document", docName="a", newDocName="b")
    remote.commit_files("There", {"a.md": old.replace("line 3", "three")})
    await synced.sync()
    assert (remote.files(), remote.read("b.md")) == (["b.md"], old.replace("line 3", "three"))
    assert remote.log("%s")[:2] == ["Renamed a → b", "There"]
    assert remote.log("%an")[0] == "Bo"


async def test_a_local_file_that_a_resolution_keeps_is_pushed_by_who_wrote_it(
    space: Space, tmp_path: Path
) -> None:
    remote = GitRemote.create(tmp_path)
    synced = SyncedSpace(space, remote)
    remote.commit_files("Begin", {"a.md": "one\n"})
    await synced.set_remote(mode="pull_and_push", authors=["bo=Bo <bo@x.example>"])
    await synced.sync()
    await space.admin("admin.grant", to="user:bo", role="writer")
    await space.ask_as_bo("edit_document", docName="a", find="one", replace="here")
    remote.commit_files("There", {"a.md": "there\n"})
    await synced.sync()
    [found] = (await space.value("list_conflicts"))["conflicts"]
    equal_at = await load_equal_at(space)
    await space.value(
        "resolve_conflict", path="a.md", remoteVersion=found["remoteVersion"], keep="local"
    )
    # Versions have times in seconds: in the same second bo would be found anyway.
    assert await load_equal_at(space) == equal_at
    await synced.sync()
    assert remote.read("a.md") == "here\n"
    assert remote.log("%an <%ae>")[0] == "Bo <bo@x.example>"


async def load_equal_at(space: Space) -> datetime:
    """When the only file was last equal on both sides."""
    wanted = "SELECT at FROM wiki.remote_file WHERE source_id = %(source_id)s"
    async with space.served.app.store.system() as tx:
        return await tx.fetch_value(wanted, source_id=f"wiki:{space.name}")
