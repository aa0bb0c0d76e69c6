"""Names that look like others, or that not every system can have, over MCP."""

from pathlib import Path
from typing import Any

import pytest

from tests.features.wiki.conftest import Space, add_space
from tests.features.wiki.test_wiki_rename_rights import trim

pytestmark = pytest.mark.anyio

NAMES = {
    "pub/x\u202ey": "U+202E (RIGHT-TO-LEFT OVERRIDE)",
    "pub\u200b/x": "U+200B",
    "a\ufeff": "U+FEFF",
    "soft\u00adhyphen": "U+00AD",
    "a\u200d": "U+200D",
    "tag\U000e0041": "U+E0041",
    "pub/ ": "space",
    "pub /x": "space",
    "x\u00a0": "space",
    "pub/con": "'con'",
    "Nul": "'Nul'",
    "aux.notes": "'aux.notes'",
    "com1/x": "'com1'",
    "trailing.": "dot",
    "pub./x": "dot",
    "%2e%2e/x": "'%2e%2e'",
    "pub%2Fx": "'pub%2Fx'",
}


@pytest.mark.parametrize("name", NAMES)
async def test_a_new_name_that_looks_like_another_or_is_not_portable_is_refused(
    space: Space, name: str
) -> None:
    space.write({"old.md": "old\n", "d/x.md": "x\n"})
    text: dict[str, Any] = {"markdown": "x\n", "position": "replace"}
    for tool, field, arguments in (
        ("write_document", "docName", {"docName": name, **text}),
        ("write_documents", "docName", {"documents": [{"docName": name, **text}]}),
        ("create_document", "docName", {"docName": name}),
        ("rename_document", "newDocName", {"docName": "old", "newDocName": name}),
        ("rename_folder", "toFolder", {"fromFolder": "d", "toFolder": name}),
    ):
        refused = await space.ask(tool, **arguments)
        assert refused.error["field"] == field, tool
        assert NAMES[name] in refused.error["message"]
    assert {it.name for it in space.folder.rglob("*.md")} == {"old.md", "x.md"}


async def test_files_that_have_such_names_stay_readable_and_names_of_every_script_are_free(
    space: Space,
) -> None:
    names = ("x\u202ey", "d /y", "con", "aux./y", "%2e%2e/y", "end.")
    space.write({f"{it}.md": "words\n" for it in names})
    for name in names:
        assert (await space.value("read_document", path=f"{name}.md"))["docName"] == name
        await space.value("edit_document", docName=name, find="words", replace="more")
    await space.value("rename_document", docName="x\u202ey", newDocName="می\u200cخواهم")
    await space.value("rename_document", docName="d /y", newDocName="👩\u200d🚀 log")
    for name in ("console", "nullable", "com10", "100%", "50%20off", "v1.2", "con-notes"):
        await space.value("write_document", docName=f"free/{name}", markdown="x\n")


async def test_of_several_spaces_the_one_is_hinted_in_which_the_caller_sees_the_document(
    space: Space, tmp_path: Path
) -> None:
    other = await add_space(space.served, tmp_path)
    first, last = sorted((space, other), key=lambda it: it.name)
    (last.folder / ".pecia").mkdir(exist_ok=True)
    last.write({".pecia/config.yml": "content:\n  dir: wiki\n"})
    await trim(first, {"pub/x.md": "x\n"}, pub="reader")
    files = {"wiki/pub/delta.md": "d\n", "wiki/sec/plan.md": "p\n"}
    await trim(last, files)
    await last.admin("grant", folder="wiki/pub/", to="user:bo", role="reader")

    async def refuse(name: str) -> dict[str, Any]:
        asked = {"docName": name, "find": "d", "replace": "e"}
        return (await space.served.call(space.served.bo_token, "edit_document", asked)).error

    seen = await refuse("pub/delta")
    assert f'"space": "{last.name}", which has \'pub/delta\'' in seen["hint"]
    assert seen["allowed"][0] == last.name
    assert await refuse("sec/plan") == await refuse("sec/none")
    assert f'"space": "{first.name}", which has' in (await refuse("pub/x"))["hint"]


