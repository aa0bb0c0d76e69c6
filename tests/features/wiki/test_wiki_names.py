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
