"""Reads and writes memories in the corpus, under its rights. Makes no decisions about them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb

from pecia.features.memory.core.compare.restatement import split_words
from pecia.features.memory.core.keys import SOURCE, KeyRange, MemoryFolder
from pecia.features.memory.embeddings import TextEmbeddings
from pecia.features.memory.model import Memory, MemoryDraft, new_id
from pecia.kernel.corpus.catalog import texts
from pecia.kernel.corpus.catalog.catalog import FileMetadata, prefix_upper_bound
from pecia.kernel.corpus.catalog.texts import ExtractedText, with_chunks
from pecia.kernel.corpus.vectors.knn import QueryVector, vector_literal
from pecia.kernel.errors import NotFound, list_hint
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Transaction, array_literal
from pecia.kernel.text.canonical import RawUnit, UnitKind, build_canonical_text
from pecia.kernel.text.glob import to_postgres_regex

SQL = load_queries("pecia.features.memory")
EXTRACTOR = "memory"
# Longer texts are several chunks.
MAX_WHOLE_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory that was said just before or after another: `place` is -1 for the one before."""

    of_file: int
    file_id: int
    place: int


async def insert_memories(
    tx: Transaction,
    drafts: Mapping[UUID, tuple[MemoryFolder, MemoryDraft]],
    meaning: TextEmbeddings,
) -> None:
    """Write these new memories, each in its folder; `meaning` holds their vectors."""
    folders = sorted({place.folder for place, _ in drafts.values()})
    keyed = {place.key(id_): (id_, it) for id_, (place, it) in drafts.items()}
    await _insert(tx, keyed, meaning, folders)


async def _insert(
    tx: Transaction,
    drafts: Mapping[str, tuple[UUID, MemoryDraft]],
    meaning: TextEmbeddings,
    folders: Sequence[str] = (),
) -> None:
    """Write new memories by their keys; `folders` are those that may be new to the caller."""
    read = [(_file_facts(key, it), _corpus_text(it)) for key, (_, it) in drafts.items()]
    for batch in texts.split_batches(read):
        rows, chunks = await texts.build_new_rows(batch)
        keys = [facts.key for facts, _ in batch]
        whole = {facts.key: it for facts, it in batch if it is not None and _is_whole(it)}
        await tx.execute(
            SQL["add"],
            folders=[*folders],
            files=rows,
            chunks=chunks,
            items=Jsonb([_draft_item(key, *drafts[key]) for key in keys]),
            **_vector_values(whole, meaning),
        )


async def note_memories(tx: Transaction, memories: Sequence[Memory]) -> None:
    """Write what is known of these memories as they are now. Their words stay as they are."""
    if memories:
        await tx.execute(SQL["note"], items=Jsonb([_memory_item(it) for it in memories]))


async def supersede_memory(
    tx: Transaction, old: Memory, draft: MemoryDraft, meaning: TextEmbeddings
) -> UUID:
    """Write a new version of a memory, in its folder. The old one ends where the new one begins."""
    id_ = new_id()
    key = f"{old.key.rpartition('/')[0]}/{id_}.md"
    facts = {**draft.facts, "event": "UPDATE", "supersedes": str(old.id), "old_memory": old.text}
    begin = draft.valid_from or draft.said_at or datetime.now(UTC)
    await _insert(tx, {key: (id_, replace(draft, facts=facts, valid_from=begin))}, meaning)
    await note_memories(tx, [replace(old, superseded_by=id_, valid_to=begin)])
    return id_


async def lock_user_memories(tx: Transaction) -> None:
    """Hold this user's write lock until the transaction ends."""
    await lock_and_load(tx, (), ())


