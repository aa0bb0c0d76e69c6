"""Memories written and read, in the corpus and under its rights. It decides nothing about them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from pecia.kernel.corpus import texts
from pecia.kernel.corpus.catalog import FileFacts, key_after
from pecia.kernel.corpus.embed_job import Waiting
from pecia.kernel.corpus.texts import Text
from pecia.kernel.corpus.vectors import as_text, path_pattern
from pecia.kernel.errors import Json, NotFound
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.transaction import Transaction
from pecia.kernel.text.canonical import RawUnit, UnitKind, canonical_text
from pecia.rooms.memory.meaning import Meaning
from pecia.rooms.memory.model import Draft, Earlier, Memory
from pecia.rooms.memory.place import SOURCE, Area, Place

SQL = load_queries("pecia.rooms.memory")
EXTRACTOR = "memory"


async def keep(
    tx: Transaction, drafts: Mapping[UUID, tuple[Place, Draft]], meaning: Meaning
) -> None:
    """Write these memories, new ones at their place; `meaning` holds vectors of their words."""
    for folder in sorted({place.folder for place, _ in drafts.values()}):
        await tx.run(SQL["claim"], folder=folder)
    keys = {id_: place.key(id_) for id_, (place, _) in drafts.items()}
    await _write(tx, {keys[id_]: (id_, draft) for id_, (_, draft) in drafts.items()}, meaning)


async def hold(tx: Transaction) -> None:
    """Be the only one who writes for this user until the transaction ends."""
    await tx.run(SQL["hold"])


async def latest(tx: Transaction, place: Place, text: str) -> list[Memory]:
    """Memories with the very same words that were kept a moment ago, after one looked for them."""
    prefix = place.prefix
    rows = await tx.all(SQL["latest"], prefix=prefix, before=key_after(prefix), text=text)
    return await by_files(tx, [row["id"] for row in rows])


async def change(tx: Transaction, memory: Memory, draft: Draft, meaning: Meaning) -> None:
    """Give a memory other words and facts. What it said before stays among its revisions."""
    await _write(tx, {memory.key: (memory.id, draft)}, meaning)


async def annotate(tx: Transaction, memory: Memory, facts: Mapping[str, Json]) -> None:
    """Note more about a memory. Its words stay as they are."""
    noted = Jsonb({**memory.facts, **facts})
    await tx.run(SQL["note"], key=memory.key, id=memory.id, facts=noted, created_at=None)


async def history(tx: Transaction, memory: Memory) -> list[Earlier]:
    """What it said before, the oldest first."""
    return await tx.all_as(Earlier, SQL["history"], file=memory.file_id)


async def forget(tx: Transaction, memory: Memory) -> None:
    """The memory goes, with every revision of it."""
    await texts.remove(tx, SOURCE, memory.key)


async def by_id(tx: Transaction, id_: UUID) -> Memory:
    """The memory, or NotFound: none, and none that the caller may see, are the same."""
    found = await by_ids(tx, [id_])
    if not found:
        raise NotFound(f"no memory {id_}", id=str(id_))
    return found[0]


async def by_ids(tx: Transaction, ids: Sequence[UUID]) -> list[Memory]:
    """Those of them that the caller may see, in the order asked for."""
    if not ids:
        return []
    rows = await tx.all(SQL["files"], ids=[*ids])
    found = await by_files(tx, [row["id"] for row in rows])
    places = {id_: place for place, id_ in enumerate(ids)}
    return sorted(found, key=lambda it: places[it.id])


async def by_files(tx: Transaction, files: Sequence[int]) -> list[Memory]:
    """The memories in these files, in the order asked for."""
    rows = await tx.all_as(Memory, SQL["memories"], files=[*files])
    places = {it: place for place, it in enumerate(files)}
    return sorted(rows, key=lambda it: places[it.file_id])


async def page(tx: Transaction, area: Area, after: str, most: int) -> list[Memory]:
    """Memories of a part of the source, by key, from after a key on."""
    rows = await tx.all(SQL["page"], after=after, most=most, **within(area))
    return await by_files(tx, [row["id"] for row in rows])


def within(area: Area) -> dict[str, Any]:
    """The part as the statements take it. Ranges keep their index under row-level security."""
    return {
        "prefix": area.prefix,
        "before": key_after(area.prefix),
        "pattern": path_pattern(area.glob),
    }


def written(text: str) -> str:
    """The words as the corpus keeps them."""
    return canonical_text([_unit(text)]).text


async def _write(
    tx: Transaction, drafts: Mapping[str, tuple[UUID, Draft]], meaning: Meaning
) -> None:
    if not drafts:
        return
    files = [(_facts(key, draft), _text(draft)) for key, (_, draft) in drafts.items()]
    stored = await texts.put_many(tx, files)
    for key, (id_, draft) in drafts.items():
        facts = Jsonb(dict(draft.facts))
        await tx.run(SQL["note"], key=key, id=id_, facts=facts, created_at=draft.created_at)
    await _give_vectors(tx, [it.file_id for it in stored if it.changed], meaning)


async def _give_vectors(tx: Transaction, files: list[int], meaning: Meaning) -> None:
    """Vectors of chunks whose words are known; those of long texts come from the job."""
    if not files or not meaning.model:
        return
    chunks = await tx.all_as(Waiting, SQL["chunks"], files=files)
    known = [(it, row) for it in chunks if (row := meaning.of(it.words)) is not None]
    if known:
        await tx.run(
            SQL["add_vectors"],
            model=meaning.model,
            dims=len(known[0][1]),
            ids=[it.id for it, _ in known],
            hashes=[it.text_hash for it, _ in known],
            vectors=[as_text(row) for _, row in known],
        )


def _facts(key: str, draft: Draft) -> FileFacts:
    return FileFacts(
        SOURCE,
        key,
        size_bytes=len(draft.text.encode()),
        modified_at=datetime.now(UTC),
        content_type="text/markdown",
    )


def _text(draft: Draft) -> Text:
    return Text(canonical_text([_unit(draft.text)]), extractor=EXTRACTOR)


def _unit(text: str) -> RawUnit:
    return RawUnit(1, UnitKind.SECTION, text)
