"""Reads and writes memories in the corpus, under its rights. Makes no decisions about them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from pecia.features.memory.core.keys import SOURCE, KeyRange, MemoryFolder
from pecia.features.memory.embeddings import TextEmbeddings
from pecia.features.memory.model import Memory, MemoryDraft, MemoryRevision
from pecia.kernel.corpus.catalog import texts
from pecia.kernel.corpus.catalog.catalog import FileMetadata, prefix_upper_bound
from pecia.kernel.corpus.catalog.texts import ExtractedText
from pecia.kernel.corpus.vectors.embed_job import UnembeddedChunk
from pecia.kernel.corpus.vectors.knn import vector_literal
from pecia.kernel.errors import Json, NotFound, list_hint
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.transaction import Transaction
from pecia.kernel.text.canonical import RawUnit, UnitKind, build_canonical_text
from pecia.kernel.text.glob import to_postgres_regex

SQL = load_queries("pecia.features.memory")
EXTRACTOR = "memory"


async def insert_memories(
    tx: Transaction,
    drafts: Mapping[UUID, tuple[MemoryFolder, MemoryDraft]],
    meaning: TextEmbeddings,
) -> None:
    """Write these memories, new ones in their folder; `meaning` holds their vectors."""
    for folder in sorted({place.folder for place, _ in drafts.values()}):
        await tx.execute(SQL["claim"], folder=folder)
    keys = {id_: place.key(id_) for id_, (place, _) in drafts.items()}
    await _write(tx, {keys[id_]: (id_, draft) for id_, (_, draft) in drafts.items()}, meaning)


async def lock_user_memories(tx: Transaction) -> None:
    """Hold this user's write lock until the transaction ends."""
    await tx.execute(SQL["hold"])


async def find_recent_duplicates(tx: Transaction, place: MemoryFolder, text: str) -> list[Memory]:
    """Memories with the same text that were stored after this call searched for candidates."""
    prefix = place.prefix
    rows = await tx.fetch_all(
        SQL["latest"], prefix=prefix, before=prefix_upper_bound(prefix), text=text
    )
    return await get_memories_by_file(tx, [row["id"] for row in rows])


async def update_memory(
    tx: Transaction, memory: Memory, draft: MemoryDraft, meaning: TextEmbeddings
) -> None:
    """Replace a memory's text and facts. The old text stays as a revision."""
    await _write(tx, {memory.key: (memory.id, draft)}, meaning)


async def annotate_memory(tx: Transaction, memory: Memory, facts: Mapping[str, Json]) -> None:
    """Add facts to a memory. Its text stays."""
    noted = Jsonb({**memory.facts, **facts})
    await tx.execute(SQL["note"], key=memory.key, id=memory.id, facts=noted, created_at=None)


async def load_revisions(tx: Transaction, memory: Memory) -> list[MemoryRevision]:
    """Earlier texts, oldest first."""
    return await tx.fetch_all_as(MemoryRevision, SQL["history"], file=memory.file_id)


async def delete_memory(tx: Transaction, memory: Memory) -> None:
    """Delete a memory with all its revisions."""
    await texts.remove(tx, SOURCE, memory.key)


async def get_memory(tx: Transaction, id_: UUID) -> Memory:
    """The memory, or NotFound: absent and not visible are indistinguishable."""
    found = await get_memories(tx, [id_])
    if not found:
        raise NotFound(f"no memory {id_}", id=str(id_), hint=list_hint("memory.memory_list"))
    return found[0]


async def get_memories(tx: Transaction, ids: Sequence[UUID]) -> list[Memory]:
    """The visible ones, in the order of the ids."""
    if not ids:
        return []
    rows = await tx.fetch_all(SQL["files"], ids=[*ids])
    found = await get_memories_by_file(tx, [row["id"] for row in rows])
    places = {id_: place for place, id_ in enumerate(ids)}
    return sorted(found, key=lambda it: places[it.id])


async def get_memories_by_file(tx: Transaction, files: Sequence[int]) -> list[Memory]:
    """The memories in these files, in the same order."""
    rows = await tx.fetch_all_as(Memory, SQL["memories"], files=[*files])
    places = {it: place for place, it in enumerate(files)}
    return sorted(rows, key=lambda it: places[it.file_id])


async def list_memories(tx: Transaction, area: KeyRange, after: str, limit: int) -> list[Memory]:
    """Memories of a key range, by key, starting after a key."""
    rows = await tx.fetch_all(SQL["page"], after=after, most=limit, **range_params(area))
    return await get_memories_by_file(tx, [row["id"] for row in rows])


def range_params(area: KeyRange) -> dict[str, Any]:
    """The range as SQL parameters. Ranges can use the index under row-level security."""
    return {
        "prefix": area.prefix,
        "before": prefix_upper_bound(area.prefix),
        "pattern": to_postgres_regex(area.glob),
    }


def to_canonical_text(text: str) -> str:
    """The text as the corpus stores it."""
    return build_canonical_text([_raw_unit(text)]).text


async def _write(
    tx: Transaction, drafts: Mapping[str, tuple[UUID, MemoryDraft]], meaning: TextEmbeddings
) -> None:
    if not drafts:
        return
    files = [(_file_facts(key, draft), _corpus_text(draft)) for key, (_, draft) in drafts.items()]
    stored = await texts.put_many(tx, files)
    for key, (id_, draft) in drafts.items():
        facts = Jsonb(dict(draft.facts))
        await tx.execute(SQL["note"], key=key, id=id_, facts=facts, created_at=draft.created_at)
    await _write_vectors(tx, [it.file_id for it in stored if it.changed], meaning)


async def _write_vectors(tx: Transaction, files: list[int], meaning: TextEmbeddings) -> None:
    """Store vectors of chunks that equal a text; long texts are embedded by the job."""
    if not files or not meaning.model:
        return
    chunks = await tx.fetch_all_as(UnembeddedChunk, SQL["chunks"], files=files)
    known = [
        (it, row) for it in chunks if (row := meaning.vector_of(it.embedding_text)) is not None
    ]
    if known:
        await tx.execute(
            SQL["add_vectors"],
            model=meaning.model,
            dims=len(known[0][1]),
            ids=[it.id for it, _ in known],
            hashes=[it.text_hash for it, _ in known],
            vectors=[vector_literal(row) for _, row in known],
        )


def _file_facts(key: str, draft: MemoryDraft) -> FileMetadata:
    return FileMetadata(
        SOURCE,
        key,
        size_bytes=len(draft.text.encode()),
        modified_at=datetime.now(UTC),
        content_type="text/markdown",
    )


def _corpus_text(draft: MemoryDraft) -> ExtractedText:
    return ExtractedText(build_canonical_text([_raw_unit(draft.text)]), extractor=EXTRACTOR)


def _raw_unit(text: str) -> RawUnit:
    return RawUnit(1, UnitKind.SECTION, text)
