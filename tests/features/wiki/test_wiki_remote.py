"""Sync of a space with a git remote: pull, push, divergence, conflicts, renames, other files."""

from pathlib import Path
from typing import Any
from uuid import UUID

import anyio
import pytest

from pecia.adapters.git.repository import HistoryRepository
from pecia.app.operator.health import load_install_status
from pecia.features.wiki.live.core.crdt import LiveText
from pecia.features.wiki.live.flush import LiveFlusher
from pecia.features.wiki.live.store import FileBase, LiveChange, SystemLiveRows
from pecia.features.wiki.remote.jobs import SyncSchedule
from pecia.features.wiki.space_recovery import SpaceRecovery
from pecia.features.wiki.store import SpaceLocation
from pecia.kernel.errors import Conflict, Forbidden, InvalidFormat, NotFound, PeciaError
from pecia.kernel.jobs.worker import run_worker
from pecia.kernel.jobs.worker_loop import WorkerIntervals
from pecia.kernel.store.store import Store
from tests.conftest import CONTEXT, EVERY_SCOPE
from tests.features.wiki.conftest import Space
from tests.features.wiki.git_remote import GitRemote, SyncedSpace, git
from tests.mcp.raw_mcp import RawMcp

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]

LINES = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"


@pytest.fixture
def remote(tmp_path: Path) -> GitRemote:
    return GitRemote.create(tmp_path)


@pytest.fixture
def synced(space: Space, remote: GitRemote) -> SyncedSpace:
    return SyncedSpace(space, remote)


async def test_a_commit_is_pulled_as_a_version_and_a_write_is_pushed_as_a_commit(
    synced: SyncedSpace,
) -> None:
    space, remote = synced.space, synced.remote
    remote.commit("Begin", a_md="# A\n")
    await synced.set_remote(mode="pull_and_push", authors=["ana=Ana Lima <ana@example.com>"])
    done = await synced.sync()
    assert (done.pulled, done.pushed) == (1, 0)
    assert space.read("a.md") == "# A\n"
    found = await space.value("get_history", docName="a")
    assert "import: a" in str(found)
    assert "Begin" in str(found)

    written = {"docName": "b", "markdown": "# B\n", "position": "replace"}
    await space.value("write_document", **written, summary="what B is")
    before = remote.tip
    done = await synced.sync()
    assert (done.pulled, done.pushed) == (0, 1)
    assert remote.read("b.md") == "# B\n"
    assert remote.log("%H %s")[1].startswith(before)
    assert remote.log("%s")[0] == "what B is"
    status = await synced.status()
    assert (status["state"], status["commit"], status["conflicts"]) == ("ok", remote.tip, [])
    # Nothing to do, nothing done.
    tip = remote.tip
    done = await synced.sync()
    assert (done.pulled, done.pushed, remote.tip) == (0, 0, tip)


async def test_authors_are_mapped_both_ways(synced: SyncedSpace) -> None:
    space, remote = synced.space, synced.remote
    remote.commit("By Ana", a_md="# A\n")
    owner = synced.space.served.ana
    users = await synced.admin("admin.list_users", {})
    name = next(it["name"] for it in users["users"] if it["name"] != "bo")
    await synced.set_remote(
        mode="pull_and_push", authors=[f"{name}=Ana Lima <ana@example.com>", "bo=Bo <bo@x.example>"]
    )
    await synced.sync()
    found = await space.value("get_history", docName="a")
    assert str(owner.user_id) in str(found)
    await space.admin("admin.grant", to="user:bo", role="writer")
    await space.ask_as_bo("write_document", docName="b", markdown="b\n", position="replace")
    await space.value("write_document", docName="c", markdown="c\n", position="replace")
    await synced.sync()
    assert sorted(remote.log("%an <%ae>")[:2]) == [
        "Ana Lima <ana@example.com>",
        "Bo <bo@x.example>",
    ]