async def lock_and_load(
    tx: Transaction, ids: Sequence[UUID], said: Sequence[str]
) -> tuple[dict[UUID, Memory], list[Memory]]:
    """Hold this user's write lock until the transaction ends. The memories with these ids, and
    those that say one of these texts in the same words, oldest first, as they are then."""
    hashes = {hash_words(it) for it in said}
    read = await tx.fetch_mapped(_memory, SQL["hold"], ids=[*ids], hashes=[*hashes])
    named = {it.id: it for it in read if it.id in ids}
    return named, [it for it in read if it.id not in named or hash_words(it.text) in hashes]


async def find_restatements(tx: Transaction, said: Sequence[str]) -> list[Memory]:
    """The memories that say one of these texts in the same words, oldest first."""
    return await _find(tx, hashes=[hash_words(it) for it in said])


async def load_linked(tx: Transaction, memory: Memory) -> list[Memory]:
    """What it superseded, what superseded it, and other wordings of each; itself too. By time."""
    rows = await tx.fetch_all(SQL["linked_files"], id=memory.id)
    found = await get_memories_by_file(tx, [row["id"] for row in rows])
    return sorted(found, key=lambda it: (it.said_at, it.file_id))


async def find_current(tx: Transaction, memory: Memory) -> Memory:
    """The newest version of a memory; itself where nothing superseded it."""
    if memory.superseded_by is None:
        return memory
    by_id = {it.id: it for it in await load_linked(tx, memory)}
    while memory.superseded_by is not None and memory.superseded_by in by_id:
        memory = by_id.pop(memory.superseded_by)
    return memory


class MemoryHit(NamedTuple):
    """A memory, and those of its chunks that were asked for, each with its cosine if it has a
    vector."""

    memory: Memory
    cosines: Mapping[int, float | None]


async def load_hits(
    tx: Transaction, chunks: Iterable[int], near: tuple[QueryVector, str] | None
) -> list[MemoryHit]:
    """The memories of these chunks that the caller may see, compared with a vector of a model."""
    vector, model = near or (None, "")
    return await tx.fetch_mapped(
        _hit,
        SQL["recall"],
        ids=array_literal(chunks),
        query=None if vector is None else vector_literal(vector),
        dims=0 if vector is None else len(vector),
        model=model,
    )


async def load_neighbours(tx: Transaction, files: Sequence[int], reach: int) -> list[Neighbour]:
    """The memories of the same conversation around each of these."""
    return await tx.fetch_all_as(Neighbour, SQL["neighbours"], files=[*files], reach=reach)


async def delete_memory(tx: Transaction, memory: Memory) -> None:
    """Delete a memory."""
    await texts.remove(tx, SOURCE, memory.key)


async def get_memory(tx: Transaction, id_: UUID) -> Memory:
    """The memory, or NotFound: absent and not visible are indistinguishable."""
    found = await get_memories(tx, [id_])
    if not found:
        raise no_memory(str(id_))
    return found[0]


def no_memory(id_: str) -> NotFound:
    return NotFound(f"no memory {id_}", id=id_, hint=list_hint("memory.memory_list"))


async def get_memories(tx: Transaction, ids: Sequence[UUID]) -> list[Memory]:
    """The visible ones, in the order of the ids."""
    if not ids:
        return []
    places = {id_: place for place, id_ in enumerate(ids)}
    return sorted(await _find(tx, ids=ids), key=lambda it: places[it.id])


async def get_memories_by_file(tx: Transaction, files: Sequence[int]) -> list[Memory]:
    """The memories in these files, in the same order."""
    places = {it: place for place, it in enumerate(files)}
    found = await _find(tx, files=files) if files else []
    return sorted(found, key=lambda it: places[it.file_id])


async def _find(
    tx: Transaction,
    *,
    files: Sequence[int] = (),
    ids: Sequence[UUID] = (),
    hashes: Sequence[str] = (),
) -> list[Memory]:
    """The visible memories in these files, with these ids or hashes of words, by file."""
    return await tx.fetch_mapped(
        _memory, SQL["find"], files=array_literal(files), ids=[*ids], hashes=[*hashes]
    )


def _memory(row: Sequence[Any]) -> Memory:
    return Memory(*row)


