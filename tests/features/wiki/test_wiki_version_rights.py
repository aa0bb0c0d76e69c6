"""Versions under rights: each is one of the path that its document had then, and says nothing of
documents that the reader may not see."""

from pathlib import Path
from typing import Any

import pytest

from tests.features.wiki.conftest import Space
from tests.features.wiki.git_remote import GitRemote, SyncedSpace
from tests.features.wiki.test_wiki_rename_rights import trim

pytestmark = pytest.mark.anyio

SECRET = "99999 aardvark"


async def history(space: Space, name: str) -> list[dict[str, Any]]:
    """As bo sees it."""
    answer = await space.ask_as_bo("get_history", docName=name)
    assert not answer.is_error, answer.text
    assert answer.value["total"] == len(answer.value["entries"])
    return answer.value["entries"]


async def publish(space: Space, to: str = "open/plan") -> list[str]:
    """A document whose secret was struck out before it moved to where bo sees it; the ids of its
    versions, the latest first."""
    await space.value("write_document", docName="closed/plan", markdown=f"# Plan\n{SECRET}\n")
    await space.value("edit_document", docName="closed/plan", find=SECRET, replace="Nothing")
    await space.value("rename_document", docName="closed/plan", newDocName=to)
    return [it["sha"] for it in (await space.value("get_history", docName=to))["entries"]]


async def test_a_document_that_is_published_brings_no_version_from_where_it_was(
    space: Space,
) -> None:
    await trim(space, {"open/x.md": "x\n"}, open="writer")
    moved, edited, created = await publish(space)
    assert [it["sha"] for it in await history(space, "open/plan")] == [moved]
    read = await space.ask_as_bo("read_document", path="open/plan")
    assert [it["hash"] for it in read.value["history"]] == [moved]
    bo = {"authorization": f"Bearer {space.served.bo_token}"}
    for sha in (edited, created, created[:7]):
        for tool, arguments in (
            ("compare_versions", {"fromSha": sha}),
            ("compare_versions", {"fromSha": moved, "toSha": sha}),
            ("rollback_to_version", {"commitSha": sha}),
        ):
            refused = await space.ask_as_bo(tool, docName="open/plan", **arguments)
            assert refused.error["code"] == "NOT_FOUND"
            assert SECRET not in str(refused)
        asked = {"space": space.name, "doc": "open/plan", "version": sha.ljust(40, "0")}
        page = await space.served.http.get("/wiki/version", params=asked, headers=bo)
        assert page.status_code == 404
    # A version that there is not is refused in the same words.
    hidden = await space.ask_as_bo("compare_versions", docName="open/plan", fromSha=created)
    missing = await space.ask_as_bo("compare_versions", docName="open/plan", fromSha="0" * 40)
    assert hidden.text.replace(created[:7], "0" * 7) == missing.text
    # Who sees the whole space sees all of it.
    diff = await space.value("compare_versions", docName="open/plan", fromSha=created)
    assert f"-{SECRET}" in diff["diff"]


async def test_versions_from_a_folder_that_the_reader_sees_go_with_a_rename(space: Space) -> None:
    await trim(space, {"open/a.md": "one\n"}, open="reader", ro="reader")
    await space.value("edit_document", docName="open/a", find="one", replace="two")
    await space.value("rename_document", docName="open/a", newDocName="closed/a")
    await space.value("edit_document", docName="closed/a", find="two", replace=SECRET)
    await space.value("edit_document", docName="closed/a", find=SECRET, replace="three")
    await space.value("rename_document", docName="closed/a", newDocName="ro/a")
    rows = await history(space, "ro/a")
    *_, first = rows
    assert len(rows) == 3
    diff = await space.ask_as_bo("compare_versions", docName="ro/a", fromSha=first["sha"])
    assert "-one\n+three\n" in diff.value["diff"]
    # With the folder comes what was written there.
    await space.admin("grant", folder="closed/", to="user:bo", role="reader")
    assert len(await history(space, "ro/a")) == 6


