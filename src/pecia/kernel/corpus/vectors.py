"""Chunks by meaning: the nearest a caller may see, and how near given ones are.

There are two ways to the nearest: an index over all vectors of the tenant, which is quick where
most of them may be seen, and a look at every visible one, which is exact. Counts of classes choose;
where the index comes back short, the exact way answers. Rights are the policies' business in both.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import orjson
from psycopg.types.json import Jsonb

from pecia.kernel.corpus.embedder import Vectors
from pecia.kernel.corpus.index.query import NO_FILTER, Filter
from pecia.kernel.corpus.index.rarity import Visible
from pecia.kernel.corpus.windows import ChunkId
from pecia.kernel.errors import OutOfRange
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.transaction import Transaction, as_array

SQL = load_queries("pecia.kernel.corpus", "vectors.sql")

QueryVector: TypeAlias = "Sequence[float] | Vectors"

# Microseconds of CPU, measured at 100,000 vectors: to compare one that may be seen, to follow the
# index past one candidate, seen or not, and what the index costs before its first one.
EXACT_US = 0.8
INDEX_US = 14.0
INDEX_START_US = 1500.0
# Candidates the index gathers at a time. With 200 it finds 90 of the 100 nearest at 100,000 vectors
# of real words and 82 at a million; with 400 there 88, in 1.7 times the time.
LEAST_REACH, LARGEST_REACH = 200, 1000
MOST = 1000


@dataclass(frozen=True, slots=True)
class Share:
    """What of a tenant's chunks a caller may see, as the counts of classes tell.

    `own` is the number of the caller's last write, `clock` that of anybody's, `has_vectors` whether
    any can be held here. `visible` is what they see of all sources, wherever they look: among that
    words weigh; None when it is everything.
    """

    classes: list[int]
    chunks: int
    of_chunks: int
    own: int = 0
    clock: int = 0
    has_vectors: bool = True
    visible: Visible | None = None


class Near(NamedTuple):
    """A chunk, how near it is, if it has a vector, and the file it is of."""

    chunk_id: ChunkId
    cosine: float | None
    file_id: int
    key: str
    title: str
    chunks: int


NO_VECTORS = (
    "the database has no extension `vector` 0.7 or later; once it has, its owner says"
    " `CALL kernel.make_vectors()`"
)


async def condition(tx: Transaction) -> str | None:
    """Why there is no search by meaning here; None when there can be."""
    return None if await tx.value(SQL["has_vectors"]) else NO_VECTORS


async def nearest(
    tx: Transaction,
    query: QueryVector,
    model: str,
    k: int,
    filters: Filter = NO_FILTER,
    share: Share | None = None,
) -> list[tuple[ChunkId, float]]:
    """The `k` nearest chunks the caller may see, with their cosines, nearest first.

    Chunks that have no vector of this model yet are not among them. `share` is that of the
    filters, for one who knows it.
    """
    if not 1 <= k <= MOST:
        raise OutOfRange(f"between 1 and {MOST} are found", field="k", min=1, max=MOST, got=k)
    share = share or await share_of(tx, filters)
    if share.chunks == 0:
        return []
    reach = chosen_reach(share, k)
    found = await _nearest(tx, query, model, k, (filters, reach))
    if reach and len(found) < min(k, share.chunks):
        found = await _nearest(tx, query, model, k, (filters, 0))
    return found


async def cosines(
    tx: Transaction, ids: Sequence[ChunkId], query: QueryVector, model: str
) -> dict[ChunkId, float]:
    """How near each of these is, exactly. Those without a vector, or not to be seen, are absent."""
    of = {"query": as_text(query), "dims": len(query), "model": model}
    return dict(await tx.made(_pair, SQL["cosines"], ids=as_array(ids), **of))


async def candidates(
    tx: Transaction, found: Sequence[tuple[ChunkId, int]], query: QueryVector, model: str
) -> list["Near"]:
    """Those of these chunks, given with their files, that may be seen."""
    return await tx.made(
        Near._make,
        SQL["candidates"],
        ids=as_array(it for it, _ in found),
        files=as_array(it for _, it in found),
        query=as_text(query),
        dims=len(query),
        model=model,
    )


def chosen_reach(share: Share, k: int) -> int:
    """How many candidates the index should gather at a time; 0 when looking at all is cheaper."""
    candidates = k * max(share.of_chunks, share.chunks) / share.chunks
    exact_us = share.chunks * EXACT_US
    index_us = INDEX_START_US + max(candidates, LEAST_REACH) * INDEX_US
    if exact_us <= index_us:
        return 0
    return int(min(LARGEST_REACH, max(LEAST_REACH, candidates)))


def as_text(vector: QueryVector) -> str:
    """A vector as the database reads one."""
    return orjson.dumps(vector, option=orjson.OPT_SERIALIZE_NUMPY).decode()


async def share_of(tx: Transaction, filters: Filter) -> Share:
    """How much the caller sees of where they look."""
    if filters.sources is None:
        row = await tx.one(SQL["visible_classes"], "no classes")
        classes, chunks = row["classes"], row["chunks"]
    else:
        sources = sorted(filters.sources)
        row = await tx.one(SQL["visible_classes_in"], "no classes", sources=sources)
        classes, chunks = row.pop("all_classes"), row.pop("all_chunks")
    if filters.classes is not None:
        row["classes"] = [it for it in row["classes"] if it in filters.classes]
    visible = None if chunks >= row["of_chunks"] else Visible(frozenset(classes), chunks)
    return Share(**row, visible=visible)


async def _nearest(
    tx: Transaction, query: QueryVector, model: str, k: int, how: tuple[Filter, int]
) -> list[tuple[ChunkId, float]]:
    filters, reach = how
    return await tx.made(
        _pair,
        SQL["nearest"],
        query=as_text(query),
        dims=len(query),
        model=model,
        most=k,
        filter=Jsonb(_conditions(filters)),
        reach=reach,
    )


def _pair(row: Sequence[Any]) -> tuple[ChunkId, float]:
    return row[0], row[1]


def _conditions(filters: Filter) -> dict[str, Any]:
    """The filter as the database takes it. What does not narrow is not in it."""
    content_type = filters.content_type.lower() if filters.content_type is not None else None
    asked: dict[str, Any] = {
        "sources": None if filters.sources is None else sorted(filters.sources),
        "pattern": None if filters.path_glob is None else path_pattern(filters.path_glob),
        "content_type": content_type,
        "after": filters.modified_after_ms,
        "before": filters.modified_before_ms,
    }
    return {name: it for name, it in asked.items() if it is not None}


@lru_cache(256)
def path_pattern(glob: str) -> str:
    """A glob as an expression for PostgreSQL. It means what it means to the keyword index."""
    *folders, last = glob.split("/")
    head = "".join("(?:[^/]+/)*" if it == "**" else f"{_segment(it)}/" for it in folders)
    return rf"\A{head}{'.+' if last == '**' else _segment(last)}\Z"


def _segment(segment: str) -> str:
    return "".join(_token(it) for it in _TOKENS.findall(segment))


def _token(token: str) -> str:
    if token == "?":
        return "[^/]"
    if token.startswith("*"):
        return "[^/]*"
    return _one_of(token[1:-1]) if len(token) > 1 else _exactly(token)


def _one_of(signs: str) -> str:
    """`[a-c]` or `[!a-c]`. No set holds a slash, and a range that runs backwards holds nothing."""
    ranges = [(low, high or low) for low, high in _RANGE.findall(signs.removeprefix("!"))]
    inside = "".join(f"{_exactly(a)}-{_exactly(b)}" for a, b in ranges if a <= b)
    if signs.startswith("!"):
        return f"[^/{inside}]"
    return f"(?!/)[{inside}]" if inside else _NOTHING


def _exactly(sign: str) -> str:
    return rf"\U{ord(sign):08X}"


_TOKENS = re.compile(r"\[!?[^\]]+\]|\*+|\?|.", re.DOTALL)
_RANGE = re.compile(r"(.)(?:-(.))?", re.DOTALL)
_NOTHING = r"(?!/)/"


async def are_embedded(tx: Transaction, sources: Collection[str]) -> bool:
    """Whether vectors are made for any of these sources."""
    return bool(await tx.value(SQL["embeds"], sources=[*sources]))


async def newest_lack(tx: Transaction, node: str, model: str) -> bool:
    """Whether the job that embeds has yet to come to something new that the caller may see."""
    if not await tx.value(SQL["is_behind"], node=node):
        return False
    return bool(await tx.value(SQL["newest_lack"], model=model, most=MOST))
