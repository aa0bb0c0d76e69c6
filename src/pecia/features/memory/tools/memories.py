"""Memory management: list, get, edit, delete."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from pecia.features.memory.core.format import format_time, list_texts
from pecia.features.memory.core.keys import SOURCE, KeyRange, is_own, kind_of
from pecia.features.memory.embeddings import embed_texts
from pecia.features.memory.model import Memory, MemoryDraft, MemoryEvent, MemoryKind, MemoryRevision
from pecia.features.memory.scope import resolve_scope
from pecia.features.memory.settings import MemorySettings
from pecia.features.memory.store import (
    delete_memory,
    get_memories,
    get_memory,
    list_memories,
    load_revisions,
    lock_user_memories,
    to_canonical_text,
    update_memory,
)
from pecia.features.memory.tools.arguments import UNAUDITED, MemoryText, ShortName
from pecia.features.memory.tools.search import FEATURE
from pecia.kernel.corpus.vectors.embedder import Embedder
from pecia.kernel.errors import Forbidden, InvalidFormat, Json, MissingField, NotFound, list_hint
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.store import Store
from pecia.kernel.store.transaction import Transaction
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool

MAX_LISTED = 200
MAX_DELETED = 100

MemoryId = Annotated[str, Field(min_length=1, max_length=64)]


class ListMemories(Input):
    kind: Literal["knowledge", "reasoning", "workspace"] = "knowledge"
    limit: int = Field(default=50, ge=1, le=MAX_LISTED)
    cursor: str | None = Field(default=None, max_length=3000, description="From `next_cursor`.")
    all_projects: bool = Field(default=False, description="Not only the project of this session.")


class MemoryIdInput(Input):
    id: MemoryId


class EditMemory(Input):
    id: MemoryId
    text: MemoryText | None = Field(default=None, min_length=1, json_schema_extra=UNAUDITED)
    tags: list[ShortName] | None = Field(default=None, max_length=50)


class MemoryIdsInput(Input):
    ids: list[MemoryId] = Field(min_length=1, max_length=MAX_DELETED)


class MemoryOut(Output):
    """A memory with all its facts."""

    id: str
    kind: str
    text: str
    tags: list[str]
    mine: bool = Field(description="Whether you may change it.")
    created_at: str
    changed_at: str
    metadata: dict[str, Any]


class MemoryListOut(Output):
    success: bool
    memories: list[MemoryOut]
    next_cursor: str | None = None


class RevisionOut(Output):
    text: str
    since: str
    until: str


class MemoryDetailOut(Output):
    success: bool
    memory: MemoryOut
    history: list[RevisionOut] = Field(description="Earlier texts, oldest first.")


class MemoryDeleteOut(Output):
    success: bool
    deleted: list[str]
    notFound: list[str] = Field(description="Absent, or not visible to you.")
    notYours: list[str] = Field(description="You may read but not delete them.")


@dataclass(frozen=True, slots=True)
class MemoryTools:
    """The handlers."""

    store: Store
    settings: MemorySettings
    embedder: Embedder | None

    async def memory_list(self, call: Call, ask: ListMemories) -> MemoryListOut:
        """List memories without searching: your own or, in shared mode and for a team, everybody's.
        Paginated."""
        here = resolve_scope(call, self.settings)
        areas = here.search_ranges(MemoryKind(ask.kind), any_project=ask.all_projects)
        async with self.store.reading(call.caller) as tx:
            found, cursor = await load_page(tx, areas, ask.cursor, ask.limit)
        found = [it for it in found if here.admits(it) and not it.is_retired]
        call.record_returned(SOURCE, [it.key for it in found])
        return MemoryListOut(
            success=True,
            memories=[memory_out(it, call.caller.user_id) for it in found],
            next_cursor=cursor,
        )

    async def memory_get(self, call: Call, ask: MemoryIdInput) -> MemoryDetailOut:
        """Read one memory by its id, with its facts and history."""
        async with self.store.reading(call.caller) as tx:
            found = await get_memory(tx, parse_memory_id(ask.id))
            before = await load_revisions(tx, found)
        call.record_returned(SOURCE, [found.key])
        return _memory_detail(found, before, call.caller.user_id)

    async def memory_edit(self, call: Call, ask: EditMemory) -> MemoryDetailOut:
        """Edit one of your memories: its text, its tags, or both. The old text is kept as
        history."""
        if ask.text is None and ask.tags is None:
            raise MissingField('Field "text" or "tags" is required', field="text")
        text = to_canonical_text(ask.text).strip() if ask.text is not None else None
        if text == "":
            raise InvalidFormat('Field "text" is blank', field="text", expected="words")
        meaning = await embed_texts(self.embedder, [text] if text else [])
        async with self.store.writing(call.caller, call.trace) as tx:
            await lock_user_memories(tx)
            before = await get_memory(tx, parse_memory_id(ask.id))
            facts: dict[str, Json] = {**before.facts}
            if ask.tags is not None:
                facts["tags"] = [*dict.fromkeys(ask.tags)]
            if text and text != before.text:
                facts |= {"event": MemoryEvent.UPDATE, "old_memory": before.text}
            await update_memory(tx, before, MemoryDraft(text or before.text, facts), meaning)
            after = await get_memory(tx, before.id)
            earlier = await load_revisions(tx, after)
        call.record_returned(SOURCE, [after.key])
        return _memory_detail(after, earlier, call.caller.user_id)

    async def memory_delete(self, call: Call, ask: MemoryIdsInput) -> MemoryDeleteOut:
        """Delete memories permanently, with all their history."""
        ids = {it: _try_parse_id(it) for it in dict.fromkeys(ask.ids)}
        async with self.store.writing(call.caller, call.trace) as tx:
            known = [it for it in ids.values() if it is not None]
            held = {str(it.id): it for it in await get_memories(tx, known)}
            deleted: list[str] = []
            refused: list[str] = []
            for memory in held.values():
                gone = await _delete_if_own(tx, memory)
                (deleted if gone else refused).append(str(memory.id))
        call.record_returned(SOURCE, [held[it].key for it in deleted])
        missing = [it for it, id_ in ids.items() if str(id_) not in held]
        return MemoryDeleteOut(
            success=not missing, deleted=deleted, notFound=missing, notYours=refused
        )


def memory_tools(holding: MemoryTools) -> tuple[AnyTool, ...]:
    return (
        Tool(FEATURE, "memory_list", Scope.READ, ListMemories, MemoryListOut, holding.memory_list),
        Tool(FEATURE, "memory_get", Scope.READ, MemoryIdInput, MemoryDetailOut, holding.memory_get),
        Tool(
            FEATURE,
            "memory_edit",
            Scope.WRITE,
            EditMemory,
            MemoryDetailOut,
            holding.memory_edit,
            read_only=False,
            idempotent=True,
        ),
        Tool(
            FEATURE,
            "memory_delete",
            Scope.WRITE,
            MemoryIdsInput,
            MemoryDeleteOut,
            holding.memory_delete,
            read_only=False,
            destructive=True,
            idempotent=True,
        ),
    )


async def load_page(
    tx: Transaction, areas: tuple[KeyRange, ...], cursor: str | None, limit: int
) -> tuple[list[Memory], str | None]:
    """One page of memories across these key ranges, and the next cursor."""
    number, after = _decode_cursor(cursor, len(areas))
    found: list[Memory] = []
    while number < len(areas):
        found += await list_memories(tx, areas[number], after, limit + 1 - len(found))
        if len(found) > limit:
            last = found[limit - 1].key
            # The last one returned may be in the previous range.
            part = number if areas[number].contains(last) else number - 1
            return found[:limit], _encode_cursor(part, last)
        number, after = number + 1, ""
    return found, None


def _memory_detail(
    memory: Memory, before: list[MemoryRevision], user_id: UUID | None
) -> MemoryDetailOut:
    revisions = [
        RevisionOut(text=it.text, since=format_time(it.since), until=format_time(it.until))
        for it in before
    ]
    return MemoryDetailOut(success=True, memory=memory_out(memory, user_id), history=revisions)


def memory_out(memory: Memory, user_id: UUID | None) -> MemoryOut:
    facts = {name: fact for name, fact in memory.facts.items() if name != "tags"}
    return MemoryOut(
        id=str(memory.id),
        kind=kind_of(memory.key),
        text=memory.text,
        tags=list_texts(memory.facts.get("tags")),
        mine=is_own(memory.key, user_id),
        created_at=format_time(memory.created_at),
        changed_at=format_time(memory.changed_at),
        metadata=facts,
    )


def parse_memory_id(text: str) -> UUID:
    """The id; NotFound where it is not a UUID."""
    found = _try_parse_id(text)
    if found is None:
        raise NotFound(f"no memory {text}", id=text, hint=list_hint("memory.memory_list"))
    return found


def _try_parse_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


async def _delete_if_own(tx: Transaction, memory: Memory) -> bool:
    """Whether it was deleted. One that the caller may only read stays."""
    try:
        await delete_memory(tx, memory)
    except (NotFound, Forbidden):
        return False
    return True


def _encode_cursor(number: int, key: str) -> str:
    return urlsafe_b64encode(f"{number}\n{key}".encode()).decode()


def _decode_cursor(cursor: str | None, parts: int) -> tuple[int, str]:
    if cursor is None:
        return 0, ""
    try:
        number, _, key = urlsafe_b64decode(cursor).decode().partition("\n")
        found = int(number), key
    except ValueError:
        found = -1, ""
    if not 0 <= found[0] < parts or "\0" in found[1]:
        raise InvalidFormat("invalid cursor", field="cursor", got=cursor[:100])
    return found
