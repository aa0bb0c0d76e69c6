"""Memories taken out and brought in. What is brought in becomes the caller's own."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID, uuid5

from pydantic import Field

from pecia.kernel.corpus.embedder import Embedder
from pecia.kernel.errors import InvalidFormat, Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.store import Store
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool
from pecia.rooms.memory.arguments import LONGEST_TEXT, UNAUDITED, Name, Open, bounded
from pecia.rooms.memory.holding import paged
from pecia.rooms.memory.keeping import by_ids, change, keep, written
from pecia.rooms.memory.learning import knowledge_facts
from pecia.rooms.memory.meaning import meaning_of
from pecia.rooms.memory.model import RETIRED, Draft, Kind, Memory, new_id
from pecia.rooms.memory.place import SOURCE, Place, is_own, kind_of
from pecia.rooms.memory.recall import ROOM
from pecia.rooms.memory.settings import MemorySettings
from pecia.rooms.memory.shown import iso, now, preview
from pecia.rooms.memory.standing import Standing, standing

FORMAT = "pecia-memories"
MOST = 200
Kinds = Literal["knowledge", "reasoning", "workspace"]


class Export(Input):
    kind: Kinds = "knowledge"
    limit: int = Field(default=MOST, ge=1, le=MOST)
    cursor: str | None = Field(default=None, max_length=3000, description="From `next_cursor`.")


class Carried(Open):
    """A memory as it travels. Fields of other memory servers come along as its metadata."""

    text: str = Field(min_length=1, max_length=LONGEST_TEXT)
    id: str | int | None = None
    kind: Kinds = "knowledge"
    tags: list[Name] = Field(default_factory=list[Name], max_length=50)
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None
    domain: Name | None = None
    code_pattern: str | None = Field(default=None, max_length=4000)
    projectId: Name | None = None
    userId: Name | None = None
    timestamp: str | None = Field(default=None, max_length=40)
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])


class Exported(Output):
    success: bool
    format: str = FORMAT
    version: int = 1
    exportedAt: str
    memories: list[dict[str, Any]]
    next_cursor: str | None = None


class Import(Input):
    memories: list[Carried] = Field(min_length=1, max_length=MOST, json_schema_extra=UNAUDITED)
    on_conflict: Literal["skip", "replace"] = Field(
        default="skip", description="What to do about a memory of yours that was brought in before."
    )


class NotTaken(Output):
    preview: str
    reason: str


class Imported(Output):
    success: bool
    imported: int
    replaced: int
    skipped: list[NotTaken]
    ids: list[str] = Field(description="Of each memory in turn; empty for one that was skipped.")


@dataclass(frozen=True, slots=True)
class Carrying:
    """The handlers."""

    store: Store
    settings: MemorySettings
    embedder: Embedder | None

    async def memory_export(self, call: Call, ask: Export) -> Exported:
        """Take out your own memories of a kind, of every project, page by page, in a form that
        memory_import takes."""
        here = standing(call, self.settings)
        async with self.store.reading(call.caller) as tx:
            found, cursor = await paged(tx, here.own(Kind(ask.kind)), ask.cursor, ask.limit)
        call.returned(SOURCE, [it.key for it in found])
        return Exported(
            success=True,
            exportedAt=now(),
            memories=[_carried(it) for it in found],
            next_cursor=cursor,
        )

    async def memory_import(self, call: Call, ask: Import) -> Imported:
        """Bring in memories that were exported here or elsewhere. They become yours. What was
        brought in before is recognised by its id."""
        here = standing(call, self.settings)
        drafts = [_draft(here, it, n) for n, it in enumerate(ask.memories)]
        meaning = await meaning_of(self.embedder, [it.text for it in drafts])
        places = [_place(here, it) for it in ask.memories]
        async with self.store.writing(call.caller, call.trace) as tx:
            ids = [_ids(here, it) for it in ask.memories]
            known = await by_ids(tx, [id_ for pair in ids for id_ in pair])
            mine = {it.id: it for it in known if is_own(it.key, here.owner)}
            new, again, skipped = _sorted(ids, mine)
            again, left = _replacing(again, places, drafts, wanted=ask.on_conflict == "replace")
            skipped += left
            await keep(tx, {id_: (places[n], drafts[n]) for n, id_ in new.items()}, meaning)
            for n, memory in again.items():
                await change(tx, memory, drafts[n], meaning)
        taken = {
            **{n: str(id_) for n, id_ in new.items()},
            **{n: str(it.id) for n, it in again.items()},
        }
        call.returned(SOURCE, [places[n].key(id_) for n, id_ in new.items()])
        return Imported(
            success=True,
            imported=len(new),
            replaced=len(again),
            skipped=[
                NotTaken(preview=preview(drafts[n].text, 100), reason=why) for n, why in skipped
            ],
            ids=[taken.get(n, "") for n in range(len(drafts))],
        )


def carrying_tools(carrying: Carrying) -> tuple[AnyTool, ...]:
    return (
        Tool(ROOM, "memory_export", Scope.READ, Export, Exported, carrying.memory_export),
        Tool(
            ROOM,
            "memory_import",
            Scope.WRITE,
            Import,
            Imported,
            carrying.memory_import,
            read_only=False,
        ),
    )


def _carried(memory: Memory) -> dict[str, Any]:
    return {
        "id": str(memory.id),
        "kind": str(kind_of(memory.key)),
        "text": memory.text,
        "timestamp": iso(memory.created_at),
        **memory.facts,
    }


def _draft(here: Standing, it: Carried, number: int) -> Draft:
    text = written(it.text).strip()
    if not text:
        field = f"memories.{number}.text"
        raise InvalidFormat(f'Field "{field}" is blank', field=field, expected="words")
    given = it.model_dump(
        mode="json", exclude_none=True, exclude={"id", "kind", "text", "timestamp"}
    )
    told = {name: fact for name, fact in given.items() if fact and _fits(name, fact)}
    found: dict[str, Json] = knowledge_facts(text) if it.kind == "knowledge" else {}
    facts = bounded(f"memories.{number}", {**found, **here.stamped(Kind(it.kind)), **told})
    return Draft(text, facts, _moment(it.timestamp, number))


# Facts that answers show in a field of their own must have the type of that field.
TEXTS = frozenset(
    (
        "reasoning",
        "event",
        "qualitySource",
        "sourceSessionId",
        "old_memory",
        "supersedes",
        "superseded_by",
        "workspaceMode",
        RETIRED,
    )
)


def _fits(name: str, fact: Json) -> bool:
    return name not in TEXTS or isinstance(fact, str)


def _moment(text: str | None, number: int) -> datetime | None:
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        field = f"memories.{number}.timestamp"
        raise InvalidFormat(
            f'Field "{field}" is no time', field=field, expected="RFC 3339", got=text
        ) from None
    # A time without a zone is in UTC.
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _place(here: Standing, it: Carried) -> Place:
    return replace(here.place(Kind(it.kind)), project=it.projectId or here.labels.project)


def _ids(here: Standing, it: Carried) -> tuple[UUID, ...]:
    """The id it came with, and the one that it has here for this owner."""
    if it.id is None:
        return ()
    own = uuid5(here.owner, str(it.id))
    try:
        return UUID(str(it.id)), own
    except ValueError:
        return (own,)


def _sorted(
    ids: list[tuple[UUID, ...]], mine: Mapping[UUID, Memory]
) -> tuple[dict[int, UUID], dict[int, Memory], list[tuple[int, str]]]:
    """What is new, what is one's own already, and what is left, with the reason."""
    new: dict[int, UUID] = {}
    again: dict[int, Memory] = {}
    skipped: list[tuple[int, str]] = []
    for n, named in enumerate(ids):
        known = next((mine[it] for it in named if it in mine), None)
        own = named[-1] if named else new_id()
        if own in new.values() or (known and known in again.values()):
            skipped.append((n, "its id is here twice"))
        elif known is None:
            new[n] = own
        else:
            again[n] = known
    return new, again, skipped


def _replacing(
    again: Mapping[int, Memory], places: list[Place], drafts: list[Draft], *, wanted: bool
) -> tuple[dict[int, Memory], list[tuple[int, str]]]:
    """What takes the place of one's own. What all may read is not replaced by what is private."""
    replaced: dict[int, Memory] = {}
    skipped: list[tuple[int, str]] = []
    for n, known in again.items():
        same = (known.text, {**known.facts}) == (drafts[n].text, {**drafts[n].facts})
        if not wanted or same:
            skipped.append((n, "it was brought in before"))
        elif places[n].holds(known.key):
            replaced[n] = known
        else:
            skipped.append((n, "it was brought in before, to another place"))
    return replaced, skipped
