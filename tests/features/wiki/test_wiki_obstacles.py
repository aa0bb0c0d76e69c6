"""Links and files in the way of a new name, over MCP."""

from typing import Any

import pytest

from tests.features.wiki.conftest import Space

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("linked/n", "'linked' is a symbolic link"),
        ("linked/secret", "'linked' is a symbolic link"),
        ("f/inner/n", "'f/inner' is a symbolic link"),
        ("plain/n", "'plain' is a file"),
        ("link", "'link.md' is a symbolic link"),
    ],
)
async def test_what_is_in_the_way_of_a_new_document_is_named_with_the_argument(
    space: Space, name: str, why: str
) -> None:
    outside = space.folder.parent / "outside"
    outside.mkdir()
    space.write({"../outside/secret.md": "SECRET", "a.md": "# A\n", "f/b.md": "b", "plain": "p"})
    (space.folder / "linked").symlink_to(outside)
    (space.folder / "f/inner").symlink_to(".")
    (space.folder / "link.md").symlink_to(outside / "secret.md")
    asked: list[tuple[str, dict[str, Any], str]] = [
        ("write_document", {"docName": name, "markdown": "x", "position": "replace"}, "docName"),
        ("create_document", {"docName": name}, "docName"),
        ("write_documents", {"documents": [{"docName": name, "markdown": "x"}]}, "docName"),
    ]
    if "/" in name:
        asked += [
            ("rename_document", {"docName": "a", "newDocName": name}, "newDocName"),
            ("rename_folder", {"fromFolder": "f", "toFolder": name}, "toFolder"),
            ("rename_folder", {"fromFolder": name, "toFolder": "g"}, "fromFolder"),
        ]
    for tool, arguments, field in asked:
        if tool == "rename_folder" and name.startswith("f/") and field == "toFolder":
            continue
        error = (await space.ask(tool, **arguments)).error
        assert (error["code"], error["field"]) == ("INVALID_INPUT", field), (tool, error)
        assert why in error["message"], (tool, error)
        assert ".mdx" not in error["message"]
    assert space.read("../outside/secret.md") == "SECRET"
