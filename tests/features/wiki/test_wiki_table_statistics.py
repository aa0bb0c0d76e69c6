"""After many documents came at once, the database plans with the tables as they are."""

import pytest

from tests.features.wiki.conftest import Served, Space

pytestmark = pytest.mark.anyio

PAGES = 400
PARAGRAPH = "The heron counts reeds by the quiet water at dawn, and then once more.\n\n"
TABLES = ("file", "revision", "chunk")


async def known(served: Served, table: str) -> tuple[float, int]:
    """How many rows the database plans with, and how many there are."""
    async with served.app.store.system() as tx:
        row = await tx.fetch_one(
            "SELECT reltuples AS believed, stored FROM pg_class,"
            " (SELECT count(*) AS stored FROM kernel.file) AS files"
            " WHERE oid = %(table)s::regclass",
            "no such table",
            table=f"kernel.{table}",
        )
    return row["believed"], row["stored"]


async def test_after_many_pages_came_at_once_searches_are_planned_for_them(space: Space) -> None:
    space.write({f"{n}.md": f"# Page {n}\n\n" + PARAGRAPH * 8 for n in range(PAGES)})
    await space.value("search", query="heron")
    for table in TABLES:
        believed, stored = await known(space.served, table)
        assert stored >= PAGES
        # Each page has one revision and one chunk.
        assert stored / 2 <= believed <= stored, table
