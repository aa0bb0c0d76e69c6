"""Files with their texts: what is stored, what stays, what is gone."""

import threading
from collections.abc import Awaitable
from typing import Any

import anyio
import pytest
from anyio.to_thread import run_sync

from pecia.kernel.corpus.catalog import texts
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.texts import (
    ExtractedText,
    StoredFile,
    move,
    purge,
    put,
    put_many,
    read_text,
    remove,
    with_chunks,
)
from pecia.kernel.errors import Forbidden, InvalidInput, NotFound, PeciaError
from pecia.kernel.text.canonical import build_canonical_text
from pecia.kernel.text.chunks.chunk import Chunk, chunk_text
from tests.unit.kernel.corpus.corpus_fixture import SOURCE, CorpusFixture, pages, plain

pytestmark = pytest.mark.anyio

CHUNKS = "SELECT id, seq, text FROM kernel.chunk ORDER BY file_id, seq"


async def test_a_text_is_read_back_as_it_was_put(ground: CorpusFixture) -> None:
    text = pages("first page", "second page")
    async with ground.writing(ground.ana) as tx:
        stored = await put(tx, FileMetadata(SOURCE, "a.pdf", content_type="application/pdf"), text)
    async with ground.store.reading(ground.ana) as tx:
        read = await read_text(tx, SOURCE, "a.pdf")
    assert (read.text, read.units) == (text.canonical.text, text.canonical.units)
    assert (read.revision_id, read.sha256) == (stored.revision_id, text.canonical.sha256)
    assert stored.changed
    assert read.is_current
    assert read.status == "ok"


async def test_chunks_are_slices_of_the_text(ground: CorpusFixture) -> None:
    text = pages("first page", "second page")
    async with ground.writing(ground.ana) as tx:
        await put(tx, FileMetadata(SOURCE, "a.pdf"), text)
    rows = await ground.ask(
        "SELECT char_start, char_end, text, page_no, unit_label FROM kernel.chunk ORDER BY seq"
    )
    assert [it[3:] for it in rows] == [(1, "p. 1"), (2, "p. 2")]
    assert all(text.canonical.text[start:end] == words for start, end, words, *_ in rows)


async def test_a_text_that_was_cut_before_is_stored_like_any_other(ground: CorpusFixture) -> None:
    text = pages("first page", "second page")
    async with ground.writing(ground.ana) as tx:
        await put_many(
            tx, [(FileMetadata(SOURCE, "a"), text), (FileMetadata(SOURCE, "b"), with_chunks(text))]
        )
    rows = await ground.ask(
        "SELECT f.key, c.seq, c.char_start, c.char_end, c.text, c.page_no, c.text_hash"
        "  FROM kernel.chunk c JOIN kernel.file f ON f.id = c.file_id ORDER BY f.key, c.seq"
    )
    assert [it[1:] for it in rows if it[0] == "a"] == [it[1:] for it in rows if it[0] == "b"]
    assert len(rows) == 4