async def test_as_many_versions_as_configured_are_shown_beside_hidden_ones(space: Space) -> None:
    await trim(space, {"open/a.md": "0\n"}, open="reader")
    for at in range(4):
        await space.value("edit_document", docName="open/a", find=str(at), replace=str(at + 1))
    await space.value("rename_document", docName="open/a", newDocName="closed/a")
    for at in range(4, 8):
        await space.value("edit_document", docName="closed/a", find=str(at), replace=str(at + 1))
    await space.value("rename_document", docName="closed/a", newDocName="open/a")
    read = await space.ask_as_bo("read_document", path="open/a")
    assert len(read.value["history"]) == 5


async def test_suggestions_from_a_hidden_folder_stay_hidden(space: Space) -> None:
    await trim(space, {"open/x.md": "x\n"}, open="writer")
    await space.value("write_document", docName="closed/plan", markdown=f"# Plan\n{SECRET}\n")
    made = await space.value(
        "edit_document", docName="closed/plan", find=SECRET, replace="Nothing", suggest=True
    )
    await space.value("edit_document", docName="closed/plan", find=SECRET, replace="Nothing")
    await space.value("rename_document", docName="closed/plan", newDocName="open/plan")
    asked = {"suggestion": made["suggestion"]}
    for tool in ("read_suggestion", "accept_suggestion", "reject_suggestion"):
        assert (await space.ask_as_bo(tool, **asked)).error["code"] == "NOT_FOUND"
    listed = await space.ask_as_bo("list_suggestions", docName="open/plan", state="all")
    assert listed.value["suggestions"] == []
    read = await space.ask_as_bo("read_document", path="open/plan")
    assert "openSuggestions" not in read.value
    assert (await space.value("read_suggestion", **asked))["docName"] == "open/plan"
    # From here on they are under the rights of the new place.
    new = await space.value(
        "edit_document", docName="open/plan", find="Plan", replace="Plans", suggest=True
    )
    await space.value("rename_document", docName="open/plan", newDocName="open/plan2")
    accepted = await space.ask_as_bo("accept_suggestion", suggestion=new["suggestion"])
    assert not accepted.is_error, accepted.text


async def test_a_rename_says_that_former_versions_keep_their_rights(space: Space) -> None:
    await trim(space, {"open/x.md": "x\n", "a/b.md": "b\n", "a/c.md": "c\n"})
    moved = await space.ask("rename_document", docName="a/b", newDocName="open/b")
    assert "Earlier versions stay under the rights of a/b" in moved.text
    stayed = await space.ask("rename_document", docName="a/c", newDocName="a/d")
    assert "Earlier versions" not in stayed.text
    folder = await space.ask("rename_folder", fromFolder="a", toFolder="open/a")
    assert "Earlier versions stay under the rights of a/" in folder.text
    await space.admin("set_source", trim_mode="open")
    everybody = await space.ask("rename_document", docName="open/b", newDocName="a/b")
    assert "Earlier versions" not in everybody.text