TWINS = ("Team/plan", "team/Plan", "TEAM/other", "cafe\u0301", "CAFÉ")


@pytest.mark.parametrize("name", TWINS)
async def test_a_new_name_that_is_another_one_on_many_disks_is_refused(
    space: Space, name: str
) -> None:
    space.write({"team/plan.md": "words\n", "café.md": "words\n", "old.md": "x\n", "d/x.md": "x\n"})
    for tool, arguments in (
        ("write_document", {"docName": name, "markdown": "x\n"}),
        ("write_documents", {"documents": [{"docName": name, "markdown": "x\n"}]}),
        ("create_document", {"docName": name}),
        ("rename_document", {"docName": "old", "newDocName": name}),
    ):
        refused = await space.ask(tool, **arguments)
        assert refused.error["code"] == "CONFLICT", tool
        assert "team" in str(refused.error) or "café" in str(refused.error)
    into = await space.ask("rename_folder", fromFolder="d", toFolder="Team/d")
    assert into.error["code"] == "CONFLICT"
    assert {it.name for it in space.folder.rglob("*.md")} == {
        "plan.md",
        "café.md",
        "old.md",
        "x.md",
    }


async def test_names_of_one_batch_are_compared_too_and_documents_that_are_there_stay_writable(
    space: Space,
) -> None:
    space.write({"Team/a.md": "x\n", "team/a.md": "x\n", "team.md": "x\n"})
    both = [{"docName": it, "markdown": "x\n"} for it in ("new/a", "New/b")]
    assert (await space.ask("write_documents", documents=both)).error["code"] == "CONFLICT"
    for name in ("Team/a", "team/a", "Team/b", "team/b2", "Team/team"):
        await space.value("write_document", docName=name, markdown="more\n")


async def test_a_name_that_is_not_there_is_answered_with_the_ones_that_may_be_meant(
    space: Space,
) -> None:
    space.write({"lx/Links.md": "words\n", "lx/other.md": "[[Links]]\n"})
    for tool, arguments in (
        ("read_document", {"path": "lx/links.md"}),
        ("read_document", {"path": "Links"}),
        ("edit_document", {"docName": "links", "find": "w", "replace": "v"}),
        ("get_backlinks", {"docName": "wrong/links"}),
    ):
        refused = await space.ask(tool, **arguments)
        assert refused.error["code"] == "NOT_FOUND"
        assert refused.error["similar"] == ["lx/Links"]
        assert "'lx/Links'" in refused.text
    assert "similar" not in (await space.ask("read_document", path="none")).error


async def test_a_name_is_not_compared_with_documents_that_the_caller_may_not_see(
    space: Space,
) -> None:
    await trim(space, {"pub/x.md": "x\n", "sec/plan.md": "p\n"}, pub="writer")
    hidden = await space.ask_as_bo("read_document", path="pub/Plan.md")
    assert "similar" not in hidden.error
    await space.value("list_documents")
    done = await space.ask_as_bo("write_document", docName="pub/plan", markdown="p\n")
    assert not done.is_error, done.text


async def test_a_list_of_a_folder_that_is_not_there_says_so(space: Space) -> None:
    space.write({"d/x.md": "x\n", "sec/y.md": "y\n"})
    (space.folder / "empty").mkdir()
    assert (await space.ask("list_documents", dir="D")).error["code"] == "NOT_FOUND"
    assert (await space.ask("list_documents", dir="d/none/")).error["field"] == "dir"
    assert (await space.value("list_documents", dir="empty"))["documents"] == []
    assert (await space.value("list_documents", dir="./"))["total"] == 2
    await trim(space, {"d/x.md": "x\n"}, d="reader")
    hidden = await space.ask_as_bo("list_documents", dir="sec")
    missing = await space.ask_as_bo("list_documents", dir="nope")
    assert hidden.error["code"] == missing.error["code"] == "NOT_FOUND"
    seen = await space.ask_as_bo("list_documents", dir="d")
    assert seen.value["total"] == 1