async def test_changes_of_different_lines_are_merged_on_both_sides(synced: SyncedSpace) -> None:
    space, remote = synced.space, synced.remote
    remote.commit("Begin", a_md=LINES)
    await synced.set_remote(mode="pull_and_push")
    await synced.sync()
    await space.value("edit_document", docName="a", find="six", replace="SIX")
    remote.commit("Two", a_md=LINES.replace("two", "TWO"))
    done = await synced.sync()
    merged = LINES.replace("two", "TWO").replace("six", "SIX")
    assert (space.read("a.md"), remote.read("a.md")) == (merged, merged)
    assert (done.pulled, done.pushed) == (1, 1)
    remote.pull()
    assert (remote.clone / "a.md").read_text() == merged


async def test_a_merged_file_is_pushed_by_who_changed_it_here(synced: SyncedSpace) -> None:
    space, remote = synced.space, synced.remote
    remote.commit("Begin", a_md=LINES)
    await synced.set_remote(
        mode="pull_and_push", authors=["bo=Bo <bo@x.example>", "*=Wiki <wiki@x.example>"]
    )
    await synced.sync()
    await space.admin("admin.grant", to="user:bo", role="writer")
    await space.ask_as_bo("edit_document", docName="a", find="six", replace="SIX")
    remote.commit("Two", a_md=LINES.replace("two", "TWO"))
    await synced.sync()
    assert remote.log("%an <%ae>")[0] == "Bo <bo@x.example>"
    [merge, *_] = (await space.value("get_history", docName="a"))["entries"]
    assert {"bo"} < {it["name"] for it in merge["contributors"]}


async def test_a_conflict_is_shown_and_nothing_is_pushed_until_it_is_resolved(
    synced: SyncedSpace,
) -> None:
    space, remote = synced.space, synced.remote
    remote.commit("Begin", a_md=LINES)
    await synced.set_remote(mode="pull_and_push")
    await synced.sync()
    await space.value("edit_document", docName="a", find="two", replace="here")
    tip = remote.commit("There", a_md=LINES.replace("two", "there"))
    await synced.sync()
    assert (space.read("a.md"), remote.tip) == (LINES.replace("two", "here"), tip)
    listed = (await space.value("list_conflicts"))["conflicts"]
    assert [(it["path"], it["kind"], it["subject"]) for it in listed] == [
        ("a.md", "changed on both sides", "There")
    ]
    shown = await space.value("read_conflict", path="a.md")
    assert shown["remote"] == LINES.replace("two", "there")
    assert (
        "<<<<<<< local\nhere\n||||||| base\ntwo\n=======\nthere\n>>>>>>> remote\n"
        in shown["marked"]
    )
    stale = await space.ask("resolve_conflict", path="a.md", remoteVersion="0" * 40, keep="local")
    assert stale.error["code"] == "CONFLICT"
    await space.value(
        "resolve_conflict",
        path="a.md",
        remoteVersion=shown["remoteVersion"],
        keep="text",
        markdown=LINES.replace("two", "here and there"),
    )
    await synced.sync()
    assert remote.read("a.md") == space.read("a.md") == LINES.replace("two", "here and there")
    assert (await space.value("list_conflicts"))["conflicts"] == []
    assert remote.log("%P")[0] == tip


async def test_a_deleted_file_that_the_other_side_changed_is_a_conflict(
    synced: SyncedSpace,
) -> None:
    space, remote = synced.space, synced.remote
    remote.commit("Begin", a_md=LINES, b_md=LINES + "b\n")
    await synced.set_remote(mode="pull_and_push")
    await synced.sync()
    await space.value("delete_document", docName="a")
    await space.value("edit_document", docName="b", find="two", replace="TWO")
    remote.commit("Other way round", a_md=LINES + "eight\n", b_md=None)
    await synced.sync()
    listed = (await space.value("list_conflicts"))["conflicts"]
    assert {it["path"]: it["kind"] for it in listed} == {
        "a.md": "deleted here, changed in the remote",
        "b.md": "deleted in the remote, changed here",
    }
    versions = {it["path"]: it["remoteVersion"] for it in listed}
    for path, keep in (("a.md", "remote"), ("b.md", "local")):
        await space.value("resolve_conflict", path=path, remoteVersion=versions[path], keep=keep)
    await synced.sync()
    assert remote.files() == ["a.md", "b.md"]
    assert space.read("a.md") == LINES + "eight\n"
    assert remote.read("b.md") == space.read("b.md")


