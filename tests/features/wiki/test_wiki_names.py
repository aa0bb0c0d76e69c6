"""Names that look like others, over MCP."""

from typing import Any

import pytest

from tests.features.wiki.conftest import Space

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
}


@pytest.mark.parametrize("name", NAMES)
async def test_a_new_name_that_looks_like_another_is_refused(space: Space, name: str) -> None:
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
    space.write({"x\u202ey.md": "words\n", "d /y.md": "words\n"})
    for name in ("x\u202ey", "d /y"):
        assert (await space.value("read_document", path=f"{name}.md"))["docName"] == name
        await space.value("edit_document", docName=name, find="words", replace="more")
    await space.value("rename_document", docName="x\u202ey", newDocName="می\u200cخواهم")
    await space.value("rename_document", docName="d /y", newDocName="👩\u200d🚀 log")
