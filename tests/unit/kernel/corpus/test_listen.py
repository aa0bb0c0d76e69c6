"""What follows the change log misses no commit when its listener is cut."""

from pathlib import Path

import anyio
import pytest

from pecia.kernel.corpus import changelog
from pecia.kernel.corpus.keyword.directory import load_node_name
from pecia.kernel.corpus.keyword.follower import FollowerIntervals, IndexFollower
from pecia.kernel.corpus.vectors import embed_job
from pecia.kernel.corpus.vectors.embed_trigger import EmbedTrigger
from tests.listeners import cut_listeners
from tests.unit.kernel.corpus.corpus_fixture import CorpusFixture
from tests.unit.kernel.corpus.test_embed_job import Letters

pytestmark = pytest.mark.anyio

# The log is polled by nobody within the time of a test.
NOTIFIED = FollowerIntervals(poll_s=600, idle_s=600, maintenance_s=0.05)
QUEUED = "SELECT count(*) FROM jobs.procrastinate_jobs"


async def test_the_index_follows_a_commit_made_while_the_listener_is_down(
    ground: CorpusFixture, tmp_path: Path
) -> None:
    follower = IndexFollower(ground.store, tmp_path / "index", NOTIFIED)
    node = load_node_name(tmp_path / "index")

    async def wait_for(number: int) -> None:
        while True:
            async with ground.store.system() as tx:
                if await changelog.load_applied(tx, ground.tenant_id, node) == number:
                    return
            await anyio.sleep(0.02)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follower.run)
            for number, word in enumerate(("herons", "otters"), start=1):
                await cut_listeners(ground.store.logins.system, 1)
                await ground.put(f"{word}.md", word)
                await wait_for(number)
            tasks.cancel_scope.cancel()


async def test_embedding_is_queued_for_a_commit_made_while_the_listener_is_down(
    ground: CorpusFixture,
) -> None:
    embedder = Letters()
    job = embed_job.embed_job(embedder, schedule=None)
    trigger = EmbedTrigger(ground.store, job, embed_job.node_name(embedder.name))
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(trigger.run)
            await cut_listeners(ground.store.logins.system, 1)
            await ground.put("apples.md", "apples")
            await wait_queued(ground)
            tasks.cancel_scope.cancel()


async def wait_queued(ground: CorpusFixture) -> None:
    while True:
        if await ground.ask(QUEUED) == [(1,)]:
            return
        await anyio.sleep(0.02)
