"""A source whose configuration was stored before it would have been refused: its crawl says so."""

from typing import Any

import pytest
from psycopg.types.json import Jsonb

from tests.features.lake.conftest import SOURCE, Lake

pytestmark = pytest.mark.anyio


async def store(lake: Lake, **changes: Any) -> None:
    async with lake.house.app.store.system() as tx:
        await tx.execute(
            "UPDATE kernel.source SET config = config || %(changes)s WHERE id = %(source)s",
            changes=Jsonb(changes),
            source=SOURCE,
        )


async def keys(lake: Lake) -> list[str]:
    listed = await lake.house.call(lake.house.ana, "list_files", source_id=SOURCE)
    return [it["key"] for it in listed["files"]]


@pytest.mark.parametrize("field", ["include", "exclude"])
@pytest.mark.parametrize("glob", ["[a", "drafts/[!]", "[]*.md"])
async def test_a_glob_that_is_malformed_fails_the_crawl_and_is_named(
    lake: Lake, field: str, glob: str
) -> None:
    """Taken as it is written it would let in nothing, or keep nothing out."""
    lake.write({"a.md": "A heron.\n"})
    assert (await lake.crawl())["state"] == "done"
    await store(lake, **{field: ["*.md", glob]})
    lake.write({"b.md": "Another.\n"})
    status = await lake.crawl()
    assert status["state"] == "failed"
    assert f'"{field}"' in status["problem"]
    assert glob in status["problem"]
    assert await keys(lake) == ["a.md"]
    mended: dict[str, Any] = {field: ["*.md"] if field == "include" else []}
    await lake.house.call(lake.house.ana, "set_source", source_id=SOURCE, **mended)
    assert (await lake.crawl())["state"] == "done"
    assert await keys(lake) == ["a.md", "b.md"]


async def test_a_configuration_that_is_damaged_fails_the_crawl(lake: Lake) -> None:
    lake.write({"a.md": "A heron.\n"})
    await lake.crawl()
    await store(lake, most_bytes="many")
    status = await lake.crawl()
    assert status["state"] == "failed"
    assert "most_bytes" in status["problem"]
    assert await keys(lake) == ["a.md"]


async def test_a_source_whose_connector_is_not_installed_any_more_says_so_and_can_be_removed(
    lake: Lake,
) -> None:
    lake.write({"a.md": "A heron.\n"})
    await lake.crawl()
    await store(lake, origin={"kind": "mailbox", "mailbox": "/mail"})
    status = await lake.crawl()
    assert status["state"] == "failed"
    assert "no connector of this server reads sources of kind 'mailbox'" in status["problem"]
    # What was read stays readable.
    assert await keys(lake) == ["a.md"]
    house = lake.house
    off = await house.call(house.ana, "set_source", source_id=SOURCE, enabled=False)
    assert off["enabled"] is False
    await house.call(house.ana, "remove_source", source_id=SOURCE)
