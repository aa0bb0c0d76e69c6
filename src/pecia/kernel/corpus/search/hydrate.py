"""Chunks as they are read: a stretch of a file, and hits with their neighbours and snippets.

Every row is read under the caller's rights, whatever an index said of it: a chunk the caller may
not see, or that is gone, is absent, and the two look the same.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from pecia.kernel.corpus.catalog.catalog import missing_file
from pecia.kernel.corpus.keyword.query.parser import Query
from pecia.kernel.corpus.search.excerpt import (
    NEIGHBOUR_REACH,
    Snippet,
    TextWindow,
    build_snippet,
    build_window,
)
from pecia.kernel.errors import Json, OutOfRange
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Transaction, array_literal
from pecia.kernel.text.markdown.frontmatter import find_body_start
from pecia.kernel.text.span import Span

SQL = load_queries("pecia.kernel.corpus.search", "hydrate.sql")

MAX_WINDOW_CHUNKS = 200

ChunkId: TypeAlias = int
"""Of a chunk, for as long as its words stay; unique in its tenant."""


@dataclass(frozen=True, slots=True)
class WindowChunk:
    id: ChunkId
    seq: int
    start: int
    end: int
    text: str
    prefix: str
    headings: tuple[str, ...]
    unit_label: str
    page_no: int | None
    ts_start_ms: int | None
    ts_end_ms: int | None


@dataclass(frozen=True, slots=True)
class ChunkWindow:
    """Chunks that follow each other. `next_start` is where to go on; None at the end."""

    file_id: int
    source_id: str
    key: str
    title: str
    content_type: str | None
    modified_at: datetime | None
    revision_id: int | None
    chunk_count: int
    status: str
    reason: str
    chunks: tuple[WindowChunk, ...]
    next_start: int | None

    @property
    def text(self) -> str:
        """The stretch of the canonical text, exactly."""
        return "".join(it.text for it in self.chunks)


class HydratedChunk(NamedTuple):
    """A chunk with its file: all that a hit or a citation says. As `hydrate` reads it."""

    id: ChunkId
    file_id: int
    source_id: str
    key: str
    title: str
    language: str
    revision_id: int
    seq: int
    start: int
    end: int
    text: str
    prefix: str
    headings: Sequence[str]
    unit_label: str
    page_no: int | None
    ts_start_ms: int | None
    ts_end_ms: int | None
    content_type: str | None
    modified_at: datetime | None
    chunk_count: int


class NeighbourChunk(NamedTuple):
    """As much of a chunk as `window_around` needs, and which chunk it stands around."""

    of_id: ChunkId
    seq: int
    start: int
    text: str
    prefix: str


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A passage that was found. `rank` is 1 for the best and falls from there; `match` is how
    likely it answers, None where the query has no words. `focus` is where most words of the query
    stand together, in the file, and `marks` are those words. `repeats` is the original that a
    derived text says again.
    """

    passage: HydratedChunk
    window: TextWindow
    focus: Span
    snippet: str
    rank: float
    match: float | None = None
    why: Mapping[str, Json] | None = None
    repeats: HydratedChunk | None = None
    marks: tuple[Span, ...] = ()