async def test_renames_are_followed_and_diverged_ones_are_shown(synced: SyncedSpace) -> None:
    space, remote = synced.space, synced.remote
    texts = {it: LINES + f"{it}\n" for it in ("a.md", "b.md", "c.md")}
    remote.commit_files("Begin", {**texts})
    await synced.set_remote(mode="pull_and_push")
    await synced.sync()
    # a is renamed there and changed here, b the other way round, c renamed on both sides.
    await space.value("edit_document", docName="a", find="two", replace="TWO")
    await space.value("rename_document", docName="b", newDocName="d/b2")
    await space.value("rename_document", docName="c", newDocName="c-here")
    git(remote.clone, "mv", "a.md", "a2.md")
    git(remote.clone, "mv", "c.md", "c-there.md")
    remote.commit_files("Renamed", {"b.md": texts["b.md"].replace("six", "SIX")})
    await synced.sync()
    here = sorted(it.name for it in space.folder.rglob("*.md") if ".pecia" not in it.parts)
    assert here == ["a2.md", "b2.md", "c-here.md", "c-there.md"]
    assert space.read("a2.md") == texts["a.md"].replace("two", "TWO")
    assert space.read("d/b2.md") == texts["b.md"].replace("six", "SIX")
    listed = (await space.value("list_conflicts"))["conflicts"]
    assert [(it["path"], it["renamedTo"]) for it in listed] == [("c-here.md", "c-there.md")]
    assert remote.files() == ["a2.md", "c-there.md", "d/b2.md"]
    found = await space.value("get_history", docName="a2")
    assert len(found["entries"] if "entries" in found else found["versions"]) >= 2


async def test_binary_latin_1_hidden_and_ignored_files(synced: SyncedSpace) -> None:
    space, remote = synced.space, synced.remote
    space.write({".gitignore": "private/\n*.tmp\n", "private/mine.md": "mine\n", "x.tmp": "x"})
    image = b"\x89PNG\r\n\x1a\n\0\xff"
    remote.commit_files(
        "Begin",
        {
            "img/x.png": image,
            "latin.md": "caf\u00e9\n".encode("latin-1"),
            "private/theirs.md": "theirs\n",
            ".github/x.yml": "a: 1\n",
        },
    )
    await synced.set_remote(mode="pull_and_push")
    done = await synced.sync()
    assert (space.folder / "img/x.png").read_bytes() == image
    assert (space.folder / "latin.md").read_bytes() == b"caf\xe9\n"
    assert not (space.folder / "private/theirs.md").exists()
    assert "private/theirs.md" in done.skipped
    assert remote.files() == [".github/x.yml", "img/x.png", "latin.md", "private/theirs.md"]
    # Both changed the image: no merge is tried.
    space.write({"img/x.png": image + b"1", "img/y.png": image})
    remote.commit_files("Theirs", {"img/x.png": image + b"2", "img/z.png": image})
    await synced.sync()
    assert (space.folder / "img/x.png").read_bytes() == image + b"1"
    assert (space.folder / "img/z.png").read_bytes() == image
    assert "img/y.png" in remote.files()
    shown = await space.value("read_conflict", path="img/x.png")
    assert (shown["remote"], shown["remoteBytes"]) == (None, len(image) + 1)
    await space.value(
        "resolve_conflict", path="img/x.png", remoteVersion=shown["remoteVersion"], keep="remote"
    )
    assert (space.folder / "img/x.png").read_bytes() == image + b"2"
    await synced.sync()
    remote.pull()
    remote.commit_files("Gone", {"img/z.png": None})
    await synced.sync()
    assert not (space.folder / "img/z.png").exists()


