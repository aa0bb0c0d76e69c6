"""The shapes of plans for vectors and chunks under row-level security.

A policy is a part of every plan. These are the shapes that make it cheap: the index where it was
chosen, rights asked row by row and not listed beforehand, who asks worked out once.
"""

from typing import Any, cast

import numpy as np
import psycopg
import pytest

from pecia.kernel.corpus.search import hydrate
from pecia.kernel.corpus.vectors import knn
from tests.laws.test_plans import Node, asked_for_each_row, nodes
from tests.unit.kernel.corpus.corpus_fixture import CorpusFixture

pytestmark = pytest.mark.anyio

FILES, CHUNKS, DIMS, MODEL = 300, 4, 384, "test-model"
CHANCE = np.random.default_rng(5)

FILL = [
    "INSERT INTO kernel.file (tenant_id, source_id, key, chunk_count)"
    " SELECT %(tenant)s, 's1', n || '.md', %(chunks)s FROM generate_series(1, %(files)s) AS n",
    "INSERT INTO kernel.chunk (tenant_id, file_id, seq, char_start, char_end, text, text_hash)"
    " SELECT tenant_id, id, seq, 0, 1, id || '-' || seq, '0123456789abcdef'"
    "   FROM kernel.file, generate_series(1, %(chunks)s) AS seq",
    "INSERT INTO kernel.vector SELECT tenant_id, id, file_id, %(model)s, text_hash, %(dims)s,"
    "        (ARRAY(SELECT sin(id + n) FROM generate_series(1, %(dims)s) AS n)::real[])::halfvec"
    "   FROM kernel.chunk",
]


async def fill(ground: CorpusFixture, *, analysed: bool = True) -> list[int]:
    """A tenant large enough for plans to differ. Its chunks."""
    values = {"tenant": ground.tenant_id, "chunks": CHUNKS, "files": FILES}
    async with ground.store.system() as tx:
        for statement in FILL:
            await tx.execute(cast(Any, statement), **values, model=MODEL, dims=DIMS)
    async with await psycopg.AsyncConnection.connect(
        ground.store.logins.owner, autocommit=True
    ) as owner:
        await owner.execute("ANALYZE" if analysed else "SELECT 1")
    return [it for (it,) in await ground.ask("SELECT id FROM kernel.chunk LIMIT 60")]


async def explain(ground: CorpusFixture, statement: str, **values: Any) -> Node:
    async with ground.store.reading(ground.ana) as tx:
        asked = "EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON, TIMING off) " + statement
        return (await tx.fetch_value(cast(Any, asked), **values))[0]["Plan"]


async def nearest_plan(ground: CorpusFixture, way: str) -> Node:
    ((statement,),) = await ground.ask(f"SELECT kernel.{way}({DIMS}, '{{}}')")
    ((classes,),) = await ground.ask("SELECT array_agg(id) FROM kernel.acl")
    query = knn.vector_literal(CHANCE.normal(size=DIMS).tolist())
    given = {"$1": "query", "$2": "tenant", "$3": "model", "$4": "most", "$5": "classes"}
    for place, name in given.items():
        statement = statement.replace(place, f"%({name})s")
    values = {"query": query, "tenant": ground.tenant_id, "model": MODEL, "most": 60}
    return await explain(ground, statement, **values, classes=classes)


def indexes(plan: Node) -> set[str]:
    return {it["Index Name"] for it in nodes(plan) if "Index Name" in it}


def listed_beforehand(plan: Node) -> list[Node]:
    """Where all files were gone through, to ask about a few."""
    files = [it for it in nodes(plan) if it.get("Relation Name") == "file"]
    return [it for it in files if it["Node Type"] == "Seq Scan"]


async def test_the_index_is_followed_and_rights_are_asked_of_what_it_shows(
    ground: CorpusFixture,
) -> None:
    await fill(ground)
    plan = await nearest_plan(ground, "nearest_by_index")
    (scan,) = [it for it in nodes(plan) if str(it.get("Relation Name")).startswith("vector_")]
    assert "embedding" in scan["Index Name"]
    assert "<=>" in scan["Order By"]
    assert listed_beforehand(plan) == []
    assert asked_for_each_row(plan) == []


async def test_looking_at_all_goes_by_classes_and_files(ground: CorpusFixture) -> None:
    await fill(ground)
    plan = await nearest_plan(ground, "nearest_of_all")
    assert not any("embedding" in it for it in indexes(plan))
    assert asked_for_each_row(plan) == []


async def test_every_vector_is_looked_at_once_before_the_tables_were_analysed(
    ground: CorpusFixture,
) -> None:
    """With a plan that took them for empty, 400 files took 160,000 looks."""
    await fill(ground, analysed=False)
    plan = await nearest_plan(ground, "nearest_of_all")
    looked = [
        (it["Actual Rows"] + it.get("Rows Removed by Filter", 0)) * it["Actual Loops"]
        for it in nodes(plan)
        if str(it.get("Relation Name")).startswith("vector_")
    ]
    assert sum(looked) == FILES * CHUNKS


async def test_chunks_are_read_by_their_ids_and_their_neighbours_by_their_places(
    ground: CorpusFixture,
) -> None:
    ids = await fill(ground)
    places = await ground.ask("SELECT id, file_id, seq FROM kernel.chunk ORDER BY id LIMIT 20")
    beside = dict(zip(("ids", "files", "seqs"), map(list, zip(*places, strict=True)), strict=True))
    for name, asked in (("hydrate", {"ids": ids}), ("neighbours", beside)):
        plan = await explain(ground, hydrate.SQL[name], **asked)
        scans = {it["Node Type"] for it in nodes(plan) if it.get("Relation Name") == "chunk"}
        assert scans <= {"Index Scan", "Bitmap Heap Scan"}, name
        assert listed_beforehand(plan) == [], name
        assert asked_for_each_row(plan) == [], name