class ChunkReader:
    """The chunks that one search reads, each once."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._chunks: dict[ChunkId, HydratedChunk] = {}

    async def read(self, ids: Collection[ChunkId]) -> dict[ChunkId, HydratedChunk]:
        """The chunks the caller may see, in the given order. The others are absent."""
        missing = [it for it in ids if it not in self._chunks]
        if missing:
            self._chunks |= {it.id: it for it in await hydrate(self._tx, missing)}
        return {it: self._chunks[it] for it in ids if it in self._chunks}


async def read_window(
    tx: Transaction, source_id: str, key: str, start: int, size: int
) -> ChunkWindow:
    """At most `size` chunks from `start` on. Empty past the end; NotFound if there is no file."""
    if start < 0:
        raise OutOfRange("chunks are counted from 0", field="start", min=0, got=start)
    if not 1 <= size <= MAX_WINDOW_CHUNKS:
        raise OutOfRange(
            f"a window has 1 to {MAX_WINDOW_CHUNKS} chunks",
            field="size",
            min=1,
            max=MAX_WINDOW_CHUNKS,
            got=size,
        )
    return await _load_window(tx, source_id, key, start, size)


async def read_file(
    tx: Transaction, source_id: str, key: str, most: int, *, start: int = 0
) -> ChunkWindow:
    """A file from its beginning, or from a chunk on; at most so many chunks of it."""
    return await _load_window(tx, source_id, key, start, most)


async def hydrate(tx: Transaction, ids: Sequence[ChunkId]) -> list[HydratedChunk]:
    """The chunks the caller may see, in the given order. The others are absent."""
    return await tx.fetch_mapped(HydratedChunk._make, SQL["hydrate"], ids=array_literal(ids))


async def load_neighbours(
    tx: Transaction, hits: Sequence[HydratedChunk]
) -> dict[ChunkId, list[HydratedChunk | NeighbourChunk]]:
    """Each hit with the chunks around it, in order: enough for a window."""
    around: dict[ChunkId, list[HydratedChunk | NeighbourChunk]] = {it.id: [it] for it in hits}
    asked = [(it.id, it.file_id, seq) for it in hits for seq in _neighbour_seqs(it)]
    if asked:
        ids, files, seqs = map(array_literal, zip(*asked, strict=True))
        places = {"ids": ids, "files": files, "seqs": seqs}
        for it in await tx.fetch_mapped(NeighbourChunk._make, SQL["neighbours"], **places):
            around[it.of_id].append(it)
    for slices in around.values():
        slices.sort(key=lambda it: it.seq)
    return around


async def build_hits(
    tx: Transaction,
    page: Sequence[tuple[HydratedChunk, float]],
    query: Query,
    matches: Mapping[ChunkId, float],
    why: Mapping[ChunkId, Mapping[str, Json]],
) -> list[SearchHit]:
    """The hits of a page, given with their ranks: each with its neighbours and a snippet."""
    around = await load_neighbours(tx, [it for it, _ in page])
    found = {(it.file_id, it.seq) for it, _ in page}
    hits: list[SearchHit] = []
    for it, rank in page:
        shown = build_snippet(it.text, query, it.language)
        focus = Span(it.start + shown.start, it.start + shown.end)
        window = build_window(around[it.id], it.seq, focus=focus)
        # What the next chunk says is shown there, if it is a hit too.
        end = it.end if (it.file_id, it.seq + 1) in found else window.span.end
        at, shown = _skip_frontmatter(it, window, shown, query, end)
        focus = Span(at + shown.start, at + shown.end)
        match = matches.get(it.id)
        marks = tuple(Span(at + mark.start, at + mark.end) for mark in shown.marks)
        hit = SearchHit(it, window, focus, shown.html, rank, match, why.get(it.id), marks=marks)
        hits.append(hit)
    return hits


def _skip_frontmatter(
    hit: HydratedChunk, window: TextWindow, shown: Snippet, query: Query, end: int
) -> tuple[int, Snippet]:
    """A snippet and where its text begins: of the body up to `end`, rather than of the frontmatter
    above it, where the body has as many different words of the query. People read text, not YAML.
    """
    body = find_body_start(window.text) if window.span.start == 0 == hit.start else 0
    text = window.text[body:end]
    if body and shown.start < body and text.strip():
        found = build_snippet(text, query, hit.language)
        if found.terms >= shown.terms:
            return body, found
    return hit.start, shown


def _neighbour_seqs(hit: HydratedChunk) -> Iterator[int]:
    for seq in range(hit.seq - NEIGHBOUR_REACH, hit.seq + NEIGHBOUR_REACH + 1):
        if seq != hit.seq and 0 <= seq < hit.chunk_count:
            yield seq


async def _load_window(
    tx: Transaction, source_id: str, key: str, start: int, size: int
) -> ChunkWindow:
    file = await tx.fetch_optional(SQL["file"], source_id=source_id, key=key)
    if file is None:
        raise await missing_file(tx, source_id, key)
    rows = await tx.fetch_all(SQL["window"], file_id=file["file_id"], start=start, size=size)
    chunks = tuple(WindowChunk(**_with_headings(it)) for it in rows)
    after = start + len(chunks)
    has_more = bool(chunks) and after < file["chunk_count"]
    return ChunkWindow(**file, chunks=chunks, next_start=after if has_more else None)


def _with_headings(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "headings": tuple(row["headings"])}
