"""Versions by the ids that a reader is shown, over MCP."""

import re

import pytest

from tests.features.wiki.conftest import Space

pytestmark = pytest.mark.anyio


async def test_the_ids_that_a_document_shows_are_taken(space: Space) -> None:
    for text in ("one\n", "two\n"):
        await space.value("write_document", docName="a", markdown=text, position="replace")
    shown = re.findall(
        r"^- ([0-9a-f]{7}) ", (await space.ask("read_document", path="a")).text, re.M
    )
    assert len(shown) == 2
    found = await space.value("compare_versions", docName="a", fromSha=shown[1], toSha=shown[0])
    assert "-one\n+two\n" in found["diff"]
    await space.value("rollback_to_version", docName="a", commitSha=shown[1])
    assert space.read("a.md") == "one\n"
    await space.value("delete_document", docName="a")
    await space.value("rollback_to_version", docName="a", commitSha=shown[0])
    assert space.read("a.md") == "two\n"
    other = await space.ask("compare_versions", docName="a", fromSha="0" * 7)
    assert (other.error["code"], other.error["field"]) == ("NOT_FOUND", "fromSha")


async def test_a_dead_link_is_marked_in_the_text_too(space: Space) -> None:
    space.write(
        {"a.md": "[[b]] [[none]] [f](d/) [w](https://x.y)\n", "b.md": "b\n", "d/c.md": "c\n"}
    )
    await space.value("get_dead_links")
    text = (await space.ask("read_document", path="a")).text
    assert "- none (none) [dead]\n" in text
    assert text.count("[dead]") == 1
