"""An index follows its store, whatever happens between them."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from uuid import uuid4

import anyio
import pytest

from pecia.kernel.corpus import changelog
from pecia.kernel.corpus.catalog.texts import move, purge, remove
from pecia.kernel.corpus.keyword.directory import IndexDirectory, load_node_name
from pecia.kernel.corpus.keyword.follower import FollowerIntervals, IndexFollower
from pecia.kernel.corpus.keyword.index import IndexEntry, KeywordIndex, parse_query
from pecia.kernel.corpus.keyword.maintenance import compare_index, repair_files
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.corpus.keyword.writer import (
    MAX_COMMIT_CHUNKS,
    MERGE_FACTOR,
    IndexWriter,
    commit_size,
)
from tests.unit.kernel.corpus.corpus_fixture import SOURCE, CorpusFixture

pytestmark = pytest.mark.anyio

QUICK = FollowerIntervals(poll_s=0.05, idle_s=0.1, maintenance_s=0.1, retry_s=0.05)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture
async def keeper(ground: CorpusFixture, root: Path) -> AsyncGenerator[IndexWriter]:
    found = await taken(ground, root)
    yield found
    await found.close()


async def taken(ground: CorpusFixture, root: Path) -> IndexWriter:
    keeper = await IndexWriter.acquire(ground.store, load_node_name(root), root, ground.tenant_id)
    assert keeper is not None
    return keeper


async def caught_up(keeper: IndexWriter) -> KeywordIndex:
    """Caught up, and equal to the store in every chunk."""
    while await keeper.catch_up() is None:
        await keeper.rebuild()
    index = await keeper.open_index(await keeper.load_position())
    assert index is not None
    assert (await compare_index(keeper, index)).file_ids == []
    assert index.cursor() == (await keeper.load_position()).n
    return index


async def until(is_so: Callable[[], bool]) -> None:
    """Files have no event to wait for."""
    for _ in range(2000):
        if is_so():
            return
        await anyio.sleep(0.01)
    pytest.fail("it never came to be")


def found(index: KeywordIndex, words: str) -> int:
    return len({it.group for it in index.search(parse_query(words), limit=100)})


async def test_what_is_put_changed_moved_and_removed_is_so_in_the_index(
    ground: CorpusFixture, keeper: IndexWriter
) -> None:
    await ground.put("a.md", "herons nest in reeds", title="Birds")
    await ground.put("b.md", "lanterns hang in the harbour")
    index = await caught_up(keeper)
    assert (found(index, "heron"), found(index, "lantern"), found(index, "bird")) == (1, 1, 1)
    await ground.put("a.md", "otters swim at night")
    async with ground.writing(ground.ana) as tx:
        await remove(tx, SOURCE, "b.md")
    index = await caught_up(keeper)
    assert (found(index, "heron"), found(index, "lantern"), found(index, "otter")) == (0, 0, 1)
    async with ground.writing(ground.ana) as tx:
        await move(tx, SOURCE, "a.md", "meadow/c.md")
    index = await caught_up(keeper)
    assert found(index, "otter path:meadow/*") == 1
    async with ground.writing(ground.ana) as tx:
        await purge(tx, SOURCE)
    assert (await caught_up(keeper)).count() == 0


async def test_a_first_index_is_searched_while_files_keep_coming(
    ground: CorpusFixture, keeper: IndexWriter
) -> None:
    """A build ends with the files that were there when it began; the log has the others."""
    await ground.put("a.md", "herons nest in reeds")
    read = 0
    async with aclosing(keeper.iter_documents()) as batches:
        async for files in batches:
            read += len(files)
            assert read < 5, "it follows a crawl to its end"
            await ground.put(f"{read}.md", "lanterns hang in the harbour")
    assert read == 1
    assert found(await caught_up(keeper), "lantern") == 1


async def test_a_log_trimmed_beyond_the_index_makes_it_build_anew(
    ground: CorpusFixture, keeper: IndexWriter
) -> None:
    await ground.put("a.md", "herons")
    await caught_up(keeper)
    await ground.put("b.md", "otters")
    async with ground.store.system() as tx:
        await changelog.record_applied(tx, ground.tenant_id, keeper.node, 10**9)
        await tx.execute("DELETE FROM kernel.index_node")
        await changelog.trim(tx)
    assert await keeper.catch_up() is None
    assert found(await caught_up(keeper), "otters") == 1


async def test_an_index_of_another_log_or_version_is_built_anew(
    ground: CorpusFixture, keeper: IndexWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ground.put("a.md", "herons")
    await caught_up(keeper)
    await ground.ask("UPDATE kernel.tenant_clock SET epoch = gen_random_uuid()")
    assert await keeper.catch_up() is None
    await caught_up(keeper)
    monkeypatch.setattr("pecia.kernel.corpus.keyword.directory.ANALYZER_VERSION", 10**6)
    assert await keeper.catch_up() is None


@pytest.mark.parametrize("what", ["meta.json", "*.idx", "*.term", "*.fast"])
async def test_a_torn_index_is_built_anew(ground: CorpusFixture, root: Path, what: str) -> None:
    await ground.put("a.md", "herons")
    keeper = await taken(ground, root)
    await caught_up(keeper)
    await keeper.close()
    generation = IndexDirectory.of(root, ground.tenant_id).current_generation()
    assert generation is not None
    for torn in generation.glob(what):
        torn.write_bytes(torn.read_bytes()[:7])
    keeper = await taken(ground, root)
    assert await keeper.catch_up() is None
    assert found(await caught_up(keeper), "herons") == 1
    await keeper.close()


async def test_a_file_that_rotted_is_found_once_somebody_doubts_the_index(
    ground: CorpusFixture, root: Path, keeper: IndexWriter
) -> None:
    await ground.put("a.md", "herons")
    await caught_up(keeper)
    await keeper.close_index()
    place = IndexDirectory.of(root, ground.tenant_id)
    place.mark_suspect()
    before = place.current_generation()
    await caught_up(keeper)
    assert (place.current_generation(), place.is_suspect()) == (before, False)
    assert before is not None
    rotten = next(before.glob("*.idx"))
    flipped = bytearray(rotten.read_bytes())
    flipped[3] ^= 255
    rotten.write_bytes(flipped)
    place.mark_suspect()
    assert await keeper.catch_up() is None
    await caught_up(keeper)
    assert place.current_generation() != before


async def test_only_one_process_keeps_an_index(
    ground: CorpusFixture, root: Path, keeper: IndexWriter
) -> None:
    assert await IndexWriter.acquire(ground.store, "n", root, ground.tenant_id) is None
    await keeper.close()
    again = await taken(ground, root)
    await again.close()


async def test_differences_are_found_and_mended(ground: CorpusFixture, keeper: IndexWriter) -> None:
    kept = await ground.put("a.md", "herons")
    lost = await ground.put("b.md", "otters")
    index = await caught_up(keeper)
    index.apply(
        [lost.file_id],
        [IndexEntry(10**9, 10**8, body="a ghost"), IndexEntry(10**9 + 1, kept.file_id)],
    )
    seen = await compare_index(keeper, index)
    assert seen.missing == {kept.file_id, lost.file_id}
    assert seen.extra == {10**8, kept.file_id}
    await repair_files(keeper, index, seen)
    assert (await compare_index(keeper, index)).file_ids == []
    assert found(index, "ghost") == 0


async def test_a_file_whose_class_changed_is_stale_until_it_is_put_again(
    ground: CorpusFixture, keeper: IndexWriter
) -> None:
    await ground.put("a.md", "herons")
    index = await caught_up(keeper)
    held = next(iter(index.iter_chunks()))
    await ground.ask("UPDATE kernel.file SET posix_mode = 292")
    await caught_up(keeper)
    index.apply([], [IndexEntry(held.id, held.group, held.acl + 1)])
    assert (await compare_index(keeper, index)).stale == {held.group}


async def put_and_wait(ground: CorpusFixture, readers: ReaderCache, count: int) -> None:
    """Until the text is within reach of readers."""
    await ground.put(f"{count}.md", f"heron number {count}")
    async with ground.store.system() as tx:
        n = (await changelog.load_position(tx, ground.tenant_id)).n
    assert await readers.wait_for_commit(ground.tenant_id, n, timeout_s=20)


async def test_a_follower_brings_new_texts_within_reach_and_ends_with_its_scope(
    ground: CorpusFixture, root: Path
) -> None:
    readers = ReaderCache(root)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(IndexFollower(ground.store, root, QUICK).run)
            for count in range(5):
                await put_and_wait(ground, readers, count)
                hits = await readers.submit(ground.tenant_id, lambda it: found(it, "herons"))
                assert hits == count + 1
            tasks.cancel_scope.cancel()
    keeper = await taken(ground, root)
    await caught_up(keeper)
    await keeper.close()


async def test_a_change_that_comes_while_others_are_gathered_is_not_left_behind(
    ground: CorpusFixture, root: Path
) -> None:
    readers = ReaderCache(root)
    # Polled by nobody within the time of a test.
    gathering = FollowerIntervals(poll_s=600, idle_s=600, gather_s=0.3)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(IndexFollower(ground.store, root, gathering).run)
            for count in range(4):
                await put_and_wait(ground, readers, count)
            tasks.cancel_scope.cancel()
    assert (await readers.submit(ground.tenant_id, lambda it: found(it, "heron"))) == 4


async def test_two_followers_on_one_home_take_turns(ground: CorpusFixture, root: Path) -> None:
    readers = ReaderCache(root)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(IndexFollower(ground.store, root, QUICK).run)
            for count in range(6):
                await ground.put(f"{count}.md", "heron")
                async with ground.store.system() as tx:
                    n = (await changelog.load_position(tx, ground.tenant_id)).n
                assert await readers.wait_for_commit(ground.tenant_id, n, timeout_s=10)
            tasks.cancel_scope.cancel()
    assert (await readers.submit(ground.tenant_id, lambda it: found(it, "heron"))) == 6


async def test_the_index_of_a_tenant_that_went_goes(ground: CorpusFixture, root: Path) -> None:
    await ground.put("a.md", "heron")
    place = IndexDirectory.of(root, ground.tenant_id)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(IndexFollower(ground.store, root, QUICK).run)
            await until(lambda: place.current_generation() is not None)
            await ground.ask("DELETE FROM kernel.tenant WHERE name = 'home'")
            await until(lambda: not place.folder.exists())
            tasks.cancel_scope.cancel()


async def test_a_tenant_without_an_index_finds_nothing_and_is_not_waited_for(root: Path) -> None:
    readers, tenant = ReaderCache(root), uuid4()
    assert await readers.submit(tenant, lambda it: found(it, "herons")) == 0
    assert await readers.wait_for_commit(tenant, 0)
    assert not await readers.wait_for_commit(tenant, 1, timeout_s=0.01)


@pytest.mark.parametrize("chunks", [0, 1, 40_000, 40_001, 100_000, 1_000_000, 9_999_999])
def test_a_new_index_is_committed_in_portions_that_merge_into_one(chunks: int) -> None:
    size = portions = commit_size(chunks)
    while portions < chunks:
        portions *= MERGE_FACTOR
    assert size <= MAX_COMMIT_CHUNKS
    assert portions - chunks < max(MERGE_FACTOR * MERGE_FACTOR, portions // MERGE_FACTOR)
