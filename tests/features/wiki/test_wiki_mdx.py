"""Documents that end in `.mdx`: deleted and renamed, and brought back, over MCP."""

import pytest

from tests.features.wiki.conftest import Space

pytestmark = pytest.mark.anyio


async def test_a_deleted_mdx_comes_back_with_its_extension_and_history(space: Space) -> None:
    space.write({"page.mdx": "# One\n"})
    await space.value("write_document", docName="page", markdown="two\n", position="append")
    await space.value("delete_document", docName="page")
    assert not (space.folder / "page.mdx").exists()
    entries = (await space.value("get_history", docName="page"))["entries"]
    # What it was first, the write, the deletion.
    assert len(entries) == 3
    await space.value("rollback_to_version", docName="page", commitSha=entries[1]["sha"])
    assert space.read("page.mdx") == "# One\n\ntwo\n"
    assert not (space.folder / "page.md").exists()


async def test_an_mdx_that_was_renamed_comes_back_under_its_old_name(space: Space) -> None:
    space.write({"page.mdx": "# One\n", "x.md": "other\n"})
    await space.value("rename_document", docName="page", newDocName="d/sheet")
    entries = (await space.value("get_history", docName="page"))["entries"]
    assert entries[0]["message"].startswith("rename: page -> d/sheet")
    await space.value("rollback_to_version", docName="page", commitSha=entries[-1]["sha"])
    assert space.read("page.mdx") == "# One\n"
    # A document of the other kind under the name since then is another document.
    await space.value("delete_document", docName="page")
    await space.value("write_document", docName="page", markdown="plain\n", position="replace")
    history = (await space.value("get_history", docName="page"))["entries"]
    await space.value("rollback_to_version", docName="page", commitSha=history[-1]["sha"])
    assert space.read("page.md") == "plain\n"


async def test_a_new_document_has_the_extension_that_it_was_asked_for_with(space: Space) -> None:
    made = await space.value(
        "write_document", docName="x/new.mdx", markdown="# One\n", position="replace"
    )
    assert (made["docName"], made["path"], made["created"]) == ("x/new", "x/new.mdx", True)
    assert space.read("x/new.mdx") == "# One\n"
    assert not (space.folder / "x/new.md").exists()
    # One that exists is written where it is, by any of its names.
    again = await space.value(
        "write_document", docName="x/new.md", markdown="# Two\n", position="replace"
    )
    assert (again["path"], again["created"]) == ("x/new.mdx", False)
    assert space.read("x/new.mdx") == "# Two\n"
    plain = await space.value(
        "write_document", docName="x/plain.MD", markdown="a\n", position="replace"
    )
    assert plain["path"] == "x/plain.md"