async def test_pull_alone_pushes_nothing_and_an_empty_remote_gets_its_first_commit(
    synced: SyncedSpace,
) -> None:
    space, remote = synced.space, synced.remote
    await space.value("write_document", docName="a", markdown="a\n", position="replace")
    await synced.set_remote(mode="pull")
    await synced.sync()
    assert git(remote.bare, "branch", "--list") == ""
    await synced.set_remote(mode="pull_and_push", branch="main")
    await synced.sync()
    assert remote.read("a.md") == "a\n"


async def test_a_lost_folder_deletes_nothing_in_the_remote(synced: SyncedSpace) -> None:
    space, remote = synced.space, synced.remote
    remote.commit_files("Begin", {f"d{it}.md": f"# {it}\n" for it in range(12)})
    await synced.set_remote(mode="pull_and_push")
    await synced.sync()
    for it in range(1, 12):
        (space.folder / f"d{it}.md").unlink()
    with pytest.raises(Conflict, match="11 of 12 files are gone in this space"):
        await synced.sync()
    status = await synced.status()
    assert (status["state"], len(remote.files())) == ("failing", 12)
    await synced.admin("admin.sync_space", {"name": space.name, "allow_deletions": True})
    await synced.sync()
    assert remote.files() == ["d0.md"]
    assert (await synced.status())["state"] == "ok"


async def test_a_failing_remote_is_reported_and_its_credential_is_nowhere_in_clear(
    synced: SyncedSpace,
) -> None:
    space = synced.space
    app = space.served.app
    await synced.set_remote(
        mode="pull", url=f"file://{synced.remote.bare}", credential="bot:hunter2-not-in-clear"
    )
    synced.remote.bare.rename(synced.remote.bare.with_name("moved.git"))
    with pytest.raises(PeciaError):
        await synced.sync()
    status = await synced.status()
    assert (status["state"], status["failures"]) == ("failing", 1)
    assert f"wiki:{space.name}" in str(await load_install_status(app.store))
    async with app.store.system() as tx:
        rows = await tx.fetch_all("SELECT to_jsonb(it)::text AS row FROM kernel.audit it")
        sealed = await tx.fetch_all("SELECT to_jsonb(it)::text AS row FROM lake.credential it")
    assert "set_space_remote" in str(rows)
    assert len(sealed) == 1
    assert "hunter2" not in f"{rows}{sealed}{status}"


async def test_members_see_conflicts_of_what_they_see_and_set_no_remote(
    synced: SyncedSpace,
) -> None:
    space, remote = synced.space, synced.remote
    remote.commit_files("Begin", {"open/a.md": LINES, "closed/b.md": LINES})
    await synced.set_remote(mode="pull_and_push")
    await synced.sync()
    await space.admin("admin.set_source", trim_mode="per_file")
    await space.admin("admin.grant", to="user:bo", role="reader", folder="open/")
    for path in ("open/a.md", "closed/b.md"):
        space.write({path: LINES.replace("two", "here")})
    remote.commit_files(
        "Theirs", {it: LINES.replace("two", "there") for it in ("open/a.md", "closed/b.md")}
    )
    await synced.sync()
    assert len((await space.value("list_conflicts"))["conflicts"]) == 2
    seen = (await space.ask_as_bo("list_conflicts")).value["conflicts"]
    assert [it["path"] for it in seen] == ["open/a.md"]
    assert (await space.ask_as_bo("read_conflict", path="closed/b.md")).is_error
    version = seen[0]["remoteVersion"]
    refused = await space.ask_as_bo(
        "resolve_conflict", path="open/a.md", remoteVersion=version, keep="remote"
    )
    assert refused.error["code"] == "FORBIDDEN"
    served = space.served
    bo = await served.app.authenticate(served.bo_token, CONTEXT)
    for tool, more in (
        ("set_space_remote", {"url": str(remote.bare)}),
        ("space_remote_status", {}),
        ("sync_space", {}),
        ("remove_space_remote", {}),
    ):
        with pytest.raises(Forbidden):
            await served.app.call(bo, f"admin.{tool}", {"name": space.name, **more}, CONTEXT)


