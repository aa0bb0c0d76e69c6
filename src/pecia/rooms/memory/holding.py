"""What people want to do with memories: list them, read one, put one right, remove some."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from pecia.kernel.corpus.embedder import Embedder
from pecia.kernel.errors import Forbidden, InvalidFormat, Json, MissingField, NotFound
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.store import Store
from pecia.kernel.store.transaction import Transaction
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool
from pecia.rooms.memory.arguments import UNAUDITED, Name, Words
from pecia.rooms.memory.keeping import by_id, by_ids, change, forget, history, hold, page, written
from pecia.rooms.memory.meaning import meaning_of
from pecia.rooms.memory.model import Draft, Earlier, Event, Kind, Memory
from pecia.rooms.memory.place import SOURCE, Area, is_own, kind_of
from pecia.rooms.memory.recall import ROOM
from pecia.rooms.memory.settings import MemorySettings
from pecia.rooms.memory.shown import iso, texts_in
from pecia.rooms.memory.standing import standing

MOST = 200
MOST_REMOVED = 100

Id = Annotated[str, Field(min_length=1, max_length=64)]


class ListMemories(Input):
    kind: Literal["knowledge", "reasoning", "workspace"] = "knowledge"
    limit: int = Field(default=50, ge=1, le=MOST)
    cursor: str | None = Field(default=None, max_length=3000, description="From `next_cursor`.")
    all_projects: bool = Field(default=False, description="Beyond the project of this session.")


class OneMemory(Input):
    id: Id


class EditMemory(Input):
    id: Id
    text: Words | None = Field(default=None, min_length=1, json_schema_extra=UNAUDITED)
    tags: list[Name] | None = Field(default=None, max_length=50)


class SomeMemories(Input):
    ids: list[Id] = Field(min_length=1, max_length=MOST_REMOVED)


class Kept(Output):
    """A memory with all that is known of it."""

    id: str
    kind: str
    text: str
    tags: list[str]
    mine: bool = Field(description="Whether you may change it.")
    created_at: str
    changed_at: str
    metadata: dict[str, Any]


class Listed(Output):
    success: bool
    memories: list[Kept]
    next_cursor: str | None = None


class Before(Output):
    text: str
    since: str
    until: str


class GotOut(Output):
    success: bool
    memory: Kept
    history: list[Before] = Field(description="What it said before, the oldest first.")


class Removed(Output):
    success: bool
    deleted: list[str]
    notFound: list[str] = Field(description="None that you may see.")
    notYours: list[str] = Field(description="You may read them, and not remove them.")


@dataclass(frozen=True, slots=True)
class Holding:
    """The handlers."""

    store: Store
    settings: MemorySettings
    embedder: Embedder | None

    async def memory_list(self, call: Call, ask: ListMemories) -> Listed:
        """List what is remembered, without searching: your own memories or, in shared mode and for
        a team, everybody's. Page by page."""
        here = standing(call, self.settings)
        areas = here.areas(Kind(ask.kind), any_project=ask.all_projects)
        async with self.store.reading(call.caller) as tx:
            found, cursor = await paged(tx, areas, ask.cursor, ask.limit)
        found = [it for it in found if here.admits(it) and not it.is_retired]
        call.returned(SOURCE, [it.key for it in found])
        return Listed(
            success=True,
            memories=[kept(it, call.caller.user_id) for it in found],
            next_cursor=cursor,
        )

    async def memory_get(self, call: Call, ask: OneMemory) -> GotOut:
        """Read one memory by its id, with all that is known of it and what it said before."""
        async with self.store.reading(call.caller) as tx:
            found = await by_id(tx, id_of(ask.id))
            before = await history(tx, found)
        call.returned(SOURCE, [found.key])
        return _got(found, before, call.caller.user_id)

    async def memory_edit(self, call: Call, ask: EditMemory) -> GotOut:
        """Put one of your memories right: its words, its tags, or both. What it said before is
        kept as its history."""
        if ask.text is None and ask.tags is None:
            raise MissingField('Field "text" or "tags" is required', field="text")
        text = written(ask.text).strip() if ask.text is not None else None
        if text == "":
            raise InvalidFormat('Field "text" is blank', field="text", expected="words")
        meaning = await meaning_of(self.embedder, [text] if text else [])
        async with self.store.writing(call.caller, call.trace) as tx:
            await hold(tx)
            before = await by_id(tx, id_of(ask.id))
            facts: dict[str, Json] = {**before.facts}
            if ask.tags is not None:
                facts["tags"] = [*dict.fromkeys(ask.tags)]
            if text and text != before.text:
                facts |= {"event": Event.UPDATE, "old_memory": before.text}
            await change(tx, before, Draft(text or before.text, facts), meaning)
            after = await by_id(tx, before.id)
            earlier = await history(tx, after)
        call.returned(SOURCE, [after.key])
        return _got(after, earlier, call.caller.user_id)

    async def memory_delete(self, call: Call, ask: SomeMemories) -> Removed:
        """Remove memories for good, with every earlier version of them."""
        ids = {it: _maybe_id(it) for it in dict.fromkeys(ask.ids)}
        async with self.store.writing(call.caller, call.trace) as tx:
            known = [it for it in ids.values() if it is not None]
            held = {str(it.id): it for it in await by_ids(tx, known)}
            deleted: list[str] = []
            refused: list[str] = []
            for memory in held.values():
                gone = await _forgotten(tx, memory)
                (deleted if gone else refused).append(str(memory.id))
        call.returned(SOURCE, [held[it].key for it in deleted])
        missing = [it for it, id_ in ids.items() if str(id_) not in held]
        return Removed(success=not missing, deleted=deleted, notFound=missing, notYours=refused)


