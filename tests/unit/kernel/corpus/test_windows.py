"""Windows, hits and neighbours: exactly the text, and only what the caller may see."""

import pytest

from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.texts import put, read_text, remove
from pecia.kernel.corpus.search.excerpt import build_window
from pecia.kernel.corpus.search.hydrate import hydrate, load_neighbours, read_window
from pecia.kernel.errors import NotFound, OutOfRange
from tests.unit.kernel.corpus.corpus_fixture import SOURCE, CorpusFixture, pages

pytestmark = pytest.mark.anyio

WORDS = [f"word{n}" for n in range(9)]


async def test_windows_one_after_another_are_the_whole_text(ground: CorpusFixture) -> None:
    await ground.put("a.md", *WORDS)
    read: list[str] = []
    async with ground.store.reading(ground.ana) as tx:
        start: int | None = 0
        while start is not None:
            window = await read_window(tx, SOURCE, "a.md", start, 2)
            read.append(window.text)
            start = window.next_start
        assert "".join(read) == (await read_text(tx, SOURCE, "a.md")).text
    assert len(read) > 2


async def test_a_window_past_the_end_is_empty(ground: CorpusFixture) -> None:
    await ground.put("a.md", "apples")
    async with ground.store.reading(ground.ana) as tx:
        window = await read_window(tx, SOURCE, "a.md", 50, 10)
    assert (window.chunks, window.next_start) == ((), None)


@pytest.mark.parametrize(
    ("start", "size", "field"), [(-1, 1, "start"), (0, 0, "size"), (0, 201, "size")]
)
async def test_a_window_out_of_range_is_refused(
    ground: CorpusFixture, start: int, size: int, field: str
) -> None:
    async with ground.store.reading(ground.ana) as tx:
        with pytest.raises(OutOfRange) as caught:
            await read_window(tx, SOURCE, "a.md", start, size)
    assert caught.value.fields["field"] == field


async def test_hits_come_in_the_order_asked_for_without_those_that_are_gone(
    ground: CorpusFixture,
) -> None:
    await ground.put("a.md", *WORDS[:3])
    await ground.put("b.md", "apples")
    ids = [it for (it,) in await ground.ask("SELECT id FROM kernel.chunk ORDER BY id DESC")]
    async with ground.writing(ground.ana) as tx:
        await remove(tx, SOURCE, "b.md")
    async with ground.store.reading(ground.ana) as tx:
        found = await hydrate(tx, [999_999, *ids])
    assert [it.id for it in found] == ids[1:]


async def test_a_hit_says_where_it_is(ground: CorpusFixture) -> None:
    text = pages("first", "second")
    async with ground.writing(ground.ana) as tx:
        stored = await put(tx, FileMetadata(SOURCE, "a.pdf", content_type="application/pdf"), text)
    ((id_,),) = await ground.ask("SELECT id FROM kernel.chunk WHERE seq = 1")
    async with ground.store.reading(ground.ana) as tx:
        (hit,) = await hydrate(tx, [id_])
    assert (hit.key, hit.title, hit.revision_id) == ("a.pdf", "Paged", stored.revision_id)
    assert (hit.page_no, hit.unit_label, hit.content_type) == (2, "p. 2", "application/pdf")
    assert text.canonical.text[hit.start : hit.end] == hit.text == "second"


async def test_nobody_reads_a_chunk_of_a_file_they_may_not_see(ground: CorpusFixture) -> None:
    await ground.put("a.md", *WORDS)
    ids = [it for (it,) in await ground.ask("SELECT id FROM kernel.chunk")]
    async with ground.store.reading(ground.ana) as tx:
        hits = await hydrate(tx, ids)
    assert len(hits) == len(WORDS)
    for who in (ground.bo, ground.away):
        async with ground.store.reading(who) as tx:
            assert await hydrate(tx, ids) == []
            # Whoever knew the hits would still see nothing around them.
            assert await load_neighbours(tx, hits) == {it.id: [it] for it in hits}
            with pytest.raises(NotFound):
                await read_window(tx, SOURCE, "a.md", 0, 10)


async def test_neighbours_make_a_window_around_a_hit(ground: CorpusFixture) -> None:
    await ground.put("a.md", *WORDS)
    ids = [it for (it,) in await ground.ask("SELECT id FROM kernel.chunk ORDER BY seq")]
    async with ground.store.reading(ground.ana) as tx:
        around = await load_neighbours(tx, await hydrate(tx, [ids[0], ids[4], ids[-1]]))
        whole = (await read_text(tx, SOURCE, "a.md")).text
    assert [it.seq for it in around[ids[0]]] == [0, 1]
    assert [it.seq for it in around[ids[4]]] == [3, 4, 5]
    assert [it.seq for it in around[ids[-1]]] == [len(ids) - 2, len(ids) - 1]
    window = build_window(around[ids[4]], 4)
    assert window.text == whole[window.span.start : window.span.end]