async def test_a_message_names_no_document_that_the_reader_may_not_see(space: Space) -> None:
    files = {"open/welcome.md": "[[closed/layoffs]]\n", "closed/layoffs.md": "x\n"}
    files |= {"open/logo.md": "![](../closed/pics/logo.png)\n", "closed/pics/logo.png": "p"}
    await trim(space, files, open="reader")
    await space.value("rename_document", docName="closed/layoffs", newDocName="closed/reorg-walrus")
    await space.value("rename_folder", fromFolder="closed/pics", toFolder="closed/pix-walrus")
    batch = [{"docName": it, "markdown": "m\n"} for it in ("open/a", "open/b", "closed/ocelot")]
    await space.value("write_documents", documents=batch[:2], summary="both")
    await space.value("write_documents", documents=[batch[0], batch[2]], summary="walrus")
    await space.value("rename_document", docName="closed/ocelot", newDocName="open/public")
    await space.value("save_version", message="before the walrus")
    shown = {}
    for name in ("open/welcome", "open/logo", "open/a", "open/public"):
        rows = await history(space, name)
        shown[name] = [it["message"] for it in rows if it["type"] == "wip"]
        assert [it["message"] for it in rows if it["type"] == "checkpoint"] == ["checkpoint: saved"]
        read = await space.ask_as_bo("read_document", path=name)
        for hidden in ("layoffs", "reorg", "ocelot", "walrus", "pics"):
            text = str(rows) + str(read.value["history"])
            assert hidden not in text, (name, hidden)
        assert all(name in it["contributors"][0]["docs"] for it in rows[:2])
    assert shown == {
        "open/welcome": ["wip: open/welcome", "wip: open/welcome"],
        "open/logo": ["wip: open/logo", "wip: open/logo"],
        "open/a": ["wip: open/a", "wip: 2 docs — both"],
        "open/public": ["wip: open/public"],
    }
    # Who sees all of it has the messages as they were written.
    latest = (await space.value("get_history", docName="open/public"))["entries"][1]
    assert latest["message"].startswith("rename: closed/ocelot -> open/public")


async def test_a_rename_between_places_that_the_reader_sees_reads_as_one(space: Space) -> None:
    files = {"d/open/a.md": "a\n", "d/open/b.md": "b\n", "d/closed/c.md": "[[d/open/a]]\n"}
    await trim(space, files, **{"d/open": "reader", "e/open": "reader"})
    await space.value("rename_document", docName="d/open/a", newDocName="d/open/z", summary="said")
    [latest, *_] = await history(space, "d/open/z")
    assert latest["message"] == "rename: d/open/a -> d/open/z — said"
    await space.value("rename_folder", fromFolder="d", toFolder="e")
    [latest, *_] = await history(space, "e/open/b")
    assert latest["message"] == "rename: d/open -> e/open"
    assert latest["contributors"][0]["docs"] == ["e/open/b", "e/open/z"]


async def test_a_conflict_of_renames_tells_of_no_place_that_the_reader_does_not_see(
    space: Space, tmp_path: Path
) -> None:
    remote = GitRemote.create(tmp_path)
    synced = SyncedSpace(space, remote)
    old = "".join(f"line {it} of before\n" for it in range(12)) + f"{SECRET}\n"
    ours = old[: old.index("line 4")] + "".join(f"ours {it}\n" for it in range(20))
    theirs = "".join(f"theirs {it}\n" for it in range(20)) + old[: old.index("line 3")]
    remote.commit_files("Begin", {"a.md": old})
    await synced.set_remote(mode="pull_and_push")
    await synced.sync()
    await space.value("rename_document", docName="a", newDocName="open/here")
    await space.value("write_document", docName="open/here", markdown=ours, position="replace")
    remote.commit_files("Renamed", {"a.md": None, "closed/walrus.md": theirs})
    await synced.sync()
    [found] = (await space.value("list_conflicts"))["conflicts"]
    assert (found["path"], found["renamedTo"]) == ("open/here.md", "closed/walrus.md")
    await trim(space, {}, open="writer")
    assert (await space.ask_as_bo("list_conflicts")).value["conflicts"] == []
    hidden = await space.ask_as_bo("read_conflict", path="open/here.md")
    missing = await space.ask_as_bo("read_conflict", path="open/none.md")
    assert hidden.text.replace("here", "none") == missing.text
    # Who sees both names sees the conflict, and not what the document was before.
    await space.admin("grant", folder="closed/", to="user:bo", role="reader")
    read = await space.ask_as_bo("read_conflict", path="open/here.md")
    assert (read.value["renamedTo"], read.value["base"]) == ("closed/walrus.md", None)
    assert SECRET in (await space.value("read_conflict", path="open/here.md"))["base"]
