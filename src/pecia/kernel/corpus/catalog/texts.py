"""Files with their texts: put, move, remove, purge and read, always for a caller.

Rights are the database's business: a caller's transaction writes where the caller may, and a
system transaction, which is nobody's, names the tenant. Chunks are cut here and nowhere else.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any, TypeAlias
from uuid import UUID

from anyio.to_thread import run_sync
from psycopg.types.json import Jsonb

from pecia.kernel.corpus.catalog.catalog import FileMetadata, missing_file, no_file
from pecia.kernel.errors import InvalidInput, NotFound, PayloadTooLarge
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Transaction
from pecia.kernel.text.canonical import CanonicalText, Unit, UnitKind, normalize
from pecia.kernel.text.chunks.chunk import Chunk, ChunkSource, OutlineEntry, TextMarkup, chunk_text
from pecia.kernel.text.language import normalize_language_tag
from pecia.kernel.text.span import Span

SQL = load_queries("pecia.kernel.corpus.catalog", "texts.sql")

MAX_TEXT_CHARS = 30_000_000
# Files are put in statements of about this many characters: enough to be cheap, little to hold.
BATCH_CHARS = 4_000_000


@dataclass(frozen=True, slots=True)
class ExtractedText:
    """What was read of a file. A file that could not be read has a status, a reason and no text.

    `chunks` are those that `with_chunks` made; without them it is cut when it is put.
    """

    canonical: CanonicalText
    title: str = ""
    language: str = ""
    markup: TextMarkup = TextMarkup.MARKDOWN
    outline: Sequence[OutlineEntry] = ()
    extractor: str = ""
    status: str = "ok"
    reason: str = ""
    chunks: tuple[Chunk, ...] | None = None


@dataclass(frozen=True, slots=True)
class StoredFile:
    """Where a file went. `changed` says that its text is another than before."""

    file_id: int
    revision_id: int | None
    changed: bool


@dataclass(frozen=True, slots=True)
class StoredText:
    """One revision of a file's text. No revision and no text when nothing could be read of it."""

    file_id: int
    source_id: str
    key: str
    title: str
    language: str
    content_type: str | None
    status: str
    reason: str
    revision_id: int | None
    is_current: bool
    text: str
    units: tuple[Unit, ...]
    sha256: str
    extractor: str
    created_at: datetime | None


def with_chunks(text: ExtractedText) -> ExtractedText:
    """The same text with its chunks. A long one takes seconds: for a thread, and before the
    transaction that puts it, which must not be open for so long."""
    return replace(text, chunks=tuple(_chunks(text)))


async def put(
    tx: Transaction,
    facts: FileMetadata,
    text: ExtractedText | None,
    *,
    tenant_id: UUID | None = None,
) -> StoredFile:
    """Add a file or update its metadata. Without a text, what is stored of it stays."""
    return (await put_many(tx, [(facts, text)], tenant_id=tenant_id))[0]


async def put_many(
    tx: Transaction,
    files: Sequence[tuple[FileMetadata, ExtractedText | None]],
    *,
    tenant_id: UUID | None = None,
) -> list[StoredFile]:
    """Put several files in few statements, in order."""
    _validate_files(files)
    stored: list[StoredFile] = []
    for batch in split_batches(files):
        known = await _load_known_hashes(tx, batch, tenant_id)
        # In a thread: chunking must not block the event loop.
        rows, chunks = await run_sync(_rows, batch, known)
        stored += await tx.fetch_all_as(
            StoredFile,
            SQL["put_files"],
            tenant_id=tenant_id,
            files=Jsonb(rows),
            chunks=Jsonb(chunks),
        )
    return stored


async def build_new_rows(batch: "FileBatch") -> tuple[Jsonb, Jsonb]:
    """Files and chunks as `kernel.put_files` takes them, for whoever puts new files together with
    rows of its own, in one statement."""
    if all(text is not None and text.chunks is not None for _, text in batch):
        files, chunks = _rows(batch, {})
    else:
        files, chunks = await run_sync(_rows, batch, dict[int, str]())
    return Jsonb(files), Jsonb(chunks)


async def remove(
    tx: Transaction, source_id: str, key: str, *, tenant_id: UUID | None = None
) -> None:
    """Remove the file, with every revision of its text."""
    gone = await tx.execute(SQL["remove_file"], source_id=source_id, key=key, tenant_id=tenant_id)
    if not gone:
        raise no_file(source_id, key)


async def move(
    tx: Transaction, source_id: str, key: str, to: str, *, tenant_id: UUID | None = None
) -> None:
    """Give a file another key. Its text, chunks and vectors stay as they are."""
    moved = await tx.execute(
        SQL["move_file"], source_id=source_id, key=key, to=to, tenant_id=tenant_id
    )
    if not moved:
        raise no_file(source_id, key)


async def purge(
    tx: Transaction, source_id: str, key: str | None = None, *, tenant_id: UUID | None = None
) -> int:
    """Erase a file, or all files of a source: their texts, and their keys in the audit log. Returns
    how many; indexes follow the change log."""
    return await tx.fetch_value(
        SQL["purge_files"], source_id=source_id, key=key, tenant_id=tenant_id
    )


