"""An answer is of one moment: what commits while it is made changes all of it, or nothing."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from pecia.app.app import index_root
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.texts import put, put_many
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.corpus.search.hydrate import read_window
from pecia.kernel.corpus.search.search import Corpus, SearchMode, SearchRequest, SearchResult
from pecia.kernel.store.store import Transaction
from tests.laws.lake_clients import Hashing, index
from tests.laws.test_index_rebuild import Searches
from tests.laws.test_lake_pages import SOURCE, WORDS, Large, grant, large
from tests.unit.kernel.corpus.corpus_fixture import plain

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

__all__ = ["large"]
MOST_STATEMENTS = 12


class Interrupted:
    """A transaction in which something happens before its nth statement."""

    def __init__(self, tx: Transaction, nth: int, happen: Callable[[], Awaitable[None]]) -> None:
        self._tx, self._left, self._happen = tx, nth, happen

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def asked(*args: Any, **values: Any) -> Any:
            self._left -= 1
            if self._left == 0:
                await self._happen()
            return await getattr(self._tx, name)(*args, **values)

        return asked


@pytest.mark.parametrize("mode", [*SearchMode])
async def test_a_search_is_of_one_moment_whatever_is_revoked_meanwhile(
    large: Large, mode: SearchMode
) -> None:
    house, (caller, folders) = large.house, large.callers["most"]
    app = house.app
    corpus = Corpus(app.store, ReaderCache(index_root(app.settings.kernel)), Hashing())
    ask = SearchRequest(WORDS[0], limit=20, mode=mode)
    gone = sorted(folders)[::4]

    held: list[str | None] = ["reader"]

    async def change(role: str | None) -> None:
        for folder in gone if held[-1] != role else ():
            await grant(house, "most", folder, role)
        held.append(role)

    async def said(nth: int) -> tuple[list[tuple[str, int]], bool]:
        async with app.store.reading(caller) as tx:
            interrupted: Any = Interrupted(tx, nth, lambda: change(None))
            return told(await corpus.search_in(interrupted, caller, ask))

    before = told(await corpus.search(caller, ask))
    await change(None)
    after = told(await corpus.search(caller, ask))
    assert before != after
    for nth in range(1, MOST_STATEMENTS):
        await change("reader")
        assert await said(nth) in (before, after), nth
        await change(None)


@pytest.mark.parametrize("mode", [*SearchMode])
async def test_a_search_is_whole_whenever_the_index_comes_up_meanwhile(
    large: Large, mode: SearchMode
) -> None:
    """It may ask the index twice, and be told by one that lags and then by one that does not."""
    house, (caller, folders) = large.house, large.callers["most"]
    app, tenant_id = house.app, house.ana.tenant_id
    corpus = Corpus(app.store, ReaderCache(index_root(app.settings.kernel)), Hashing())
    ask = SearchRequest(WORDS[0], limit=40, mode=mode)
    came_up: list[int] = []
    for nth in range(1, MOST_STATEMENTS):
        async with app.store.system() as tx:
            await put(tx, FileMetadata(SOURCE, "f00/0.txt"), plain(f"{nth}"), tenant_id=tenant_id)

        async def come_up(nth: int = nth) -> None:
            await index(app, [str(tenant_id)])
            came_up.append(nth)

        async with app.store.reading(caller) as tx:
            interrupted: Any = Interrupted(tx, nth, come_up)
            hits, has_more = told(await corpus.search_in(interrupted, caller, ask))
        assert (len({*hits}), has_more) == (40, True), nth
        assert {key.partition("/")[0] for key, _ in hits} <= folders
        await index(app, [str(tenant_id)])
    assert len(came_up) > 3


async def test_a_window_is_of_one_revision_whatever_is_put_meanwhile(large: Large) -> None:
    house, key = large.house, "f00/0.txt"

    async def rewrite() -> None:
        async with house.app.store.system() as tx:
            text = plain("one", "two", "three", "four", "five")
            await put(tx, FileMetadata(SOURCE, key), text, tenant_id=house.ana.tenant_id)

    async with house.app.store.reading(house.ana) as tx:
        interrupted: Any = Interrupted(tx, 2, rewrite)
        window = await read_window(interrupted, SOURCE, key, 0, 40)
    assert len(window.chunks) == window.chunk_count


def told(answer: SearchResult) -> tuple[list[tuple[str, int]], bool]:
    return [(it.passage.key, it.passage.seq) for it in answer.hits], answer.has_more


async def test_searches_are_whole_while_a_large_source_is_removed(large: Large) -> None:
    """Every page is one of all that was there, or one of what is left; then the index follows."""
    house = large.house
    big = [(FileMetadata("big", f"{n}.txt"), plain(f"heron {n}")) for n in range(300)]
    await house.call(house.ana, "add_source", source_id="big", trim_mode="open", protocol="upload")
    async with house.app.store.system() as tx:
        await put_many(tx, big, tenant_id=house.ana.tenant_id)
    await index(house.app, [str(house.ana.tenant_id)])
    caller = large.callers["few"][0]
    removed = 0
    searches = Searches()

    async def search() -> None:
        while not searches.are_over:
            begun = removed
            asked: dict[str, Any] = {"query": "heron", "mode": "lexical", "limit": 40}
            page = await house.call(caller, "search_content", **asked)
            shown = {it["source_id"] for it in page["hits"]}
            assert len(page["hits"]) == 40 or not page["has_more"], len(page["hits"])
            assert not (begun and "big" in shown)
            searches.add()

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(search)
        await searches.more(3)
        await house.call(house.ana, "remove_source", source_id="big")
        removed = 1
        await searches.more(3)
        await index(house.app, [str(house.ana.tenant_id)])
        await searches.more(3)
        searches.are_over = True
