"""A keyword index that does not keep up is seen by who searches and by who runs the server."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from starlette.requests import Request

from pecia.app.app import index_root
from pecia.app.operator import health
from pecia.app.operator.health import IndexTrouble, index_troubles
from pecia.interfaces.http.routes.health import Health
from pecia.interfaces.http.routes.metrics import CallMetrics
from pecia.kernel.corpus.keyword.directory import load_node_name
from pecia.kernel.corpus.keyword.lag import IndexLag
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.corpus.keyword.writer import IndexWriter
from pecia.kernel.corpus.search.search import Corpus, SearchRequest
from pecia.kernel.corpus.vectors.embed_job import embed_job
from pecia.kernel.corpus.vectors.embedder import Vectors
from pecia.kernel.jobs import NoArguments, defer_as_system
from pecia.kernel.jobs.worker import run_until_idle
from pecia.kernel.store.store import Store
from tests.features.lake.conftest import SOURCE, Lake

pytestmark = pytest.mark.anyio

STALLED = "the keyword index has not moved"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def crawl(lake: Lake) -> None:
    """The files come in, and nobody indexes them."""
    house = lake.house
    await house.call(house.ana, "crawl_source", source_id=SOURCE)
    await run_until_idle(house.app.store, house.app.jobs)


async def catch_up(lake: Lake) -> None:
    """What the indexer of this home does."""
    app = lake.house.app
    root = index_root(app.settings.kernel)
    keeper = await IndexWriter.acquire(
        app.store, load_node_name(root), root, lake.house.ana.tenant_id
    )
    assert keeper is not None
    if await keeper.catch_up() is None:
        await keeper.rebuild()
    await keeper.close()


async def ready(health: Health) -> dict[str, Any]:
    asked = Request({"type": "http", "headers": []})
    return cast(dict[str, Any], json.loads(bytes((await health.ready(asked)).body)))


async def test_the_lag_of_a_source_is_that_of_its_own_crawl(lake: Lake, tmp_path: Path) -> None:
    """On a busy server the index always has something to do for somebody."""
    house, other = lake.house, tmp_path / "other"
    other.mkdir()
    (other / "b.md").write_text("Storks")
    lake.write({"a.md": "Herons"})
    await crawl(lake)

    async def lag(source: str) -> int:
        return (await house.call(house.ana, "crawl_status", source_id=source))["index_lag"]

    assert await lag(SOURCE) > 0
    await catch_up(lake)
    await house.call(house.ana, "add_source", source_id="other", folder=str(other))
    await house.call(house.ana, "crawl_source", source_id="other")
    await run_until_idle(house.app.store, house.app.jobs)
    assert await lag(SOURCE) == 0
    assert await lag("other") > 0


async def test_an_index_that_does_not_move_is_told_of(lake: Lake) -> None:
    app, ana = lake.house.app, lake.house.ana
    root, clock = index_root(app.settings.kernel), Clock()
    lag = IndexLag(app.store, root, clock)
    corpus = Corpus(app.store, ReaderCache(root), lag=lag)

    async def degraded() -> list[str]:
        await lag.poll()
        found = (await corpus.search(ana, SearchRequest("heron"))).degraded
        return [it for it in found if it.startswith(STALLED)]

    lake.write({"a.md": "a heron"})
    await crawl(lake)
    await catch_up(lake)
    clock.now += 100
    assert await degraded() == []
    lake.write({"b.md": "another heron"})
    await crawl(lake)
    # Behind for a moment is how it always is.
    assert await degraded() == []
    clock.now += 100
    assert len(await degraded()) == 1
    watched = replace(app, index_lag=lag)
    found = await ready(Health(watched))
    assert (found["status"], found["checks"]["index"]["ok"]) == ("degraded", False)
    metrics = await CallMetrics(watched).render(watched, Health(watched))
    assert b"pecia_index_lag_seconds 100.0" in metrics
    await catch_up(lake)
    assert await degraded() == []
    found = await ready(Health(replace(app, index_lag=lag)))
    assert (found["status"], found["checks"]["index"]["ok"]) == ("ready", True)
    metrics = await CallMetrics(watched).render(watched, Health(watched))
    assert b"pecia_index_lag_seconds 0.0" in metrics


async def test_an_index_that_is_behind_and_moves_is_not_told_of(lake: Lake) -> None:
    app = lake.house.app
    clock = Clock()
    lag = IndexLag(app.store, index_root(app.settings.kernel), clock)
    for number in range(5):
        lake.write({f"{number}.md": f"heron {number}"})
        await crawl(lake)
        await lag.poll()
        assert lag.stalled_tenants() == {}
        await catch_up(lake)
        clock.now += 10


@dataclass
class WatchedEmbedder:
    """Asks for the indexes that are behind whenever it embeds."""

    store: Store
    name: str = "watched"
    language: str = ""
    seen: list[IndexTrouble] = field(default_factory=list[IndexTrouble])

    async def dimension(self) -> int:
        return 2

    async def embed(self, texts: Sequence[str]) -> Vectors:
        found = await index_troubles(self.store, "none")
        self.seen += [it for it in found if it.kind == "semantic"]
        return np.ones((len(texts), 2), np.float32)


async def test_embeddings_that_are_being_made_are_told_from_an_index_that_stands_still(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "STALL_TIMEOUT_S", 0)
    app, embedder = lake.house.app, WatchedEmbedder(lake.house.app.store)
    job = embed_job(embedder, schedule=None)

    async def embed() -> None:
        async with app.store.system() as tx:
            await defer_as_system(tx, job, NoArguments(), tenant_id=lake.house.ana.tenant_id)
        await run_until_idle(app.store, [job])

    lake.write({"first.md": "A heron stands in the river.\n"})
    await lake.crawl()
    await embed()
    embedder.seen.clear()
    lake.write({"second.md": "A bridge crosses the river.\n"})
    await lake.crawl()
    [waiting] = [it for it in await index_troubles(app.store, "none") if it.kind == "semantic"]
    assert not waiting.is_running
    await embed()
    assert embedder.seen
    assert all(it.is_running for it in embedder.seen)