async def read_text(
    tx: Transaction,
    source_id: str,
    key: str,
    revision_id: int | None = None,
    *,
    tenant_id: UUID | None = None,
) -> StoredText:
    """The text of a file, or of an earlier revision of it. NotFound where either is not there."""
    asked = {"source_id": source_id, "key": key, "revision_id": revision_id}
    row = await tx.fetch_optional(SQL["text"], **asked, tenant_id=tenant_id)
    if row is None:
        raise no_file(source_id, key) if tenant_id else await missing_file(tx, source_id, key)
    if revision_id is not None and row["revision_id"] is None:
        raise NotFound(f"no revision {revision_id} of {key!r}", revision_id=revision_id)
    row["units"] = tuple(_unit(it) for it in row["units"] or ())
    row |= {name: row[name] or "" for name in ("text", "sha256", "extractor")}
    return StoredText(**row)


async def trim_revisions(tx: Transaction, days: int) -> int:
    """In a system transaction: drop earlier texts that are older than this."""
    return await tx.execute(SQL["trim_revisions"], days=days)


def _validate_files(files: Sequence[tuple[FileMetadata, ExtractedText | None]]) -> None:
    places = {(facts.source_id, facts.key) for facts, _ in files}
    if len(places) != len(files):
        raise InvalidInput("a file is put once at a time", field="files", expected="distinct keys")
    for facts, text in files:
        if text and len(text.canonical.text) > MAX_TEXT_CHARS:
            raise PayloadTooLarge(
                f"the text of {facts.key!r} is longer than {MAX_TEXT_CHARS} characters",
                field="text",
                max=MAX_TEXT_CHARS,
            )


FileBatch: TypeAlias = list[tuple[FileMetadata, ExtractedText | None]]


def split_batches(
    files: Sequence[tuple[FileMetadata, ExtractedText | None]],
) -> Iterator[FileBatch]:
    """The files in batches that a statement puts at a time."""
    batch: FileBatch = []
    held = 0
    for facts, text in files:
        size = len(text.canonical.text) if text else 0
        if batch and held + size > BATCH_CHARS:
            yield batch
            batch, held = [], 0
        batch.append((facts, text))
        held += size
    if batch:
        yield batch


async def _load_known_hashes(
    tx: Transaction, batch: FileBatch, tenant_id: UUID | None
) -> dict[int, str]:
    """The sha256 of the texts that are stored, by place in the batch."""
    rows = await tx.fetch_all(
        SQL["known_texts"],
        sources=[facts.source_id for facts, _ in batch],
        keys=[facts.key for facts, _ in batch],
        tenant_id=tenant_id,
    )
    return {row["place"]: row["sha256"] for row in rows}


def _rows(
    batch: FileBatch, known: dict[int, str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    files: list[dict[str, Any]] = []
    chunks: list[dict[str, Any]] = []
    for place, (facts, text) in enumerate(batch, start=1):
        row: dict[str, Any] = {"place": place, "has_text": text is not None, "has_chunks": False}
        row |= asdict(facts)
        files.append(row)
        if text is None:
            continue
        row |= _text_row(text)
        if text.canonical.text and known.get(place) == text.canonical.sha256:
            continue
        pieces = _chunks(text) if text.chunks is None else text.chunks
        chunks += [_chunk_row(place, it) for it in pieces]
        row |= {"has_chunks": True, "chunk_count": len(pieces), **_revision_row(text)}
    return files, chunks


def _text_row(text: ExtractedText) -> dict[str, Any]:
    """What is said of a text, whether or not it is stored already."""
    return {
        "title": normalize(text.title),
        "language": normalize_language_tag(text.language),
        "status": text.status,
        "reason": normalize(text.reason),
        # No text, no revision.
        "sha256": text.canonical.sha256 if text.canonical.text else None,
        "extractor": text.extractor,
    }


def _revision_row(text: ExtractedText) -> dict[str, Any]:
    units = [
        [
            it.no,
            it.kind,
            normalize(it.label),
            it.span.start,
            it.span.end,
            it.ts_start_ms,
            it.ts_end_ms,
        ]
        for it in text.canonical.units
    ]
    return {"text": text.canonical.text, "units": units}


def _chunks(text: ExtractedText) -> list[Chunk]:
    canonical = text.canonical
    return chunk_text(ChunkSource(canonical.text, canonical.units, text.markup, text.outline))


def _chunk_row(place: int, chunk: Chunk) -> dict[str, Any]:
    unit = chunk.unit
    headings = [normalize(it) for it in chunk.heading_path]
    return {
        "place": place,
        "seq": chunk.seq,
        "char_start": chunk.start,
        "char_end": chunk.end,
        "prefix": chunk.prefix,
        "text": chunk.text,
        "headings": headings,
        "unit_label": normalize(unit.label) if unit else "",
        "page_no": unit.page_no if unit else None,
        "ts_start_ms": unit.ts_start_ms if unit else None,
        "ts_end_ms": unit.ts_end_ms if unit else None,
        "text_hash": hash_chunk(headings, chunk.prefix, chunk.text),
    }


def hash_chunk(headings: Sequence[str], prefix: str, text: str) -> str:
    """What a chunk says, as 32 hexadecimal digits. Equal chunks share it wherever they are.

    White space around the words is not a part of it: it changes with the neighbours.
    """
    whole = "\x1e".join(("\x1f".join(headings), prefix, text.strip()))
    return sha256(whole.encode()).hexdigest()[:32]


def _unit(row: list[Any]) -> Unit:
    no, kind, label, start, end, ts_start_ms, ts_end_ms = row
    return Unit(no, UnitKind(kind), label, Span(start, end), ts_start_ms, ts_end_ms)