async def test_a_confined_remote_is_read_in_allowed_folders_and_pushed_to_below_space_roots(
    synced: SyncedSpace, tmp_path: Path
) -> None:
    space, remote = synced.space, synced.remote
    served = space.served
    app = served.app
    remote.commit("Begin", a_md="a\n")
    await app.call(served.ana, "add_user", {"name": "cy", "role": "admin"}, CONTEXT)
    made = await app.call(
        served.ana, "make_token", {"label": "t", "user": "cy", "scopes": EVERY_SCOPE}, CONTEXT
    )
    assert isinstance(made.structured, dict)
    cy = await app.authenticate(str(made.structured["token"]), CONTEXT)
    asked = {"name": space.name, "url": f"file://{remote.bare}"}

    async def set_remote(mode: str, **more: str) -> None:
        await app.call(cy, "admin.set_space_remote", {**asked, "mode": mode, **more}, CONTEXT)

    with pytest.raises(Forbidden):
        await set_remote("pull")
    tenant = served.ana.tenant_id
    await change_allowlist(app.store, tenant, "folder", str(tmp_path))
    await set_remote("pull")
    await synced.sync()
    assert space.read("a.md") == "a\n"
    with pytest.raises(Forbidden):
        await set_remote("pull_and_push")
    for url in ("https://127.0.0.1/x.git", "ssh://git@127.0.0.1/x", "ftp://h/x", "https://u:p@h/x"):
        with pytest.raises((Forbidden, InvalidFormat)):
            await set_remote("pull", url=url)
    # What was allowed may have been taken away since.
    await set_remote("pull")
    await change_allowlist(app.store, tenant, "folder", str(tmp_path), remove=True)
    with pytest.raises(Forbidden):
        await synced.sync()


async def change_allowlist(
    store: Store, tenant_id: UUID, kind: str, value: str, *, remove: bool = False
) -> None:
    change = "DELETE FROM lake.allowlist WHERE (tenant_id, kind, value) = (%(t)s, %(k)s, %(v)s)"
    add = "INSERT INTO lake.allowlist VALUES (%(t)s, %(k)s, %(v)s)"
    async with store.system() as tx:
        await tx.execute(change if remove else add, t=tenant_id, k=kind, v=value)


async def test_the_timer_queues_a_sync_unless_the_project_switched_it_off(
    synced: SyncedSpace,
) -> None:
    space, remote = synced.space, synced.remote
    app = space.served.app
    remote.commit("Begin", a_md="a\n")
    await synced.set_remote(mode="pull")
    job = next(it for it in app.jobs if it.full_name == "wiki.sync")
    due = "UPDATE wiki.remote SET due_at = now() - interval '1 s' WHERE source_id = %(s)s"
    waiting = (
        "SELECT count(*) FROM jobs.procrastinate_jobs WHERE status = 'todo'"
        " AND task_name = 'wiki.sync' AND args::text LIKE '%%' || %(s)s || '%%'"
    )
    clear = "DELETE FROM jobs.procrastinate_jobs WHERE task_name = 'wiki.sync'"
    counts: list[int] = []
    for text in ("autoSync: {enabled: false}\n", "autoSync: {enabled: true}\n"):
        space.write({".pecia/config.yml": text})
        async with app.store.system() as tx:
            await tx.execute(clear)
            await tx.execute(due, s=f"wiki:{space.name}")
        await SyncSchedule(app.store, job).run_once()
        async with app.store.system() as tx:
            counts.append(int(await tx.fetch_value(waiting, s=space.name)))
    assert counts == [0, 1]


