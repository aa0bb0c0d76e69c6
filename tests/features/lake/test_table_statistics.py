"""While a source is filled, the database hears how large its tables have become."""

import pytest

from tests.features.lake.conftest import Lake

pytestmark = pytest.mark.anyio

PARAGRAPH = "The heron counts reeds by the quiet water at dawn, and then once more.\n\n"

BELIEVED = "SELECT reltuples FROM pg_class WHERE oid = 'kernel.chunk'::regclass"
STORED = "SELECT count(*) FROM kernel.chunk"


async def known(lake: Lake) -> tuple[float, int]:
    """How many chunks the database plans with, and how many there are."""
    async with lake.house.app.store.system() as tx:
        return await tx.fetch_value(BELIEVED), await tx.fetch_value(STORED)


async def test_when_a_first_crawl_is_over_searches_are_planned_for_what_it_stored(
    lake: Lake,
) -> None:
    lake.write({f"{it}.md": f"# {it}\n\n" + PARAGRAPH * 500 for it in range(12)})
    assert (await lake.crawl())["state"] == "done"
    believed, stored = await known(lake)
    assert stored > 200
    assert stored / 2 <= believed <= stored


async def test_a_source_that_grows_is_looked_at_again_when_it_has_doubled(lake: Lake) -> None:
    for turn in range(2):
        files = {f"{turn}/{it}.md": PARAGRAPH * 500 for it in range(6 << turn)}
        lake.write(files)
        await lake.crawl()
        believed, stored = await known(lake)
        assert stored / 2 <= believed <= stored


async def test_what_did_not_grow_is_left_alone(lake: Lake) -> None:
    lake.write({f"{it}.md": PARAGRAPH * 500 for it in range(12)})
    await lake.crawl()
    async with lake.house.app.store.system() as tx:
        await tx.fetch_value("SELECT lake.analyze_grown()")
        assert await tx.fetch_value("SELECT lake.analyze_grown()") == 0
