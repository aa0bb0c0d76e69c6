"""The first sync of a space with a git remote, and files of other kinds beside documents."""

from pathlib import Path

import anyio
import pytest

from pecia.features.wiki.store import SQL
from pecia.kernel.jobs.worker import run_until_idle
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


async def test_a_file_that_is_no_document_is_renamed_and_changed_in_one_commit(
    synced: SyncedSpace,
) -> None:
    space, remote = synced.space, synced.remote
    lines = "".join(f"line {it}\n" for it in range(9))
    remote.commit_files("Begin", {"notes.txt": lines, "Makefile": lines})
    await synced.set_remote(mode="pull_and_push")
    await synced.sync()
    # One is changed there as well, the other here.
    space.write({"Makefile": lines + "here\n"})
    files = {"notes.txt": None, "Makefile": None}
    new = {"d/new.txt": lines + "there\n", "d/Build": lines}
    remote.commit_files("Renamed", {**files, **new})
    assert (await synced.sync()).skipped == {}
    assert space.read("d/new.txt") == lines + "there\n"
    assert space.read("d/Build") == remote.read("d/Build") == lines + "here\n"
    assert sorted(it.name for it in space.folder.iterdir()) == [".pecia", "d"]


async def test_a_sync_under_way_says_its_step_and_how_many_files_are_done(
    synced: SyncedSpace,
) -> None:
    space, app = synced.space, synced.space.served.app
    synced.remote.commit_files("Begin", {f"n{it}.md": f"# {it}\n" for it in range(3)})
    await synced.set_remote()
    jobs = [it for it in app.jobs if it.full_name == "wiki.sync"]
    place = {"tenant_id": space.served.ana.tenant_id, "source_id": f"wiki:{space.name}"}
    async with anyio.create_task_group() as tasks:
        # A writer that keeps the space.
        async with app.store.system() as tx:
            await tx.execute(SQL["lock_space"], **place)
            tasks.start_soon(run_until_idle, app.store, jobs)
            with anyio.fail_after(60):
                while "progress" not in (now := await synced.status()) or not now["progress"]:
                    assert now["state"] == "waiting"
        assert now["progress"] in ("starting", "fetching", "comparing files")
    after = await synced.status()
    assert (after["state"], after["progress"]) == ("ok", None)
    rows = (await synced.admin("admin.list_jobs", {"name": "wiki.sync"}))["jobs"]
    [row] = [it for it in rows if it["key"] == place["source_id"]]
    assert (row["done"], row["total"], row["message"]) == (3, 3, "pulling files")
