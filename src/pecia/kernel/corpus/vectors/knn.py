"""Semantic retrieval: the nearest chunks a caller may see, and the cosines of given ones.

There are two ways to the nearest: an index over all vectors of the tenant, which is quick where
most of them may be seen, and a look at every visible one, which is exact. Counts of classes choose;
where the index comes back short, the exact way answers. Rights are the policies' business in both.
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, TypeAlias

import orjson
from psycopg.types.json import Jsonb

from pecia.kernel.corpus.keyword.query.parser import NO_FILTER, Filter
from pecia.kernel.corpus.search.hydrate import ChunkId
from pecia.kernel.corpus.vectors.embedder import Vectors
from pecia.kernel.corpus.visibility import VisibleSet, load_visible_set
from pecia.kernel.errors import OutOfRange
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Transaction, array_literal
from pecia.kernel.text.glob import to_postgres_regex

SQL = load_queries("pecia.kernel.corpus.vectors", "knn.sql")

QueryVector: TypeAlias = "Sequence[float] | Vectors"

# Microseconds of CPU, measured at 100,000 vectors: comparing one visible vector, one candidate of
# the index, visible or not, and the index's cost before the first.
EXACT_SCAN_US = 0.8
HNSW_CANDIDATE_US = 14.0
HNSW_START_US = 1500.0
# What the index costs grows with the cube root of its size: a small one stays in the processor's
# cache. 3,160 vectors took 1.4 ms by index and 2.9 one by one, with the same neighbours.
MEASURED_VECTORS = 100_000
HNSW_GROWTH = 1 / 3
# Candidates the index gathers at a time. With 200 it finds 90 of the 100 nearest at 100,000 vectors
# of real words and 82 at a million; with 400 there 88, in 1.7 times the time.
MIN_EF_SEARCH, MAX_EF_SEARCH = 200, 1000
MAX_K = 1000


class VectorCandidate(NamedTuple):
    """A chunk, its cosine if it has a vector, and its file."""

    chunk_id: ChunkId
    cosine: float | None
    file_id: int
    key: str
    title: str
    chunks: int


NO_VECTOR_EXTENSION = (
    "the database has no extension `vector` 0.7 or later; once it has, its owner says"
    " `CALL kernel.make_vectors()`"
)


async def find_unavailable_reason(tx: Transaction) -> str | None:
    """Why semantic search is unavailable; None if it is available."""
    return None if await tx.fetch_value(SQL["has_vectors"]) else NO_VECTOR_EXTENSION


async def find_nearest(
    tx: Transaction,
    query: QueryVector,
    model: str,
    k: int,
    filters: Filter = NO_FILTER,
    share: VisibleSet | None = None,
) -> list[tuple[ChunkId, float]]:
    """The `k` nearest chunks the caller may see, with their cosines, nearest first.

    Chunks that have no vector of this model yet are not among them. `share` is the
    visible set under the filters, if known.
    """
    if not 1 <= k <= MAX_K:
        raise OutOfRange(f"between 1 and {MAX_K} are found", field="k", min=1, max=MAX_K, got=k)
    share = share or await load_visible_set(tx, filters)
    if share.chunks == 0:
        return []
    reach = choose_ef_search(share, k)
    found = await _query_nearest(tx, query, model, k, (filters, reach))
    if reach and len(found) < min(k, share.chunks):
        found = await _query_nearest(tx, query, model, k, (filters, 0))
    return found


async def load_cosines(
    tx: Transaction, ids: Sequence[ChunkId], query: QueryVector, model: str
) -> dict[ChunkId, float]:
    """The exact cosines of these. Those without a vector, or not visible, are absent."""
    of = {"query": vector_literal(query), "dims": len(query), "model": model}
    return dict(await tx.fetch_mapped(_pair, SQL["cosines"], ids=array_literal(ids), **of))


async def find_nearest_inside(
    tx: Transaction, files: Sequence[int], query: QueryVector, model: str, k: int
) -> dict[ChunkId, float]:
    """The nearest chunks of these files, those that are visible, with their cosines, nearest first.
    Every chunk is looked at."""
    of = {"query": vector_literal(query), "dims": len(query), "model": model, "most": k}
    ids = array_literal(files)
    return dict(await tx.fetch_mapped(_pair, SQL["nearest_inside"], files=ids, **of))


async def load_candidates(
    tx: Transaction, found: Sequence[tuple[ChunkId, int]], query: QueryVector, model: str
) -> list["VectorCandidate"]:
    """The visible ones among these chunks, given with their files."""
    return await tx.fetch_mapped(
        VectorCandidate._make,
        SQL["candidates"],
        ids=array_literal(it for it, _ in found),
        files=array_literal(it for _, it in found),
        query=vector_literal(query),
        dims=len(query),
        model=model,
    )


def choose_ef_search(share: VisibleSet, k: int) -> int:
    """The HNSW `ef_search`; 0 when an exact scan is cheaper."""
    indexed = max(share.of_chunks, share.chunks)
    candidates = k * indexed / share.chunks
    exact_us = share.chunks * EXACT_SCAN_US
    index_us = HNSW_START_US + max(candidates, MIN_EF_SEARCH) * HNSW_CANDIDATE_US
    if exact_us <= index_us * (indexed / MEASURED_VECTORS) ** HNSW_GROWTH:
        return 0
    return int(min(MAX_EF_SEARCH, max(MIN_EF_SEARCH, candidates)))


def vector_literal(vector: QueryVector) -> str:
    """A vector as a PostgreSQL literal."""
    return orjson.dumps(vector, option=orjson.OPT_SERIALIZE_NUMPY).decode()


async def _query_nearest(
    tx: Transaction, query: QueryVector, model: str, k: int, how: tuple[Filter, int]
) -> list[tuple[ChunkId, float]]:
    filters, reach = how
    return await tx.fetch_mapped(
        _pair,
        SQL["nearest"],
        query=vector_literal(query),
        dims=len(query),
        model=model,
        most=k,
        filter=Jsonb(_filter_json(filters)),
        reach=reach,
    )


def _pair(row: Sequence[Any]) -> tuple[ChunkId, float]:
    return row[0], row[1]


def _filter_json(filters: Filter) -> dict[str, Any]:
    """The filter as JSON for the database, without empty parts."""
    content_type = filters.content_type.lower() if filters.content_type is not None else None
    asked: dict[str, Any] = {
        "sources": None if filters.sources is None else sorted(filters.sources),
        "pattern": None if filters.path_glob is None else to_postgres_regex(filters.path_glob),
        "content_type": content_type,
        "after": filters.modified_after_ms,
        "before": filters.modified_before_ms,
        "authors": None if filters.authors is None else sorted(filters.authors),
    }
    return {name: it for name, it in asked.items() if it is not None}


async def are_embedded(tx: Transaction, sources: Collection[str]) -> bool:
    """Whether any of these sources is embedded."""
    return bool(await tx.fetch_value(SQL["embeds"], sources=[*sources]))


async def newest_lack(tx: Transaction, node: str, model: str) -> bool:
    """Whether the embedding job has yet to reach something new that the caller may see."""
    if not await tx.fetch_value(SQL["is_behind"], node=node):
        return False
    return bool(await tx.fetch_value(SQL["newest_lack"], model=model, most=MAX_K))
