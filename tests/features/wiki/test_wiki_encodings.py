"""Documents that are not in UTF-8: read, searched and never corrupted, over MCP."""

import os

import pytest

from pecia.kernel.jobs.worker import run_until_idle
from tests.features.wiki.conftest import Space

pytestmark = pytest.mark.anyio

LATIN = "# Über uns\n\nDie Straße nach Köln ist länger als die nach Düsseldorf.\n".encode("latin-1")


async def test_ranked_search_reads_a_document_in_another_charset(space: Space) -> None:
    space.write({"old.md": LATIN, "new.md": "# New\n\nDie Straße nach Bonn.\n"})
    # The lake reads it first, as a worker that watches the folder does; it is old enough to be
    # believed by its time alone.
    os.utime(space.folder / "old.md", (1_700_000_000, 1_700_000_000))
    await space.admin("crawl_source")
    await run_until_idle(space.served.app.store, space.served.app.jobs)
    await space.served.index()
    ranked = await space.value("search", query="Straße", mode="ranked")
    assert {it["docName"] for it in ranked["results"]} == {"old", "new"}
    literal = await space.value("search", query="Köln")
    assert [it["docName"] for it in literal["results"]] == ["old"]
    read = await space.value("read_document", path="old.md")
    assert read["content"] == LATIN.decode("latin-1")
    listed = await space.value("exec", command="cat old.md")
    assert "Köln" in listed["stdout"]


async def test_what_is_no_text_is_left_out_of_a_search_and_named(space: Space) -> None:
    space.write({"noise.md": bytes(range(256)) * 8, "a.md": "alpha\n"})
    found = await space.value("search", query="alpha")
    assert [it["docName"] for it in found["results"]] == ["a"]
    assert [it["path"] for it in found["unread"]] == ["noise.md"]
    await space.served.index()
    ranked = await space.value("search", query="alpha", mode="ranked")
    assert [it["docName"] for it in ranked["results"]] == ["a"]


async def test_no_tool_rewrites_bytes_that_it_cannot_write_back(space: Space) -> None:
    linking = "Mehr über [[a]].\n".encode("latin-1")
    space.write({"old.md": linking, "a.md": "alpha\n"})
    for position in ("append", "prepend", "replace"):
        refused = await space.ask(
            "write_document", docName="old", markdown="new\n", position=position
        )
        assert "UTF-8" in refused.error["message"]
    refused = await space.ask("edit_document", docName="old", find="Mehr", replace="Less")
    assert "UTF-8" in refused.error["message"]
    moved = await space.value("rename_document", docName="a", newDocName="b")
    assert moved["notRewritten"] == ["old"]
    await space.value("rename_document", docName="old", newDocName="d/old")
    assert (space.folder / "d/old.md").read_bytes() == linking
