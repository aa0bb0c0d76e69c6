"""Documents named by the URI of a hit, and what is said where a path leads to no document."""

import pytest

from pecia.kernel.corpus.file_uri import file_uri
from tests.conftest import CONTEXT
from tests.features.wiki.conftest import Served, Space

pytestmark = pytest.mark.anyio


@pytest.fixture
def howto(space: Space) -> Space:
    space.write({"howto/vpn 50%.md": "# VPN\n\nold words\n", "index.md": "[[howto/vpn 50%]]\n"})
    return space


def uri(space: Space, key: str) -> str:
    return file_uri(f"wiki:{space.name}", key)


async def test_the_uri_of_a_hit_names_its_document_and_its_space(howto: Space) -> None:
    served, name = howto.served, uri(howto, "howto/vpn 50%.md")
    # Without `space`, of which there are several.
    read = await served.call(None, "read_document", {"path": name})
    assert (read.is_error, read.value["docName"]) == (False, "howto/vpn 50%")
    edit = {"docName": name, "find": "old", "replace": "new"}
    assert not (await served.call(None, "edit_document", edit)).is_error
    for tool, arguments in (
        ("write_document", {"docName": uri(howto, "howto/new.md"), "markdown": "n\n"}),
        ("write_documents", {"documents": [{"docName": name, "markdown": "more\n"}]}),
        ("patch_frontmatter", {"docName": name, "patch": {"tags": ["a"]}}),
        ("create_document", {"docName": uri(howto, "made.md")}),
        ("get_history", {"docName": name}),
        ("get_backlinks", {"docName": f"{name}?start=3"}),
        ("get_context", {"docName": name}),
        ("list_suggestions", {"docName": name}),
        ("rename_document", {"docName": name, "newDocName": "howto/vpn"}),
        ("delete_document", {"docName": uri(howto, "howto/vpn.md")}),
    ):
        answer = await served.call(None, tool, arguments)
        assert not answer.is_error, (tool, answer.text)
    assert howto.read("howto/new.md") == "n\n"
    assert sorted(it.name for it in howto.folder.glob("howto/*")) == ["new.md"]


async def test_a_uri_and_a_space_that_contradict_each_other_are_refused(
    howto: Space, served: Served
) -> None:
    name = uri(howto, "index.md")
    agreed = await howto.ask("read_document", path=name)
    assert agreed.value["docName"] == "index"
    by_id = await served.call(None, "read_document", {"path": name, "space": f"wiki:{howto.name}"})
    assert by_id.value["docName"] == "index"
    other = await howto.ask("read_document", path="pecia://file/wiki%3Aother/index.md")
    assert (other.error["code"], other.error["field"]) == ("INVALID_INPUT", "path")
    asked = {"name": howto.name, "new_name": f"{howto.name}-new"}
    await served.app.call(served.ana, "rename_space", asked, CONTEXT)
    renamed = {"docName": name, "space": f"{howto.name}-new", "find": "[[", "replace": "[[ "}
    assert not (await served.call(None, "edit_document", renamed)).is_error


async def test_a_uri_is_from_the_project_and_a_name_from_the_content_folder(space: Space) -> None:
    space.write({".pecia/config.yml": "content:\n  dir: docs\n", "docs/a.md": "one\n"})
    name = uri(space, "docs/a.md")
    assert (await space.value("read_document", path=name))["docName"] == "a"
    await space.value("edit_document", docName=name, find="one", replace="two")
    assert space.read("docs/a.md") == "two\n"


async def test_a_uri_of_a_hidden_document_is_refused_as_a_missing_one(howto: Space) -> None:
    await howto.admin("set_source", trim_mode="per_file")
    await howto.admin("grant", folder="howto/", to="user:bo", role="writer")
    refused = [
        await howto.served.call(howto.served.bo_token, "read_document", {"path": uri(howto, it)})
        for it in ("index.md", "nothing.md")
    ]
    hidden, missing = (it.text.replace("index", "NAME") for it in refused)
    assert hidden == missing.replace("nothing", "NAME")
    assert refused[0].error["code"] == "NOT_FOUND"


async def test_the_text_of_a_write_names_the_file(space: Space) -> None:
    saved = await space.ask("write_document", docName="pic.png", markdown="x\n")
    assert saved.text.startswith("Saved pic.png.md, version ")
    assert space.read("pic.png.md") == "x\n"


async def test_a_write_that_changes_nothing_says_so(space: Space) -> None:
    space.write({"a.md": "---\ntitle: T\n---\nsame\n"})
    version = (await space.value("read_document", path="a"))["version"]
    same = {"docName": "a", "find": "same", "replace": "same"}
    whole = {"docName": "a", "markdown": space.read("a.md"), "position": "replace"}
    for tool, arguments in (
        ("edit_document", same),
        ("write_document", whole),
        ("patch_frontmatter", {"docName": "a", "patch": {"title": "T"}}),
    ):
        answer = await space.ask(tool, **arguments)
        assert answer.text.startswith("Nothing changed in "), answer.text
        assert (answer.value["unchanged"], answer.value["version"]) == (True, version)
    changed = await space.ask("edit_document", docName="a", find="same", replace="other")
    assert "unchanged" not in changed.value


async def test_a_folder_says_that_it_is_one_and_a_binary_file_that_it_is_not_shown(
    space: Space,
) -> None:
    space.write({"projects/a.md": "a\n", "projects/b.md": "b\n", "bin.md": b"\x00\xff\xfe\x01" * 9})
    folder = (await space.ask("read_document", path="projects")).error
    assert folder["message"] == "'projects' is a folder of 2 documents, not a document"
    assert folder["hint"] == 'list_documents with "dir": "projects" lists them.'
    binary = (await space.ask("read_document", path="bin.md")).error
    assert binary["hint"].endswith("no tool of the wiki shows them.")


async def test_the_text_of_a_document_tells_its_open_suggestions(space: Space) -> None:
    space.write({"a.md": "one\n"})
    assert "suggestions" not in (await space.ask("read_document", path="a")).text
    await space.value("edit_document", docName="a", find="one", replace="two", suggest=True)
    text = (await space.ask("read_document", path="a")).text
    assert "**Open suggestions:** 1; list_suggestions has them\n" in text
