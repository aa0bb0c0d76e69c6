"""Killed at any named point, on one node or two, an index ends equal to its store."""

import random
import time
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import orjson
import pytest
from anyio.abc import Process

from pecia.kernel.corpus import changelog
from pecia.kernel.corpus.catalog.texts import remove
from pecia.kernel.corpus.keyword.directory import load_node_name
from pecia.kernel.corpus.keyword.entry import IndexedChunk
from pecia.kernel.corpus.keyword.index import parse_query
from pecia.kernel.corpus.keyword.maintenance import compare_index
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.corpus.keyword.writer import IndexWriter
from pecia.kernel.errors import NotFound
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.store.store import Store
from tests.faults.index_victim import BUILDING, FOLLOWING
from tests.soak import ROUNDS, SOAK, record
from tests.unit.kernel.corpus.corpus_fixture import SOURCE, CorpusFixture, open_ground
from tests.warm import start as warm

pytestmark = [pytest.mark.anyio, pytest.mark.fault, pytest.mark.timeout(0 if SOAK else 240)]

WORDS = ("heron", "otter", "lantern", "harbour", "meadow", "willow")


@pytest.fixture
async def ground(database: DatabaseLogins) -> AsyncGenerator[CorpusFixture]:
    store = Store(database)
    await store.open()
    try:
        async with open_ground(store) as found:
            yield found
    finally:
        await store.close()


async def victim(ground: CorpusFixture, root: Path, point: str, hit: int) -> Process:
    command = warm.module("tests.faults.index_victim", point, hit)
    process = await anyio.open_process(command, stderr=None)
    given = {
        "system": ground.store.logins.system,
        "root": str(root),
        "tenant_id": str(ground.tenant_id),
    }
    assert process.stdin is not None
    await process.stdin.send(orjson.dumps(given))
    await process.stdin.aclose()
    return process


async def said(process: Process) -> str:
    assert process.stdout is not None
    heard = b"".join([it async for it in process.stdout])
    await process.wait()
    return heard.decode()


async def one_change(ground: CorpusFixture, dice: random.Random) -> None:
    key = f"{dice.randint(1, 12)}.md"
    if dice.random() < 0.25:
        try:
            async with ground.writing(ground.ana) as tx:
                await remove(tx, SOURCE, key)
        except NotFound:
            return
    else:
        await ground.put(key, *dice.choices(WORDS, k=dice.randint(1, 3)))


async def write_until_dead(ground: CorpusFixture, dice: random.Random, process: Process) -> str:
    """Change files for as long as the victim lives; what it said."""
    heard = ""
    async with anyio.create_task_group() as tasks:

        async def wait() -> None:
            nonlocal heard
            heard = await said(process)
            tasks.cancel_scope.cancel()

        tasks.start_soon(wait)
        while True:
            await one_change(ground, dice)
    return heard


async def equal_contents(ground: CorpusFixture, root: Path) -> set[IndexedChunk]:
    """What an index holds once it is caught up, which is what the store holds."""
    keeper = await IndexWriter.acquire(ground.store, load_node_name(root), root, ground.tenant_id)
    assert keeper is not None, "the lock of a dead process is still held"
    while await keeper.catch_up() is None:
        await keeper.rebuild()
    index = await keeper.open_index(await keeper.load_position())
    assert index is not None
    assert (await compare_index(keeper, index)).file_ids == []
    held = set(index.iter_chunks())
    await keeper.close()
    return held


async def stored(ground: CorpusFixture) -> set[tuple[int, int, int]]:
    rows = await ground.ask(
        "SELECT c.id, f.id, f.acl_id FROM kernel.chunk c JOIN kernel.file f"
        " ON f.tenant_id = c.tenant_id AND f.id = c.file_id WHERE c.tenant_id = %s",
        ground.tenant_id,
    )
    return {(row[0], row[1], row[2]) for row in rows}


async def test_an_index_killed_at_any_point_ends_equal_to_its_store(
    ground: CorpusFixture, tmp_path: Path
) -> None:
    seed = random.randrange(1 << 30)
    dice = random.Random(seed)
    roots = [tmp_path / "one", tmp_path / "two"]
    readers = ReaderCache(roots[0])
    hits: Counter[str] = Counter()
    compared, begun = 0, time.monotonic()
    for turn, point in enumerate((*FOLLOWING, *BUILDING) * ROUNDS):
        root = roots[turn % 2]
        if point in BUILDING:
            await ground.ask("UPDATE kernel.tenant_clock SET epoch = gen_random_uuid()")
        hit = 1 if point in BUILDING else dice.randint(1, 4)
        process = await victim(ground, root, point, hit)
        heard = await write_until_dead(ground, dice, process)
        assert process.returncode == -9, (point, seed)
        hits.update(line.split()[1] for line in heard.splitlines() if line.startswith("hit "))
        # Whatever the kill left behind can be searched.
        await readers.submit(ground.tenant_id, lambda it: it.search(parse_query("heron otter")))
        held = [await equal_contents(ground, it) for it in roots]
        assert held[0] == held[1], f"seed {seed}"
        there = {(it.id, it.group, it.acl) for it in held[0]}
        assert there == await stored(ground), f"seed {seed}"
        compared += len(there)
    assert set(hits) == {*FOLLOWING, *BUILDING}
    figures = {"rounds": sum(hits.values()), "hits": dict(hits), "chunks_compared": compared}
    record("index", {**figures, "elapsed_s": round(time.monotonic() - begun), "seed": seed})


async def test_a_node_behind_the_trimmed_log_catches_up_by_building(
    ground: CorpusFixture, tmp_path: Path
) -> None:
    dice = random.Random(7)
    for _ in range(10):
        await one_change(ground, dice)
    await equal_contents(ground, tmp_path / "behind")
    for _ in range(10):
        await one_change(ground, dice)
    ahead = await equal_contents(ground, tmp_path / "ahead")
    behind = load_node_name(tmp_path / "behind")
    async with ground.store.system() as tx:
        # A node that was away for a week keeps the log from being trimmed no longer.
        await tx.execute("DELETE FROM kernel.index_node WHERE node = %(node)s", node=behind)
        await changelog.trim(tx)
    assert await equal_contents(ground, tmp_path / "behind") == ahead


async def test_a_full_disk_is_told_and_leaves_an_index_that_goes_on_when_there_is_room(
    ground: CorpusFixture, tmp_path: Path
) -> None:
    dice = random.Random(8)
    for _ in range(10):
        await one_change(ground, dice)
    for already_built in (False, True):
        if already_built:
            await ground.put("13.md", *WORDS)
        heard = await said(await victim(ground, tmp_path / "index", "full", 0))
        assert heard.split() == ["refused", "STORAGE_FULL", "caught_up"]
        there = {
            (it.id, it.group, it.acl) for it in await equal_contents(ground, tmp_path / "index")
        }
        assert there == await stored(ground)
