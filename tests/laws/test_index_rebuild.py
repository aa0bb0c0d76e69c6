"""An index that is built anew is searched all the while, and no answer is wrong or short."""

from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from pecia.app.app import index_root
from pecia.kernel.corpus.keyword.directory import IndexDirectory
from pecia.kernel.corpus.keyword.maintenance import IndexMaintenance
from pecia.kernel.errors import Json
from tests.laws.test_lake_pages import WORDS, At, Large, at, large

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

__all__ = ["large"]

TIMES = 3


@dataclass(slots=True)
class Searches:
    """How many there were, for one who waits for more."""

    count: int = 0
    are_over: bool = False
    another: anyio.Event = field(default_factory=anyio.Event)

    def add(self) -> None:
        self.count += 1
        self.another.set()
        self.another = anyio.Event()

    async def more(self, wanted: int) -> None:
        enough = self.count + wanted
        with anyio.fail_after(30):
            while self.count < enough:
                await self.another.wait()


async def test_searches_are_whole_while_the_index_is_built_anew(large: Large) -> None:
    app = large.house.app
    root = index_root(app.settings.kernel)
    tending = IndexMaintenance(app.store, root)
    [tenant] = [it for it in await tending.list_tenants(None) if it.id == large.house.ana.tenant_id]
    place = IndexDirectory.of(root, tenant.id)
    before_bytes = place.size_bytes()
    searches = Searches()

    async def search(who: str, mode: str) -> None:
        expected = await answered(large, who, mode)
        while not searches.are_over:
            assert await answered(large, who, mode) == expected, (who, mode)
            searches.add()

    async with anyio.create_task_group() as tasks:
        for who, mode in (("most", "lexical"), ("few", "lexical"), ("most", "hybrid")):
            tasks.start_soon(search, who, mode)
        for _ in range(TIMES):
            had = searches.count
            assert (await tending.rebuild(tenant)).state == "ready"
            assert searches.count > had
            await searches.more(3)
        searches.are_over = True
    generations = [it for it in place.folder.iterdir() if it.is_dir()]
    assert generations == [place.current_generation()]
    assert place.size_bytes() < 2 * before_bytes


async def answered(large: Large, who: str, mode: str) -> set[At]:
    """All hits of one place, which are fewer than a page."""
    asked: dict[str, Json] = {"query": WORDS[0], "mode": mode, "path": "*/1.txt", "limit": 100}
    found: dict[str, Any] = await large.house.call(large.callers[who][0], "search_content", **asked)
    rest = [it for it in found["degraded"] if "embeddings are still being made" not in it]
    assert (found["has_more"], rest) == (False, [])
    return {at(it) for it in found["hits"]}
