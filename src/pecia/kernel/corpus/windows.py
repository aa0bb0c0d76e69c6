"""Chunks as they are read: a stretch of a file, hits with all that is said of them, neighbours.

Every row is read under the caller's rights, whatever an index said of it: a chunk the caller may
not see, or that is gone, is not among the answers, and nothing tells the two apart.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from pecia.kernel.corpus.catalog import missing_file
from pecia.kernel.errors import OutOfRange
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.transaction import Transaction, as_array
from pecia.kernel.text.window import REACH

SQL = load_queries("pecia.kernel.corpus", "windows.sql")

LARGEST_WINDOW = 200

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
class Window:
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


class Passage(NamedTuple):
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


class Neighbour(NamedTuple):
    """As much of a chunk as `window_around` needs, and which chunk it stands around."""

    of_id: ChunkId
    seq: int
    start: int
    text: str
    prefix: str


async def read_window(tx: Transaction, source_id: str, key: str, start: int, size: int) -> Window:
    """At most `size` chunks from `start` on. Past the end there are none; NotFound for no file."""
    if start < 0:
        raise OutOfRange("chunks are counted from 0", field="start", min=0, got=start)
    if not 1 <= size <= LARGEST_WINDOW:
        raise OutOfRange(
            f"a window has 1 to {LARGEST_WINDOW} chunks",
            field="size",
            min=1,
            max=LARGEST_WINDOW,
            got=size,
        )
    return await _stretch(tx, source_id, key, start, size)


async def read_file(
    tx: Transaction, source_id: str, key: str, most: int, *, start: int = 0
) -> Window:
    """A file from its beginning, or from a chunk on; at most so many chunks of it."""
    return await _stretch(tx, source_id, key, start, most)


async def hydrate(tx: Transaction, ids: Sequence[ChunkId]) -> list[Passage]:
    """The chunks the caller may see, in the order asked for. The others are just absent."""
    return await tx.made(Passage._make, SQL["hydrate"], ids=as_array(ids))


async def neighbours(
    tx: Transaction, hits: Sequence[Passage]
) -> dict[ChunkId, list[Passage | Neighbour]]:
    """Each hit with the chunks around it, in order: enough for a window."""
    around: dict[ChunkId, list[Passage | Neighbour]] = {it.id: [it] for it in hits}
    asked = [(it.id, it.file_id, seq) for it in hits for seq in _beside(it)]
    if asked:
        ids, files, seqs = map(as_array, zip(*asked, strict=True))
        places = {"ids": ids, "files": files, "seqs": seqs}
        for it in await tx.made(Neighbour._make, SQL["neighbours"], **places):
            around[it.of_id].append(it)
    for slices in around.values():
        slices.sort(key=lambda it: it.seq)
    return around


def _beside(hit: Passage) -> Iterator[int]:
    for seq in range(hit.seq - REACH, hit.seq + REACH + 1):
        if seq != hit.seq and 0 <= seq < hit.chunk_count:
            yield seq


async def _stretch(tx: Transaction, source_id: str, key: str, start: int, size: int) -> Window:
    file = await tx.maybe(SQL["file"], source_id=source_id, key=key)
    if file is None:
        raise await missing_file(tx, source_id, key)
    rows = await tx.all(SQL["window"], file_id=file["file_id"], start=start, size=size)
    chunks = tuple(WindowChunk(**_with_headings(it)) for it in rows)
    after = start + len(chunks)
    has_more = bool(chunks) and after < file["chunk_count"]
    return Window(**file, chunks=chunks, next_start=after if has_more else None)


def _with_headings(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "headings": tuple(row["headings"])}