async def test_others_go_on_while_a_text_is_cut(
    ground: CorpusFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, gone_on = threading.Event(), threading.Event()

    def waiting(*asked: Any) -> list[Chunk]:
        begun.set()
        assert gone_on.wait(30), "nothing else was done meanwhile"
        return chunk_text(*asked)

    async def other() -> None:
        await run_sync(begun.wait, 30)
        gone_on.set()

    monkeypatch.setattr(texts, "chunk_text", waiting)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(other)
        assert (await ground.put("a.md", "apples")).changed


async def test_the_same_text_makes_no_second_revision(ground: CorpusFixture) -> None:
    first = await ground.put("a.md", "apples", "pears")
    chunks = await ground.ask(CHUNKS)
    again = await ground.put("a.md", "apples", "pears")
    assert (again.file_id, again.revision_id, again.changed) == (*_ids(first), False)
    assert await ground.ask(CHUNKS) == chunks


async def test_words_that_stay_keep_their_chunk(ground: CorpusFixture) -> None:
    await ground.put("a.md", "apples", "pears", "plums")
    before = {words[:5]: id_ for id_, _, words in await ground.ask(CHUNKS)}
    stored = await ground.put("a.md", "quinces", "plums", "apples")
    after = {words[:5]: id_ for id_, _, words in await ground.ask(CHUNKS)}
    assert stored.changed
    assert {it: after[it] for it in ("plums", "apple")} == {
        it: before[it] for it in ("plums", "apple")
    }
    assert after["quinc"] not in before.values()
    assert "pears" not in after
    assert [seq for _, seq, _ in await ground.ask(CHUNKS)] == [0, 1, 2]


async def test_chunks_before_an_edit_are_not_written_again(ground: CorpusFixture) -> None:
    where = "SELECT ctid::text, text FROM kernel.chunk ORDER BY seq"
    await ground.put("a.md", "apples", "pears", "plums")
    before = await ground.ask(where)
    await ground.put("a.md", "apples", "pears", "plums and more")
    assert (await ground.ask(where))[:2] == before[:2]


async def test_an_earlier_revision_can_still_be_read(ground: CorpusFixture) -> None:
    first = await ground.put("a.md", "apples")
    await ground.put("a.md", "pears")
    async with ground.store.reading(ground.ana) as tx:
        earlier = await read_text(tx, SOURCE, "a.md", first.revision_id)
        assert earlier.text.startswith("apples")
        assert not earlier.is_current
        with pytest.raises(NotFound):
            await read_text(tx, SOURCE, "a.md", 999_999)


async def test_facts_alone_leave_the_text_as_it_was(ground: CorpusFixture) -> None:
    first = await ground.put("a.md", "apples", title="Fruit")
    async with ground.writing(ground.ana) as tx:
        again = await put(tx, FileMetadata(SOURCE, "a.md", size_bytes=7), None)
        read = await read_text(tx, SOURCE, "a.md")
    assert _ids(again) == _ids(first)
    assert not again.changed
    assert (read.title, read.status) == ("Fruit", "ok")
    assert read.text.startswith("apples")


async def test_a_file_that_can_no_longer_be_read_loses_its_text(ground: CorpusFixture) -> None:
    await ground.put("a.pdf", "apples")
    locked = ExtractedText(
        build_canonical_text([]), status="encrypted", reason="it asks for a password"
    )
    async with ground.writing(ground.ana) as tx:
        stored = await put(tx, FileMetadata(SOURCE, "a.pdf"), locked)
        read = await read_text(tx, SOURCE, "a.pdf")
    assert stored.changed
    assert stored.revision_id is None
    assert (read.status, read.reason, read.text) == ("encrypted", "it asks for a password", "")
    assert await ground.ask(CHUNKS) == []
    assert await ground.ask("SELECT sum(chunks) FROM kernel.acl") == [(0,)]


async def test_a_rename_keeps_text_and_chunks(ground: CorpusFixture) -> None:
    stored = await ground.put("a.md", "apples")
    chunks = await ground.ask(CHUNKS)
    async with ground.writing(ground.ana) as tx:
        await move(tx, SOURCE, "a.md", "b/c.md")
        read = await read_text(tx, SOURCE, "b/c.md")
    assert (read.file_id, read.revision_id) == _ids(stored)
    assert await ground.ask(CHUNKS) == chunks


async def test_classes_and_tenants_count_chunks(ground: CorpusFixture) -> None:
    await ground.put("a.md", "apples", "pears")
    await ground.put("b.md", "plums")
    await ground.put("a.md", "apples", "quinces", "medlars")
    assert await ground.ask("SELECT files, chunks FROM kernel.acl WHERE files > 0") == [(2, 4)]
    assert await ground.ask("SELECT used FROM kernel.usage WHERE kind = 'chunks'") == [(4,)]
    async with ground.writing(ground.ana) as tx:
        await remove(tx, SOURCE, "a.md")
    assert await ground.ask("SELECT files, chunks FROM kernel.acl WHERE files > 0") == [(1, 1)]


async def test_many_files_are_put_in_the_order_given(ground: CorpusFixture) -> None:
    files = [(FileMetadata(SOURCE, f"{n}.md"), plain(f"text {n}")) for n in (3, 1, 2)]
    async with ground.writing(ground.ana) as tx:
        stored = await put_many(tx, files)
        read = [await read_text(tx, SOURCE, facts.key) for facts, _ in files]
    assert [it.file_id for it in stored] == [it.file_id for it in read]
    with pytest.raises(InvalidInput):
        async with ground.writing(ground.ana) as tx:
            await put_many(tx, [files[0], files[0]])


async def test_who_may_not_write_puts_nothing_wherever_it_is(ground: CorpusFixture) -> None:
    said: set[str] = set()
    for source in (SOURCE, "missing"):
        with pytest.raises(Forbidden) as caught:
            async with ground.writing(ground.bo) as tx:
                await put(tx, FileMetadata(source, "a.md"), plain("words"))
        said.add(str(caught.value))
    assert len(said) == 1
    assert await ground.ask("SELECT count(*) FROM kernel.file") == [(0,)]


async def test_a_source_that_is_not_there_is_not_found(ground: CorpusFixture) -> None:
    with pytest.raises(NotFound):
        async with ground.writing(ground.ana) as tx:
            await put(tx, FileMetadata("missing", "a.md"), plain("words"))


async def test_the_system_puts_for_the_tenant_it_names(ground: CorpusFixture) -> None:
    async with ground.store.system() as tx:
        await put(tx, FileMetadata(SOURCE, "a.md"), plain("words"), tenant_id=ground.tenant_id)
    async with ground.store.reading(ground.ana) as tx:
        assert (await read_text(tx, SOURCE, "a.md")).text.startswith("words")
    async with ground.store.reading(ground.away) as tx:
        with pytest.raises(NotFound):
            await read_text(tx, SOURCE, "a.md")


async def test_a_caller_puts_into_no_other_tenant(ground: CorpusFixture) -> None:
    there = ground.away.tenant_id
    with pytest.raises(Forbidden):
        async with ground.writing(ground.ana) as tx:
            await put(tx, FileMetadata(SOURCE, "a.md"), plain("words"), tenant_id=there)
    with pytest.raises(PeciaError):
        async with ground.store.system() as tx:
            await put(tx, FileMetadata(SOURCE, "a.md"), plain("words"))


async def test_what_is_hidden_reads_like_what_is_not_there(ground: CorpusFixture) -> None:
    await ground.put("a.md", "apples")
    async with ground.store.reading(ground.bo) as tx:
        hidden, missing = [
            str(await _raised(read_text(tx, SOURCE, key))).replace(key, "KEY")
            for key in ("a.md", "z.md")
        ]
    assert hidden == missing


async def test_a_purge_leaves_no_text_and_no_key(ground: CorpusFixture) -> None:
    await ground.put("secret plan.md", "apples")
    await ground.put("secret plan.md", "pears")
    await ground.ask(
        "UPDATE kernel.audit SET sources = %s, keys = %s, arguments = %s WHERE tenant_id = %s",
        [SOURCE],
        ["secret plan.md"],
        '{"key": "secret plan.md"}',
        ground.tenant_id,
    )
    async with ground.writing(ground.ana) as tx:
        assert await purge(tx, SOURCE, "secret plan.md") == 1
    for table in ("revision", "chunk", "file"):
        assert await ground.ask(f"SELECT count(*) FROM kernel.{table}") == [(0,)]
    assert await ground.ask(
        "SELECT count(*) FROM kernel.audit a WHERE a::text LIKE '%%secret plan%%'"
    ) == [(0,)]


async def test_a_purge_takes_whoever_governs_the_source(ground: CorpusFixture) -> None:
    await ground.put("a.md", "apples")
    with pytest.raises(Forbidden):
        async with ground.writing(ground.bo) as tx:
            await purge(tx, SOURCE)
    assert await ground.ask("SELECT count(*) FROM kernel.file") == [(1,)]


def _ids(stored: StoredFile) -> tuple[int, int | None]:
    return stored.file_id, stored.revision_id


async def _raised(asked: Awaitable[object]) -> PeciaError:
    with pytest.raises(PeciaError) as caught:
        await asked
    return caught.value