def holding_tools(holding: Holding) -> tuple[AnyTool, ...]:
    return (
        Tool(ROOM, "memory_list", Scope.READ, ListMemories, Listed, holding.memory_list),
        Tool(ROOM, "memory_get", Scope.READ, OneMemory, GotOut, holding.memory_get),
        Tool(
            ROOM,
            "memory_edit",
            Scope.WRITE,
            EditMemory,
            GotOut,
            holding.memory_edit,
            read_only=False,
            idempotent=True,
        ),
        Tool(
            ROOM,
            "memory_delete",
            Scope.WRITE,
            SomeMemories,
            Removed,
            holding.memory_delete,
            read_only=False,
            destructive=True,
            idempotent=True,
        ),
    )


async def paged(
    tx: Transaction, areas: tuple[Area, ...], cursor: str | None, limit: int
) -> tuple[list[Memory], str | None]:
    """So many memories of these parts, one part after the other, and where to go on."""
    number, after = _place(cursor, len(areas))
    found: list[Memory] = []
    while number < len(areas):
        found += await page(tx, areas[number], after, limit + 1 - len(found))
        if len(found) > limit:
            last = found[limit - 1].key
            # The last one shown may be of the part before.
            part = number if areas[number].holds(last) else number - 1
            return found[:limit], _cursor(part, last)
        number, after = number + 1, ""
    return found, None


def _got(memory: Memory, before: list[Earlier], user_id: UUID | None) -> GotOut:
    said = [Before(text=it.text, since=iso(it.since), until=iso(it.until)) for it in before]
    return GotOut(success=True, memory=kept(memory, user_id), history=said)


def kept(memory: Memory, user_id: UUID | None) -> Kept:
    facts = {name: fact for name, fact in memory.facts.items() if name != "tags"}
    return Kept(
        id=str(memory.id),
        kind=kind_of(memory.key),
        text=memory.text,
        tags=texts_in(memory.facts.get("tags")),
        mine=is_own(memory.key, user_id),
        created_at=iso(memory.created_at),
        changed_at=iso(memory.changed_at),
        metadata=facts,
    )


def id_of(text: str) -> UUID:
    """The id, or NotFound: what is no id is the id of nothing."""
    found = _maybe_id(text)
    if found is None:
        raise NotFound(f"no memory {text}", id=text)
    return found


def _maybe_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


async def _forgotten(tx: Transaction, memory: Memory) -> bool:
    """Whether it went. One that the caller may read and not change stays."""
    try:
        await forget(tx, memory)
    except (NotFound, Forbidden):
        return False
    return True


def _cursor(number: int, key: str) -> str:
    return urlsafe_b64encode(f"{number}\n{key}".encode()).decode()


def _place(cursor: str | None, parts: int) -> tuple[int, str]:
    if cursor is None:
        return 0, ""
    try:
        number, _, key = urlsafe_b64decode(cursor).decode().partition("\n")
        found = int(number), key
    except ValueError:
        found = -1, ""
    if not 0 <= found[0] < parts or "\0" in found[1]:
        raise InvalidFormat("this cursor is none of ours", field="cursor", got=cursor[:100])
    return found
