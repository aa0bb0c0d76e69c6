"""Renames by somebody who may not see or write all of the space, over MCP."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.conftest import CONTEXT
from tests.features.wiki.conftest import Answer, Space

pytestmark = pytest.mark.anyio

HELD = """\
folders:
  - match: policies/**
    suggest: agents
  - match: frozen/**
    locked: true
"""


async def trim(space: Space, files: Mapping[str, str], **granted: str) -> None:
    """Of these files, bo sees the folders that are granted."""
    space.write(files)
    await space.admin("set_source", trim_mode="per_file")
    for folder, role in granted.items():
        await space.admin("grant", folder=f"{folder}/", to="user:bo", role=role)
    await space.value("list_documents")


def refusal(answer: Answer, *names: str) -> dict[str, Any]:
    """The error, with names that the caller sent left out."""
    error = {**answer.error}
    for it in names:
        error = {key: str(value).replace(it, "NAME") for key, value in error.items()}
    return error


@pytest.mark.parametrize("target", ["sec/plan", "SEC/Plan", "sec/plan/in", "sec/pic.png", "s/plan"])
async def test_a_target_that_the_caller_may_not_write_is_refused_the_same_whatever_is_there(
    space: Space, target: str
) -> None:
    await trim(space, {"pub/z.md": "z\n", "sec/plan.md": "x\n", "sec/pic.png": "p"}, pub="writer")
    there = await space.ask_as_bo("rename_document", docName="pub/z", newDocName=target)
    free = await space.ask_as_bo("rename_document", docName="pub/z", newDocName="sec/free")
    assert refusal(there, target) == refusal(free, "sec/free")
    assert there.error["code"] == "FORBIDDEN"


@pytest.mark.parametrize("target", ["sec2", "SEC2", "sec2/z", "sec2/pics", "free"])
async def test_the_same_for_a_folder(space: Space, target: str) -> None:
    files = {"pub/z.md": "z\n", "sec2/z.md": "x\n", "sec2/pics/a.png": "p"}
    await trim(space, files, pub="writer")
    done = await space.ask_as_bo("rename_folder", fromFolder="pub", toFolder=target)
    other = await space.ask_as_bo("rename_folder", fromFolder="pub", toFolder="nothing")
    assert refusal(done, target) == refusal(other, "nothing")
    assert done.error["code"] == "FORBIDDEN"


async def test_a_hidden_folder_is_not_found_and_what_is_hidden_in_a_folder_is_not_named(
    space: Space,
) -> None:
    await trim(space, {"d/pub/z.md": "z\n", "d/sec/x.md": "x\n"}, **{"d/pub": "writer"})
    hidden = await space.ask_as_bo("rename_folder", fromFolder="d/sec", toFolder="d/pub/n")
    missing = await space.ask_as_bo("rename_folder", fromFolder="d/none", toFolder="d/pub/n")
    assert refusal(hidden, "d/sec") == refusal(missing, "d/none")
    assert hidden.error["code"] == "NOT_FOUND"
    above = await space.ask_as_bo("rename_folder", fromFolder="d", toFolder="d2")
    assert above.error["code"] == "FORBIDDEN"
    assert "sec" not in str(above.value)
    # A name that differs in case from a hidden one is free, as it is for write_document.
    space.write({"D/pub/q.md": "hidden\n"})
    moved = await space.ask_as_bo("rename_document", docName="d/pub/z", newDocName="d/pub/q")
    assert not moved.is_error, moved.text


async def test_links_in_hidden_documents_follow_a_rename_and_the_answer_does_not_tell(
    space: Space,
) -> None:
    files = {
        "pub/a.md": "a\n",
        "pub/b.md": "b\n",
        "sec/ref.md": "---\nlocked: true\n---\nSee [[pub/a]] and [it](../pub/a.md).\n",
        "sec/old.md": b"caf\xe9 [[pub/a]]\n".decode("latin-1"),
    }
    await trim(space, files, pub="writer")
    linked = await space.ask_as_bo("rename_document", docName="pub/a", newDocName="pub/a2")
    free = await space.ask_as_bo("rename_document", docName="pub/b", newDocName="pub/b2")
    assert not linked.is_error, linked.text
    assert linked.value["rewrittenDocs"] == []
    assert linked.value.keys() == free.value.keys()
    assert linked.text == free.text.replace("pub/b", "pub/a")
    text = "---\nlocked: true\n---\nSee [[pub/a2]] and [it](../pub/a2.md).\n"
    assert space.read("sec/ref.md") == text
    # It is a version that names its cause, and the store has it.
    [latest, *_] = (await space.value("get_history", docName="sec/ref"))["entries"]
    assert latest["message"].startswith("rename: pub/a -> pub/a2")
    assert len((await space.value("get_backlinks", docName="pub/a2"))["backlinks"]) == 2
    moved = await space.ask_as_bo("rename_folder", fromFolder="pub", toFolder="pub2")
    assert moved.error["code"] == "FORBIDDEN"
    inner = await space.ask_as_bo("rename_document", docName="pub/a2", newDocName="pub/in/a")
    assert not inner.is_error, inner.text
    folder = await space.ask_as_bo("rename_folder", fromFolder="pub/in", toFolder="pub/out")
    assert (folder.value["rewrittenDocs"], "0 links" in folder.text) == ([], True)
    assert "[[pub/out/a]]" in space.read("sec/ref.md")


async def test_links_in_documents_that_the_caller_sees_but_may_not_change_refuse_a_rename(
    space: Space,
) -> None:
    files = {"pub/a.md": "a\n", "ro/ref.md": "[[pub/a]]\n", "sec/ref.md": "[[pub/a]]\n"}
    await trim(space, files, pub="writer", ro="reader")
    refused = await space.ask_as_bo("rename_document", docName="pub/a", newDocName="pub/b")
    assert refused.error["code"] == "FORBIDDEN"
    assert refused.error["documents"] == ["ro/ref"]
    assert space.read("sec/ref.md") == "[[pub/a]]\n"


async def test_a_link_is_not_rewritten_to_the_name_of_a_hidden_document(space: Space) -> None:
    files = {
        "pub/a.md": "a\n",
        "pub/x.md": "[[plan]] [[Secret title]] [p](../sec/plan.md)\n",
        "sec/plan.md": "---\ntitle: Secret title\n---\n",
    }
    await trim(space, files, pub="writer")
    await space.ask_as_bo("rename_document", docName="pub/a", newDocName="pub/plan")
    done = await space.ask_as_bo("rename_document", docName="pub/plan", newDocName="pub/b")
    assert done.value["rewrittenDocs"] == [{"docName": "pub/x", "rewrites": 1}]
    await space.ask_as_bo("rename_document", docName="pub/b", newDocName="pub/Secret title")
    await space.ask_as_bo("rename_document", docName="pub/x", newDocName="pub/in/deep/x")
    assert "[p](../sec/plan.md)" in space.read("pub/in/deep/x.md")
    assert "[[sec/plan" not in space.read("pub/in/deep/x.md")


async def test_agents_put_nothing_by_a_rename_where_they_only_suggest(space: Space) -> None:
    files = {
        "policies/p.md": "[[one]]\n",
        "made.md": "made\n",
        "free/a.md": "a\n",
        "one.md": "1\n",
        "frozen/x.md": "x\n",
    }
    space.write({**files, ".pecia/config.yml": HELD})
    for tool, arguments in (
        ("rename_document", {"docName": "made", "newDocName": "policies/moved-in"}),
        ("rename_folder", {"fromFolder": "free", "toFolder": "policies/sub"}),
    ):
        refused = await space.ask(tool, **arguments)
        assert refused.error["code"] == "CONFLICT"
        assert "write_document" in refused.error["hint"]
    links = await space.ask("rename_document", docName="one", newDocName="one2")
    assert links.error["code"] == "CONFLICT"
    assert links.error["documents"] == ["policies/p"]
    for tool, arguments in (
        ("rename_document", {"docName": "made", "newDocName": "frozen/in"}),
        ("rename_folder", {"fromFolder": "free", "toFolder": "frozen/in"}),
    ):
        locked = await space.ask(tool, **arguments)
        assert "is locked by the folder rule" in locked.error["message"]
    assert {path: space.read(path) for path in files} == files
    # A person is not held.
    asked = {"space": space.name, "docName": "one", "newDocName": "policies/one"}
    await space.served.app.call(space.served.ana, "wiki.rename_document", asked, CONTEXT)
    assert space.read("policies/p.md") == "[[policies/one]]\n"
