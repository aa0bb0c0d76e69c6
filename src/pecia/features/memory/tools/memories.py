"""Memory management: list, get, edit, delete."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from pecia.features.memory.core.format import format_time, list_texts
from pecia.features.memory.core.keys import SOURCE, KeyRange, is_own, kind_of
from pecia.features.memory.core.screen.secret_policy import replace_marks, screen_text
from pecia.features.memory.core.search.conversation import named_speaker
from pecia.features.memory.embeddings import embed_texts
from pecia.features.memory.model import Memory, MemoryDraft, MemoryKind
from pecia.features.memory.scope import MemoryScope, resolve_scope
from pecia.features.memory.settings import MemorySettings
from pecia.features.memory.store import (
    delete_memory,
    get_memories,
    get_memory,
    list_memories,
    load_linked,
    lock_user_memories,
    no_memory,
    note_memories,
    supersede_memory,
    to_canonical_text,
)
from pecia.features.memory.tools.arguments import UNAUDITED, AsOf, MemoryText, ShortName
from pecia.features.memory.tools.search import FEATURE
from pecia.kernel.corpus.vectors.embedder import Embedder
from pecia.kernel.errors import Conflict, Forbidden, InvalidFormat, Json, MissingField, NotFound
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.store import Store, Transaction
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
    as_of: AsOf | None = Field(default=None, description="What held then, instead of now.")
    include: list[Literal["superseded"]] = Field(
        default_factory=list[Literal["superseded"]],
        max_length=1,
        description="What no longer holds too.",
    )


class MemoryIdInput(Input):
    id: MemoryId


class MemoryHistoryInput(Input):
    id: MemoryId
    as_of: AsOf | None = Field(default=None, description="Only what held then.")


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
    said_at: str
    said_by: str | None = None
    valid_from: str
    valid_to: str | None = None
    superseded_by: str | None = None
    same_as: str | None = Field(
        default=None, description="The memory that it is another wording of."
    )
    times_said: int = 1
    last_said_at: str
    metadata: dict[str, Any]


class MemoryListOut(Output):
    success: bool
    memories: list[MemoryOut]
    next_cursor: str | None = None


class VersionOut(Output):
    """An earlier version of a memory: another memory, which it superseded."""

    id: str
    text: str
    since: str
    until: str | None


class MemoryDetailOut(Output):
    success: bool
    memory: MemoryOut
    history: list[VersionOut] = Field(description="Earlier versions, oldest first.")


class MemoryHistoryOut(Output):
    success: bool
    memories: list[MemoryOut] = Field(
        description="Every version and wording of what the memory says, by the time it was said."
    )
    current: str | None = Field(description="The id of the version that holds.")


class MemoryUndoOut(Output):
    success: bool
    memory: MemoryOut
    undone: str = Field(description="What was taken back.")


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
        at = ask.as_of or datetime.now(UTC)
        found = [
            it
            for it in found
            if here.admits(it) and ("superseded" in ask.include or _is_shown(it, at))
        ]
        call.record_returned(SOURCE, [it.key for it in found])
        return MemoryListOut(
            success=True,
            memories=[memory_out(it, call.caller.user_id) for it in found],
            next_cursor=cursor,
        )

    async def memory_get(self, call: Call, ask: MemoryIdInput) -> MemoryDetailOut:
        """Read one memory by its id, with its facts and the versions before it."""
        here = resolve_scope(call, self.settings)
        async with self.store.reading(call.caller) as tx:
            found = await get_scoped_memory(tx, here, ask.id)
            linked = await load_linked(tx, found)
        call.record_returned(SOURCE, [found.key])
        return _memory_detail(found, linked, call.caller.user_id)

    async def memory_history(self, call: Call, ask: MemoryHistoryInput) -> MemoryHistoryOut:
        """Read everything that was ever said of what a memory says: earlier and later versions,
        other wordings, with when each was said and held. With `as_of`, what held then."""
        here = resolve_scope(call, self.settings)
        async with self.store.reading(call.caller) as tx:
            linked = await load_linked(tx, await get_scoped_memory(tx, here, ask.id))
        if ask.as_of is not None:
            linked = [it for it in linked if it.holds(ask.as_of)]
        call.record_returned(SOURCE, [it.key for it in linked])
        current = [it for it in linked if it.is_open]
        return MemoryHistoryOut(
            success=True,
            memories=[memory_out(it, call.caller.user_id) for it in linked],
            current=str(current[-1].id) if current else None,
        )

    async def memory_edit(self, call: Call, ask: EditMemory) -> MemoryDetailOut:
        """Correct one of your memories: its text, its tags, or both. A new text is a new memory
        that supersedes the old one, which stays readable in its history."""
        if ask.text is None and ask.tags is None:
            raise MissingField('Field "text" or "tags" is required', field="text")
        text = to_canonical_text(ask.text).strip() if ask.text is not None else None
        if text == "":
            raise InvalidFormat('Field "text" is blank', field="text", expected="words")
        here = resolve_scope(call, self.settings)
        # The operator's setting: a session does not loosen it.
        policy, given = self.settings.screen_policy, text
        text = screen_text(text, policy, field="text") if text else None
        meaning = await embed_texts(self.embedder, [text] if text else [])
        async with self.store.writing(call.caller, call.trace) as tx:
            await lock_user_memories(tx)
            before = await get_scoped_memory(tx, here, ask.id)
            _require_open(before)
            facts: dict[str, Json] = {**before.facts}
            if ask.tags is not None:
                facts["tags"] = [*dict.fromkeys(ask.tags)]
            if given and text and text != before.text:
                facts = replace_marks(facts, given, policy)
                id_ = await supersede_memory(tx, before, MemoryDraft(text, facts), meaning)
            else:
                id_ = before.id
                await note_memories(tx, [replace(before, facts=facts)])
            after = await get_memory(tx, id_)
            linked = await load_linked(tx, after)
        call.record_returned(SOURCE, [after.key])
        return _memory_detail(after, linked, call.caller.user_id)

    async def memory_undo(self, call: Call, ask: MemoryIdInput) -> MemoryUndoOut:
        """Take back what was decided about a memory without you: one that was superseded or
        retired holds again, beside what replaced it; one that was taken for another wording is a
        memory of its own. Takes the id of either."""
        here = resolve_scope(call, self.settings)
        async with self.store.writing(call.caller, call.trace) as tx:
            await lock_user_memories(tx)
            before = await get_scoped_memory(tx, here, ask.id)
            undone, changed = await _undo(tx, here, before)
            await note_memories(tx, changed)
            after = await get_memory(tx, changed[0].id)
        call.record_returned(SOURCE, [after.key])
        return MemoryUndoOut(
            success=True, memory=memory_out(after, call.caller.user_id), undone=undone
        )

    async def memory_delete(self, call: Call, ask: MemoryIdsInput) -> MemoryDeleteOut:
        """Delete memories permanently, with their earlier versions and other wordings."""
        here = resolve_scope(call, self.settings)
        ids = {it: _try_parse_id(it) for it in dict.fromkeys(ask.ids)}
        async with self.store.writing(call.caller, call.trace) as tx:
            known = [it for it in ids.values() if it is not None]
            held = {str(it.id): it for it in await get_memories(tx, known) if here.contains(it.key)}
            deleted: list[str] = []
            refused: list[str] = []
            for memory in held.values():
                gone = await _delete_if_own(tx, memory)
                (deleted if gone else refused).append(str(memory.id))
        call.record_returned(SOURCE, [held[it].key for it in deleted])
        missing = [it for it, id_ in ids.items() if str(id_) not in held]
        return MemoryDeleteOut(
            success=not missing and not refused,
            deleted=deleted,
            notFound=missing,
            notYours=refused,
        )


def memory_tools(holding: MemoryTools) -> tuple[AnyTool, ...]:
    return (
        Tool(FEATURE, "memory_list", Scope.READ, ListMemories, MemoryListOut, holding.memory_list),
        Tool(FEATURE, "memory_get", Scope.READ, MemoryIdInput, MemoryDetailOut, holding.memory_get),
        Tool(
            FEATURE,
            "memory_history",
            Scope.READ,
            MemoryHistoryInput,
            MemoryHistoryOut,
            holding.memory_history,
        ),
        Tool(
            FEATURE,
            "memory_undo",
            Scope.WRITE,
            MemoryIdInput,
            MemoryUndoOut,
            holding.memory_undo,
            read_only=False,
        ),
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
    memory: Memory, linked: Sequence[Memory], user_id: UUID | None
) -> MemoryDetailOut:
    earlier = find_earlier(memory, linked)
    versions = [
        VersionOut(
            id=str(it.id),
            text=it.text,
            since=format_time(it.valid_from),
            until=format_time(it.valid_to) if it.valid_to else None,
        )
        for it in earlier
    ]
    return MemoryDetailOut(success=True, memory=memory_out(memory, user_id), history=versions)


def find_earlier(memory: Memory, linked: Sequence[Memory]) -> list[Memory]:
    """What the memory superseded, and what that had superseded; oldest first."""
    later = {memory.id}
    found: list[Memory] = []
    for it in sorted(linked, key=lambda it: it.file_id, reverse=True):
        if it.superseded_by in later:
            later.add(it.id)
            found.append(it)
    return found[::-1]


def memory_out(memory: Memory, user_id: UUID | None) -> MemoryOut:
    facts = {name: fact for name, fact in memory.facts.items() if name != "tags"}
    return MemoryOut(
        id=str(memory.id),
        kind=kind_of(memory.key),
        text=memory.text,
        tags=list_texts(memory.facts.get("tags")),
        mine=is_own(memory.key, user_id),
        created_at=format_time(memory.said_at),
        changed_at=format_time(memory.changed_at),
        said_at=format_time(memory.said_at),
        said_by=named_speaker(memory),
        valid_from=format_time(memory.valid_from),
        valid_to=format_time(memory.valid_to) if memory.valid_to else None,
        superseded_by=str(memory.superseded_by) if memory.superseded_by else None,
        same_as=str(memory.same_as) if memory.same_as else None,
        times_said=memory.times,
        last_said_at=format_time(memory.last_said_at),
        metadata=facts,
    )


def _is_shown(memory: Memory, at: datetime) -> bool:
    return memory.same_as is None and memory.holds(at)


async def get_scoped_memory(tx: Transaction, here: MemoryScope, id_: str) -> Memory:
    """The memory of an id, if it is in the collection and project of the session."""
    found = await get_memory(tx, parse_memory_id(id_))
    if not here.contains(found.key):
        raise no_memory(id_)
    return found


def _require_open(memory: Memory) -> None:
    if memory.is_open:
        return
    replaced_by = memory.superseded_by or memory.same_as
    raise Conflict(
        f"memory {memory.id} no longer holds",
        id=str(memory.id),
        hint=f"Edit {replaced_by}, which replaced it." if replaced_by else "Call memory_undo.",
    )


async def _undo(tx: Transaction, here: MemoryScope, memory: Memory) -> tuple[str, list[Memory]]:
    """What is taken back, and the memories as they are then, first the one that was asked for. Of a
    memory that replaced one, that is the one which it replaced."""
    if memory.same_as is not None:
        firsts = await get_memories(tx, [memory.same_as])
        fewer = [replace(it, times=max(1, it.times - 1)) for it in firsts]
        own = replace(memory, same_as=None)
        return f"taken for another wording of {memory.same_as}", [own, *fewer]
    if memory.valid_to is not None:
        facts = {name: it for name, it in memory.facts.items() if name != "retired_by"}
        undone = f"superseded by {memory.superseded_by}" if memory.superseded_by else "retired"
        return undone, [replace(memory, superseded_by=None, valid_to=None, facts=facts)]
    linked = [it for it in await load_linked(tx, memory) if here.contains(it.key)]
    replaced = [it for it in linked if it.superseded_by == memory.id]
    if len(replaced) == 1:
        return await _undo(tx, here, replaced[0])
    raise Conflict(
        f"nothing was decided about memory {memory.id} that could be taken back",
        id=str(memory.id),
        hint="Give the id of the memory that was superseded, retired or taken for a wording.",
    )


def parse_memory_id(text: str) -> UUID:
    """The id; NotFound where it is not a UUID."""
    found = _try_parse_id(text)
    if found is None:
        raise no_memory(text)
    return found


def _try_parse_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


async def _delete_if_own(tx: Transaction, memory: Memory) -> bool:
    """Whether it was deleted, with what it superseded and their other wordings. One that the caller
    may only read stays."""
    linked = await load_linked(tx, memory)
    gone = [memory, *find_earlier(memory, linked)]
    named = {it.id for it in gone}
    gone += [it for it in linked if it.same_as in named and it.id not in named]
    try:
        for it in gone:
            await delete_memory(tx, it)
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
        raise InvalidFormat(
            f"{cursor[:100]!r} is not a cursor of this tool",
            field="cursor",
            got=cursor[:100],
            expected="next_cursor of the previous page",
        )
    return found
