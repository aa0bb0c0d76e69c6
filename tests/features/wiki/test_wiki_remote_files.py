"""The first sync of a space with a git remote, and files of other kinds beside documents."""

from pathlib import Path

import pytest

from tests.features.wiki.conftest import Space
from tests.features.wiki.git_remote import GitRemote, SyncedSpace

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]


@pytest.fixture
def synced(space: Space, tmp_path: Path) -> SyncedSpace:
    return SyncedSpace(space, GitRemote.create(tmp_path))


async def test_the_first_push_into_an_empty_repository_is_the_commit_of_the_status(
    synced: SyncedSpace,
) -> None:
    synced.space.write({"a.md": "# A\n"})
    await synced.set_remote(mode="pull_and_push")
    assert (await synced.sync()).pushed == 1
    assert (await synced.status())["commit"] == synced.remote.tip


async def test_documents_that_are_pulled_with_other_files_have_their_version(
    synced: SyncedSpace,
) -> None:
    space, remote = synced.space, synced.remote
    remote.commit("Begin", a_md="# A\n", b_yaml="b: 1\n", c_png=b"\x89PNG")
    await synced.set_remote()
    assert (await synced.sync()).pulled == 3
    assert "import: a" in str(await space.value("get_history", docName="a"))
    assert not [*(space.folder / ".pecia").glob("write-journal.json*")]