@pytest.mark.parametrize("status", ["suspended", "deleting"])
async def test_no_sync_is_queued_for_a_tenant_that_is_closed(
    synced: SyncedSpace, status: str
) -> None:
    app, tenant = synced.space.served.app, synced.space.served.ana.tenant_id
    await synced.set_remote(mode="pull")
    job = next(it for it in app.jobs if it.full_name == "wiki.sync")
    close = "UPDATE kernel.tenant SET status = %(status)s WHERE id = %(tenant)s"
    queued = (
        "SELECT count(*) FROM jobs.procrastinate_jobs WHERE task_name = 'wiki.sync'"
        " AND args::text LIKE '%%' || %(s)s || '%%'"
    )
    due = "UPDATE wiki.remote SET due_at = now() - interval '1 s' WHERE source_id = %(s)s"
    counts: list[int] = []
    for now in (status, "active"):
        async with app.store.system() as tx:
            await tx.execute("DELETE FROM jobs.procrastinate_jobs WHERE task_name = 'wiki.sync'")
            await tx.execute(due, s=f"wiki:{synced.space.name}")
            await tx.execute(close, status=now, tenant=tenant)
        await SyncSchedule(app.store, job).run_once()
        async with app.store.system() as tx:
            counts.append(int(await tx.fetch_value(queued, s=synced.space.name)))
    assert counts == [0, 1]


async def test_a_sync_that_changes_something_or_fails_is_in_the_audit_log(
    synced: SyncedSpace,
) -> None:
    space, remote = synced.space, synced.remote
    remote.commit("Begin", a_md="# A\n")
    await synced.set_remote(mode="pull_and_push")

    async def audited() -> list[Any]:
        found = await synced.admin("admin.list_audit", {"tool": "sync_space"})
        return [
            (it["interface"], it["status"], it["code"], it["arguments"])
            for it in found["rows"]
            if it["sources"] == [where["name"]]
        ]

    where = {"name": f"wiki:{space.name}", "url": f"file://{remote.bare}"}
    await synced.sync()
    pulled = ("job", "ok", None, {**where, "pulled": 1, "pushed": 0})
    assert await audited() == [pulled]
    # Nothing to do, nothing to tell.
    await synced.sync()
    await space.value("write_document", docName="b", markdown="b\n", position="replace")
    await synced.sync()
    pushed = ("job", "ok", None, {**where, "pulled": 0, "pushed": 1})
    assert await audited() == [pushed, pulled]
    remote.bare.rename(remote.bare.with_name("moved.git"))
    with pytest.raises(PeciaError) as failed:
        await synced.sync()
    assert await audited() == [("job", "error", failed.value.code.name, where), pushed, pulled]


async def test_auto_sync_without_a_remote_says_that_nothing_is_synced(synced: SyncedSpace) -> None:
    space = synced.space
    assert (await synced.status())["degraded"] == []
    space.write({".pecia/config.yml": "autoSync: {enabled: true}\n"})
    found = await synced.status()
    assert (found["state"], found["auto_sync"]) == ("none", True)
    [warning] = found["degraded"]
    assert f"pecia space remote {space.name} URL" in warning
    assert (await synced.set_remote(mode="pull"))["degraded"] == []


async def test_a_document_that_people_have_open_is_merged_into_and_pushed(
    synced: SyncedSpace,
) -> None:
    space, remote = synced.space, synced.remote
    remote.commit("Begin", a_md=LINES)
    await synced.set_remote(mode="pull_and_push")
    await synced.sync()
    app, tenant = space.served.app, space.served.ana.tenant_id
    place = SpaceLocation(tenant, f"wiki:{space.name}", space.folder, "")
    flusher = LiveFlusher(SpaceRecovery(app.store, HistoryRepository.open))
    await flusher.make_live(place, "a.md", 1_000_000)
    # Typed and stored, and not in the file.
    async with app.store.system() as tx:
        rows = SystemLiveRows(tx, place)
        row = await rows.find("a.md")
        assert row is not None
        typed = LiveText(row.base, row.house_id).rewrite(LINES.replace("six", "SIX"))
        assert typed is not None
        await rows.add(row, [LiveChange("principal-x", typed)], FileBase(row.base, row.digest))
    assert space.read("a.md") == LINES
    remote.commit("Two", a_md=LINES.replace("two", "TWO"))
    await synced.sync()
    merged = LINES.replace("two", "TWO").replace("six", "SIX")
    assert space.read("a.md") == merged
    await synced.sync()
    assert remote.read("a.md") == merged


