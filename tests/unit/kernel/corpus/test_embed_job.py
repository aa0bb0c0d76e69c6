"""The job that embeds: all that waits, once, behind the keyword index."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import UUID

import anyio
import numpy as np
import pytest

from pecia.kernel.corpus import changelog
from pecia.kernel.corpus.catalog import texts
from pecia.kernel.corpus.vectors import embed_job
from pecia.kernel.corpus.vectors.embed_job import UnembeddedChunk, node_name
from pecia.kernel.corpus.vectors.embed_trigger import EmbedTrigger
from pecia.kernel.corpus.vectors.embedder import Vectors
from pecia.kernel.corpus.vectors.knn import find_nearest
from pecia.kernel.corpus.vectors.throughput import parse_messages
from pecia.kernel.errors import NotFound, UpstreamError
from pecia.kernel.jobs import Job, NoArguments, RetryPolicy, defer_as_system
from pecia.kernel.jobs.worker import run_worker
from pecia.kernel.jobs.worker_loop import WorkerIntervals
from pecia.kernel.store.store import Transaction
from tests.unit.kernel.corpus.corpus_fixture import SOURCE, CorpusFixture

pytestmark = pytest.mark.anyio

PACE = WorkerIntervals(heartbeat_s=0.05, stalled_s=30, poll_s=0.05, grace_s=5)
VECTORS = "SELECT count(*) FROM kernel.vector"


@dataclass(slots=True)
class Letters:
    """An embedder that counts letters, and remembers what it was asked."""

    name: str = "letters"
    language: str = ""
    asked: list[str] = field(default_factory=list[str])
    fails: int = 0
    dimensions: int = 0

    async def dimension(self) -> int:
        self.dimensions += 1
        return 26

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if self.fails:
            self.fails -= 1
            raise UpstreamError("the model is away")
        self.asked += texts
        return np.array([letters(it) for it in texts], dtype=np.float32)


def letters(text: str) -> list[float]:
    counts = np.array([text.lower().count(chr(97 + n)) + 0.01 for n in range(26)])
    return (counts / np.linalg.norm(counts)).tolist()


async def embed(ground: CorpusFixture, embedder: Letters, tenant_id: UUID | None = None) -> None:
    job = embed_job.embed_job(embedder, schedule=None)
    quick = Job("corpus", "embed", job.run, NoArguments, key=job.key, retry=RetryPolicy(3, 0, 0))
    async with ground.store.system() as tx:
        await defer_as_system(tx, quick, NoArguments(), tenant_id=tenant_id or ground.tenant_id)
    await work(ground, quick)


async def test_new_text_is_embedded_without_waiting_for_the_schedule(ground: CorpusFixture) -> None:
    embedder = Letters()
    job = embed_job.embed_job(embedder, schedule=None)
    caller = EmbedTrigger(ground.store, job, node_name(embedder.name))
    stop = anyio.Event()
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: run_worker(ground.store, [job], stop=stop, pace=PACE))
            group.start_soon(caller.run)
            for number, word in enumerate(("apples", "pears"), start=1):
                await ground.put(f"{word}.md", word)
                await _counted(ground, number)
            group.cancel_scope.cancel()


async def _counted(ground: CorpusFixture, number: int) -> None:
    while True:
        if await ground.ask(VECTORS) == [(number,)]:
            return
        await anyio.sleep(0.02)


async def work(ground: CorpusFixture, job: Job) -> None:
    """Run a worker until nothing waits in the queue."""
    stop = anyio.Event()
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: run_worker(ground.store, [job], stop=stop, pace=PACE))
            await _all_done(ground)
            stop.set()


async def _all_done(ground: CorpusFixture) -> None:
    left = "SELECT 1 FROM jobs.procrastinate_jobs WHERE status IN ('todo', 'doing')"
    while True:
        if not await ground.ask(left):
            return
        await anyio.sleep(0.02)


async def test_every_chunk_gets_a_vector_and_is_found_by_it(ground: CorpusFixture) -> None:
    embedder = Letters()
    await ground.put("a.md", "apples", "pears", title="Fruit")
    await embed(ground, embedder)
    await ground.put("b.md", "zebras")
    await embed(ground, embedder)
    assert await ground.ask(VECTORS) == [(3,)]
    async with ground.store.reading(ground.ana) as tx:
        ((best, _), *_) = await find_nearest(tx, letters("zebras"), "letters", 1)
    ((zebra,),) = await ground.ask("SELECT id FROM kernel.chunk WHERE text LIKE 'zebras%%'")
    assert best == zebra


async def test_a_text_is_embedded_once_wherever_it_is(ground: CorpusFixture) -> None:
    embedder = Letters()
    await ground.put("a.md", "apples")
    await ground.put("b.md", "apples")
    await embed(ground, embedder)
    await ground.put("c.md", "apples")
    await ground.put("a.md", "apples", "pears")
    await embed(ground, embedder)
    assert len(embedder.asked) == len({*embedder.asked}) == 2
    assert await ground.ask(VECTORS) == [(4,)]


async def test_a_run_tells_how_many_texts_it_embedded_and_in_how_long(
    ground: CorpusFixture,
) -> None:
    embedder = Letters()
    await ground.put("a.md", "apples", "pears", title="Fruit")
    await ground.put("b.md", "zebras")
    await embed(ground, embedder)
    # A run that finds nothing to do tells nothing.
    await embed(ground, embedder)
    messages = [it for (it,) in await ground.ask("SELECT message FROM kernel.job ORDER BY id")]
    assert [it is None for it in messages] == [False, True]
    assert parse_messages(messages, "letters").texts == len(embedder.asked) == 3


async def test_the_newest_come_first(ground: CorpusFixture) -> None:
    embedder = Letters()
    for n in range(3):
        await ground.put(f"{n}.md", f"text {n}")
    await embed(ground, embedder)
    assert [it[:6] for it in embedder.asked] == ["text 2", "text 1", "text 0"]


async def test_a_model_that_was_away_is_asked_again(ground: CorpusFixture) -> None:
    await ground.put("a.md", "apples")
    await embed(ground, Letters(fails=1))
    assert await ground.ask(VECTORS) == [(1,)]


async def test_a_new_model_begins_from_the_beginning(ground: CorpusFixture) -> None:
    await ground.put("a.md", "apples")
    await embed(ground, Letters())
    async with ground.store.system() as tx:
        await changelog.trim(tx)
    await embed(ground, Letters("other"))
    rows = await ground.ask("SELECT model FROM kernel.vector ORDER BY 1")
    assert rows == [("letters",), ("other",)]


async def test_it_waits_while_the_keyword_index_is_behind(
    ground: CorpusFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed_job, "MAX_INDEX_LAG", 1)
    monkeypatch.setattr(embed_job, "POLL_INTERVAL_S", 0.01)
    embedder, waited = Letters(), anyio.Event()
    ask_lag = changelog.measure_lag

    async def lag(tx: Transaction, tenant_id: UUID) -> int:
        found = await ask_lag(tx, tenant_id)
        waited.set()
        return found

    monkeypatch.setattr(changelog, "measure_lag", lag)
    async with ground.store.system() as tx:
        await changelog.record_applied(tx, ground.tenant_id, "node1", 0)
    for n in range(3):
        await ground.put(f"{n}.md", f"text {n}")
    async with anyio.create_task_group() as group:
        group.start_soon(embed, ground, embedder)
        await waited.wait()
        assert embedder.asked == []
        async with ground.store.system() as tx:
            await changelog.record_applied(tx, ground.tenant_id, "node1", 3)
    assert len(embedder.asked) == 3


@dataclass(slots=True)
class Busy:
    """At each of the first looks, more files have come than anybody writes by hand."""

    looks_left: int
    looks: int = 0

    async def came(self, tx: Transaction, tenant_id: UUID, after: int) -> tuple[int, int]:
        self.looks += 1
        self.looks_left -= 1
        return 1_000_000 if self.looks_left >= 0 else 0, after + 1


@pytest.mark.parametrize(("patience_s", "looks"), [(1_000, 10), (0, 1_000_000)])
async def test_it_waits_while_many_files_come_but_not_for_ever(
    ground: CorpusFixture, monkeypatch: pytest.MonkeyPatch, patience_s: float, looks: int
) -> None:
    monkeypatch.setattr(embed_job, "FILES_PER_PAGE", 1)
    monkeypatch.setattr(embed_job, "POLL_INTERVAL_S", 0.01)
    monkeypatch.setattr(embed_job, "MAX_YIELD_S", patience_s)
    for n in range(3):
        await ground.put(f"{n}.md", f"text {n}")
    busy = Busy(looks)
    monkeypatch.setattr(embed_job, "count_changed_files", busy.came)
    await embed(ground, embedder := Letters())
    assert len(embedder.asked) == 3
    assert patience_s == 0 or busy.looks > looks


async def test_what_came_is_counted_by_file_and_not_by_commit(ground: CorpusFixture) -> None:
    async with ground.store.system() as tx:
        _, before = await embed_job.count_changed_files(tx, ground.tenant_id, 0)
    for n in range(3):
        await ground.put(f"{n}.md", f"text {n}")
    async with ground.store.system() as tx:
        assert await embed_job.count_changed_files(tx, ground.tenant_id, before) == (3, before + 3)
        assert await embed_job.count_changed_files(tx, ground.tenant_id, before + 2) == (
            1,
            before + 3,
        )
        assert await embed_job.count_changed_files(tx, ground.tenant_id, before + 3) == (
            0,
            before + 3,
        )


async def test_a_file_of_any_length_is_embedded_a_handful_of_chunks_at_a_time(
    ground: CorpusFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed_job, "MAX_CHUNKS_IN_MEMORY", 2)
    await ground.put("long.md", *(f"part {n}" for n in range(5)))
    await embed(ground, embedder := Letters())
    assert (len(embedder.asked), await ground.ask(VECTORS)) == (5, [(5,)])


async def test_no_model_is_asked_for_where_nothing_wants_vectors(ground: CorpusFixture) -> None:
    embedder = Letters()
    await ground.put("a.md", "apples")
    await embed(ground, embedder)
    await ground.put("a.md", "apples", title="of the same words")
    embedder.dimensions = 0
    async with ground.writing(ground.ana) as tx:
        await texts.remove(tx, SOURCE, "a.md")
    await embed(ground, embedder)
    assert embedder.dimensions == 0


async def test_on_its_schedule_it_serves_every_tenant_that_is_behind(ground: CorpusFixture) -> None:
    await ground.put("a.md", "apples")
    job = embed_job.embed_job(Letters(), schedule=None)
    async with ground.store.system() as tx:
        await defer_as_system(tx, job, NoArguments(), tenant_id=None)
    await work(ground, job)
    assert await ground.ask(VECTORS) == [(1,)]
    async with ground.store.system() as tx:
        assert await changelog.load_applied(tx, ground.tenant_id, node_name("letters")) == 1


async def test_it_stands_in_no_writers_way(ground: CorpusFixture) -> None:
    """Whoever removes files while they are embedded would wait for it, as it waits for them."""
    await _embedded_once(ground)
    for name in ("going.md", "staying.md"):
        await ground.put(name, f"what is {name}")
    async with anyio.create_task_group() as group:
        with anyio.fail_after(10):
            async with ground.writing(ground.ana) as tx:
                await texts.remove(tx, SOURCE, "going.md")
                group.start_soon(embed, ground, Letters())
                await _counted(ground, 2)
    assert await ground.ask(VECTORS) == [(2,)]


async def _embedded_once(ground: CorpusFixture) -> None:
    """The first vectors of a new dimension come with an index, for which all have to wait."""
    await ground.put("first.md", "text")
    await embed(ground, Letters())


async def test_a_removal_that_was_taken_back_leaves_nothing_without_a_vector(
    ground: CorpusFixture,
) -> None:
    await _embedded_once(ground)
    for name in ("nearly_gone.md", "staying.md"):
        await ground.put(name, f"what is {name}")
    async with anyio.create_task_group() as group:
        with suppress(NotFound):
            async with ground.writing(ground.ana) as tx:
                await texts.remove(tx, SOURCE, "nearly_gone.md")
                group.start_soon(embed, ground, Letters())
                with anyio.fail_after(10):
                    await _counted(ground, 2)
                await texts.remove(tx, SOURCE, "never_there.md")
    assert await ground.ask(VECTORS) == [(3,)]


def test_what_is_embedded_says_where_it_stands() -> None:
    assert (
        UnembeddedChunk(1, "Fruit", ["Fruit", "Apples"], "", " red \n").embedding_text
        == "Fruit\nApples\nred"
    )
    assert UnembeddedChunk(1, "", [], "", "red").embedding_text == "red"
