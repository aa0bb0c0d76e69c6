"""A hybrid search whose hits have no embedding yet says so; once they have, it says nothing."""

from typing import Any

import pytest

from pecia.kernel.corpus.changelog import load_positions
from pecia.kernel.corpus.vectors.embed_job import embed_job
from pecia.kernel.jobs import NoArguments, defer_as_system
from pecia.kernel.jobs.worker import run_until_idle
from tests.interfaces.test_lake_revoked import KEY, Lake, lake
from tests.laws.lake_clients import Http

pytestmark = pytest.mark.anyio

__all__ = ["lake"]


async def ask(lake: Lake, query: str) -> dict[str, Any]:
    token = lake.pecia.tokens["north", "ana"]
    return (await Http(lake.pecia.http).ask(token, "search_content", query=query, explain=True))[
        "ok"
    ]


async def embed(lake: Lake) -> None:
    app = lake.pecia.app
    assert app.embedder is not None
    job = embed_job(app.embedder, schedule=None)
    async with app.store.system() as tx:
        for tenant_id in await load_positions(tx):
            await defer_as_system(tx, job, NoArguments(), tenant_id=tenant_id)
    await run_until_idle(app.store, [job])


def told(found: dict[str, Any]) -> bool:
    return any("embeddings are still being made" in it for it in found["degraded"])


async def test_hits_without_embeddings_are_told_of_until_they_have_them(lake: Lake) -> None:
    found = await ask(lake, "spokes")
    [hit] = [it for it in found["hits"] if it["key"] == KEY]
    assert (hit["explain"]["cosine"], told(found)) == (None, True)
    # Nothing is found by these words, and nothing can be by meaning yet.
    assert (await ask(lake, "unheardof"))["hits"] == []
    assert told(await ask(lake, "unheardof"))
    await embed(lake)
    found = await ask(lake, "spokes")
    [hit] = [it for it in found["hits"] if it["key"] == KEY]
    assert hit["explain"]["cosine"] is not None
    assert not told(found)


async def test_a_source_that_wants_no_embeddings_is_not_missing_any(lake: Lake) -> None:
    await lake.do(("set_source", {"source_id": "docs", "hybrid": False}))
    assert not told(await ask(lake, "spokes"))
    assert not told(await ask(lake, "unheardof"))