async def test_many_files_are_pulled_in_batches(synced: SyncedSpace) -> None:
    space, remote = synced.space, synced.remote
    files: dict[str, str | bytes | None] = {
        f"d{it % 10}/n{it}.md": f"# {it}\n\nword{it}\n" for it in range(250)
    }
    remote.commit_files("Many", files)
    await synced.set_remote(mode="pull_and_push")
    done = await synced.sync()
    assert (done.pulled, done.pushed, done.skipped) == (250, 0, {})
    assert space.read("d9/n249.md") == "# 249\n\nword249\n"
    done = await synced.sync()
    assert (done.pulled, done.pushed) == (0, 0)


async def test_a_worker_runs_the_sync_that_a_tool_queued(synced: SyncedSpace) -> None:
    space, remote = synced.space, synced.remote
    app = space.served.app
    remote.commit("Begin", a_md="a\n")
    await synced.set_remote(mode="pull")
    queued = await synced.admin("admin.sync_space", {"name": space.name})
    job, stop = next(it for it in app.jobs if it.full_name == "wiki.sync"), anyio.Event()
    pace = WorkerIntervals(heartbeat_s=0.1, stalled_s=60, poll_s=0.05, grace_s=1)
    with anyio.fail_after(100):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: run_worker(app.store, [job], stop=stop, pace=pace))
            for _ in range(2_000):
                if (await synced.status())["state"] == "ok":
                    break
                await anyio.sleep(0.05)
            stop.set()
    assert queued["job"]
    assert space.read("a.md") == "a\n"


async def test_an_agent_cannot_set_a_remote_without_the_owner(synced: SyncedSpace) -> None:
    served = synced.space.served
    asked = {"name": synced.space.name, "url": str(synced.remote.bare), "mode": "pull_and_push"}
    frame = await RawMcp(served.http).ask(
        "/mcp/admin", "tools/call", {"name": "set_space_remote", "arguments": asked}
    )
    assert frame["result"]["isError"]
    assert "CONFIRMATION_REQUIRED" in str(frame["result"])
    assert (await synced.status())["state"] == "none"


async def test_a_removed_remote_leaves_files_and_repository_and_no_credential(
    synced: SyncedSpace,
) -> None:
    space, remote = synced.space, synced.remote
    tip = remote.commit("Begin", a_md="a\n")
    await synced.set_remote(mode="pull_and_push", credential="bot:t0ken")
    await synced.sync()
    await synced.admin("admin.remove_space_remote", {"name": space.name})
    assert (space.read("a.md"), remote.tip) == ("a\n", tip)
    async with space.served.app.store.system() as tx:
        where = {"s": f"wiki:{space.name}"}
        left = "SELECT count(*) FROM lake.credential WHERE source_id = %(s)s"
        assert await tx.fetch_value(left, **where) == 0
    with pytest.raises(NotFound):
        await synced.admin("admin.sync_space", {"name": space.name})


async def test_a_file_that_cannot_be_here_holds_up_no_other(synced: SyncedSpace) -> None:
    space, remote = synced.space, synced.remote
    space.write({"x.md/inner.md": "inner\n", "real.md": "real\n"})
    (space.folder / "link.md").symlink_to(space.folder / "real.md")
    remote.commit_files("Begin", {"x.md": "x\n", "link.md": "theirs\n", "y.md": "y\n"})
    (remote.clone / "there.md").symlink_to("y.md")
    remote.commit_files("Link", {})
    space.write({"there.md": "ours\n"})
    await synced.set_remote(mode="pull_and_push")
    done = await synced.sync()
    assert {*done.skipped} == {"x.md", "link.md", "there.md"}
    assert (space.read("y.md"), remote.read("real.md")) == ("y\n", "real\n")
    assert (remote.read("x.md"), remote.read("link.md")) == ("x\n", "theirs\n")
    assert (space.read("x.md/inner.md"), space.read("there.md")) == ("inner\n", "ours\n")
    assert (space.folder / "link.md").is_symlink()
    assert {*(await synced.status())["skipped"]} == {*done.skipped}
