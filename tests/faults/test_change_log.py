"""Log and store stay true: commits out of order, one held open, a writer killed anywhere."""

import subprocess
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from random import Random, randrange

import anyio
import orjson
import pytest

from pecia.kernel.corpus import changelog
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.texts import put as put_text
from pecia.kernel.corpus.changelog import FileChange
from pecia.kernel.jobs import NoArguments, defer_as_system
from pecia.kernel.jobs.worker import run_worker
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.store.store import PoolSize, Store
from tests.faults.change_log_victim import JOB, PACE, POINTS
from tests.soak import SOAK, record
from tests.unit.kernel.corpus.corpus_fixture import SOURCE, CorpusFixture, open_ground, plain
from tests.warm import start as warm

pytestmark = [pytest.mark.anyio, pytest.mark.fault, pytest.mark.timeout(0 if SOAK else 180)]

WRITERS = 6
ORDERS = 200 if SOAK else 10
ROUNDS_A_POINT = 50 if SOAK else 1


@pytest.fixture
async def ground(database: DatabaseLogins) -> AsyncGenerator[CorpusFixture]:
    store = Store(database, app=PoolSize(1, WRITERS + 2), system=PoolSize(1, 6))
    await store.open()
    async with open_ground(store) as found:
        yield found
    await store.close()


async def tail(ground: CorpusFixture, after: int) -> tuple[FileChange, ...]:
    async with ground.store.system() as tx:
        return (await changelog.tail(tx, ground.tenant_id, after, 1000)).entries


async def files(ground: CorpusFixture) -> list[int]:
    """As many files as there are writers."""
    return [(await ground.put(f"{n}.md", f"text {n}")).file_id for n in range(WRITERS)]


async def test_who_tails_misses_no_commit_in_whatever_order_they_come(
    ground: CorpusFixture,
) -> None:
    ids = await files(ground)
    seed = randrange(1 << 30)
    chance = Random(seed)
    for turn in range(ORDERS):
        order = [*range(WRITERS)]
        chance.shuffle(order)
        async with ground.store.system() as tx:
            start = await changelog.load_position(tx, ground.tenant_id)
        seen: list[int] = []
        # All have written, and hold what an early number would have been, before any commits.
        async with AsyncExitStack() as stack:
            open_ones = {n: AsyncExitStack() for n in range(WRITERS)}
            for n, one in open_ones.items():
                await stack.enter_async_context(one)
                tx = await one.enter_async_context(ground.writing(ground.ana))
                await put_text(tx, FileMetadata(SOURCE, f"{n}.md", etag=f"{turn}"), None)
            for n in order:
                await open_ones[n].aclose()
                seen += [it.file_id for it in await tail(ground, start.n + len(seen))]
        assert seen == [ids[n] for n in order], f"seed {seed}"
        numbers = [it.n for it in await tail(ground, start.n)]
        assert numbers == [*range(start.n + 1, start.n + WRITERS + 1)], f"seed {seed}"


async def test_a_transaction_held_open_holds_up_nobody_and_comes_last(
    ground: CorpusFixture,
) -> None:
    ids = await files(ground)
    async with ground.store.system() as tx:
        start = (await changelog.load_position(tx, ground.tenant_id)).n
    async with ground.writing(ground.ana) as held:
        await put_text(held, FileMetadata(SOURCE, "0.md", etag="held"), None)
        with anyio.fail_after(5):
            for n in range(1, WRITERS):
                async with ground.writing(ground.ana) as tx:
                    await put_text(tx, FileMetadata(SOURCE, f"{n}.md", etag="quick"), None)
        # Whoever tails now must not pass the held one by.
        before = await tail(ground, start)
        assert [it.file_id for it in before] == ids[1:]
    after = await tail(ground, before[-1].n)
    assert [(it.n, it.file_id) for it in after] == [(start + WRITERS, ids[0])]


