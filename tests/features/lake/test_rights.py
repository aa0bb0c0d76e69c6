"""Whatever the rights and the arguments: nothing of what is hidden shows, in any tool."""

import json
from random import Random
from typing import Any

import pytest

from pecia.kernel.errors import Json, NotFound
from tests.conftest import CONTEXT
from tests.features.lake.conftest import Lake

pytestmark = pytest.mark.anyio

# In each folder one note, with a word that no other holds.
FOLDERS = ["quince", "medlar", "damson", "bilberry", "sorrel", "juniper", "tansy", "yarrow"]
WORLDS = 6


def secret(folder: str) -> str:
    return folder[::-1]


@pytest.mark.requirement("lake.trim.every_tool", "lake.search.only_visible")
async def test_no_tool_shows_a_text_key_or_count_of_what_is_hidden(lake: Lake) -> None:
    lake.write({f"{it}/note.md": f"# Pads\n\nPads and {secret(it)}.\n" for it in FOLDERS})
    await lake.crawl()
    house = lake.house
    await house.call(house.ana, "set_source", source_id="docs", trim_mode="per_file")
    chance = Random(20)
    granted: set[str] = set()
    for _ in range(WORLDS):
        wanted = {it for it in FOLDERS if chance.random() < 0.5}
        for folder in sorted(granted ^ wanted):
            role: Json = "reader" if folder in wanted else None
            grant: dict[str, Json] = {"source_id": "docs", "to": "user:bo", "folder": folder}
            await house.call(house.ana, "grant", role=role, **grant)
        granted = wanted
        # At once, whatever an index still believes; and all of it when the index has followed.
        assert {*await found(lake, chance)} <= {f"{it}/note.md" for it in granted}
        await lake.index()
        await require_only(lake, granted, chance)


async def found(lake: Lake, chance: Random) -> list[str]:
    more: dict[str, Json] = chance.choice([{}, {"source_id": "docs"}, {"path": "*/*.md"}])
    try:
        answer = await lake.search("pads", mode="lexical", who=lake.house.bo, **more)
    except NotFound:
        return []
    return [it["key"] for it in answer["hits"]]


async def require_only(lake: Lake, granted: set[str], chance: Random) -> None:
    house = lake.house
    shown = sorted(f"{it}/note.md" for it in granted)
    said: list[Any] = []

    async def ask(tool: str, **arguments: Json) -> dict[str, Any]:
        given = await house.call(house.bo, tool, **arguments)
        said.append(given)
        return given

    hits = (await ask("search_content", query="pads", mode="lexical"))["hits"]
    assert sorted(it["key"] for it in hits) == shown
    sources = [it["source_id"] for it in (await ask("list_sources"))["sources"]]
    assert sources == (["docs"] if shown else [])
    if shown:
        limit = chance.randint(1, 9)
        page = await ask("list_files", source_id="docs", limit=limit)
        assert [it["key"] for it in page["files"]] == shown[:limit]
        assert (page["next_cursor"] is not None) == (len(shown) > limit)
    for folder in FOLDERS:
        words = await ask("search_content", query=secret(folder), mode="lexical")
        assert bool(words["hits"]) == (folder in granted)
        key = f"{folder}/note.md"
        for tool in ("get_file_text", "get_file_window", "get_file_metadata"):
            asked: dict[str, Json] = {"source_id": "docs", "key": key}
            if folder in granted:
                await ask(tool, **asked)
            else:
                with pytest.raises(NotFound):
                    await house.app.call(house.bo, tool, asked, CONTEXT)
    for hidden in {*FOLDERS} - granted:
        assert secret(hidden) not in json.dumps(said)
        assert f"{hidden}/note" not in json.dumps(said)