def _hit(row: Sequence[Any]) -> MemoryHit:
    *memory, chunks, cosines = row
    return MemoryHit(Memory(*memory), dict(zip(chunks, cosines, strict=True)))


async def list_memories(tx: Transaction, area: KeyRange, after: str, limit: int) -> list[Memory]:
    """Memories of a key range, by key, starting after a key."""
    rows = await tx.fetch_all(SQL["page"], after=after, most=limit, **range_params(area))
    return await get_memories_by_file(tx, [row["id"] for row in rows])


async def load_latest(tx: Transaction, folder: MemoryFolder) -> Memory | None:
    """The memory that was written last in the folder."""
    prefix = folder.project_prefix
    params = {"prefix": prefix, "before": prefix_upper_bound(prefix)}
    rows = await tx.fetch_all(SQL["latest"], **params)
    return next(iter(await get_memories_by_file(tx, [row["id"] for row in rows])), None)


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


def hash_words(text: str) -> str:
    """Equal for texts that say the same in the same words."""
    return sha256("\x1f".join(split_words(text)).encode()).hexdigest()[:32]


def _draft_item(key: str, id_: UUID, draft: MemoryDraft) -> dict[str, Any]:
    return {
        "key": key,
        "id": str(id_),
        "facts": dict(draft.facts),
        "words_hash": hash_words(draft.text),
        "said_at": _iso(draft.said_at),
        "valid_from": _iso(draft.valid_from),
        "valid_to": _iso(draft.valid_to),
        "same_as": _text(draft.same_as),
        "superseded_by": _text(draft.superseded_by),
        "times": draft.times,
    }


def _memory_item(it: Memory) -> dict[str, Any]:
    return {
        "key": it.key,
        "id": str(it.id),
        "facts": dict(it.facts),
        "words_hash": hash_words(it.text),
        "said_at": _iso(it.said_at),
        "last_said_at": _iso(it.last_said_at),
        "times": it.times,
        "valid_from": _iso(it.valid_from),
        "valid_to": _iso(it.valid_to),
        "superseded_by": _text(it.superseded_by),
        "same_as": _text(it.same_as),
    }


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _text(id_: UUID | None) -> str | None:
    return None if id_ is None else str(id_)


def _is_whole(text: ExtractedText) -> bool:
    """Whether it is embedded as it is: one chunk, without anything above it."""
    chunks = text.chunks or ()
    return len(chunks) == 1 and not chunks[0].heading_path and not chunks[0].prefix


def _vector_values(whole: Mapping[str, ExtractedText], meaning: TextEmbeddings) -> dict[str, Any]:
    """The vectors of these texts, by key, as SQL parameters; others are embedded by the job."""
    said = {key: it.canonical.text.strip() for key, it in whole.items()}
    known = [
        (key, it, row) for key, it in said.items() if (row := meaning.vector_of(it)) is not None
    ]
    return {
        "model": meaning.model,
        "dims": len(known[0][2]) if known else 0,
        "keys": [key for key, _, _ in known],
        "hashes": [sha256(it.encode()).hexdigest()[:32] for _, it, _ in known],
        "vectors": [vector_literal(row) for _, _, row in known],
    }


def _file_facts(key: str, draft: MemoryDraft) -> FileMetadata:
    return FileMetadata(
        SOURCE,
        key,
        size_bytes=len(draft.text.encode()),
        modified_at=draft.said_at or datetime.now(UTC),
        content_type="text/markdown",
    )


def _corpus_text(draft: MemoryDraft) -> ExtractedText:
    text = ExtractedText(build_canonical_text([_raw_unit(draft.text)]), extractor=EXTRACTOR)
    # A long one is cut in a thread, when it is put.
    return with_chunks(text) if len(draft.text) <= MAX_WHOLE_CHARS else text


def _raw_unit(text: str) -> RawUnit:
    return RawUnit(1, UnitKind.SECTION, text)