def kill_once(ground: CorpusFixture, point: str, hit: int, seed: int) -> list[str]:
    """What the victim said before it died."""
    logins, ana = ground.store.logins, ground.ana
    given = {
        "owner": logins.owner,
        "app": logins.app,
        "system": logins.system,
        "credential": ana.credential_id,
        "tenant": ana.tenant_id,
        "user": ana.user_id,
        "seed": seed,
    }
    done = subprocess.run(
        warm.module("tests.faults.change_log_victim", point, hit),
        input=orjson.dumps(given),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == -9, done.stderr.decode()[-2000:]
    return done.stdout.decode().splitlines()


async def test_a_writer_killed_anywhere_leaves_store_log_and_counts_equal(
    ground: CorpusFixture,
) -> None:
    await ground.put("first.md", "text")
    seed = randrange(1 << 30)
    chance = Random(seed)
    hits: Counter[str] = Counter()
    for turn, point in enumerate(POINTS * ROUNDS_A_POINT):
        said = kill_once(ground, point, chance.randint(1, 4), seed + turn)
        hits.update(line.split()[1] for line in said if line.startswith("hit "))
        acked = dict(line.split(" ")[1:] for line in said if line.startswith("acked "))
        await require_acknowledged(ground, acked, f"seed {seed}, {point}")
        for truth in TRUTHS:
            assert await ground.ask(truth) == [], f"seed {seed}, {point}"
    await embed_the_rest(ground)
    assert await ground.ask(UNEMBEDDED) == [], f"seed {seed}"
    assert set(hits) == set(POINTS)
    record("change-log-kill", {"rounds": sum(hits.values()), "hits": dict(hits)})


async def require_acknowledged(ground: CorpusFixture, acked: dict[str, str], where: str) -> None:
    """Every acknowledged write is there, but for the one file that was being written again."""
    rows = await ground.ask(
        "SELECT key, text FROM kernel.file f LEFT JOIN kernel.revision r ON r.id = f.revision_id"
    )
    stored: dict[str, str] = dict(rows)  # pyright: ignore[reportArgumentType] - two columns
    wrong = [
        key
        for key, words in acked.items()
        if stored.get(key) != (plain(*words.split("+")).canonical.text if words else None)
    ]
    assert len(wrong) <= 1, where


async def embed_the_rest(ground: CorpusFixture) -> None:
    """A new worker takes over from the dead ones."""
    stop = anyio.Event()
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: run_worker(ground.store, [JOB], stop=stop, pace=PACE))
            async with ground.store.system() as tx:
                await defer_as_system(tx, JOB, NoArguments(), tenant_id=ground.tenant_id)
            while True:
                if not await ground.ask(UNEMBEDDED):
                    break
                await anyio.sleep(0.05)
            stop.set()


UNEMBEDDED = """
SELECT id FROM kernel.chunk c
 WHERE NOT EXISTS (SELECT 1 FROM kernel.vector v WHERE v.chunk_id = c.id)
"""

# Each finds what should not be: nothing.
TRUTHS = [
    # The log has every number once, from the first to the clock's.
    "SELECT number FROM kernel.tenant_clock k, generate_series(1, k.n) AS number WHERE NOT EXISTS"
    " (SELECT 1 FROM kernel.tick t WHERE t.tenant_id = k.tenant_id AND t.n = number)",
    "SELECT id FROM kernel.tick WHERE n IS NULL",
    # Every file is in it.
    "SELECT id FROM kernel.file f"
    " WHERE NOT EXISTS (SELECT 1 FROM kernel.change c WHERE c.file_id = f.id)",
    # Chunks, joined, are the text of the current revision.
    "SELECT f.id FROM kernel.file f JOIN kernel.revision r ON r.id = f.revision_id WHERE r.text <>"
    " (SELECT string_agg(text, '' ORDER BY seq) FROM kernel.chunk c WHERE c.file_id = f.id)",
    # Counts are true.
    "SELECT id FROM kernel.file f WHERE chunk_count <>"
    " (SELECT count(*) FROM kernel.chunk c WHERE c.file_id = f.id)",
    "SELECT id FROM kernel.acl a WHERE chunks <>"
    " (SELECT COALESCE(sum(chunk_count), 0) FROM kernel.file f WHERE f.acl_id = a.id)",
    # No vector outlives its chunk.
    "SELECT chunk_id FROM kernel.vector v"
    " WHERE NOT EXISTS (SELECT 1 FROM kernel.chunk c WHERE c.id = v.chunk_id)",
]
