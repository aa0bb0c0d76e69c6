"""Export and import of memories. Imported memories belong to the caller."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID, uuid5

import orjson
from pydantic import Field

from pecia.features.memory.core.chat_export import parse_export
from pecia.features.memory.core.format import format_now, format_time, truncate_preview
from pecia.features.memory.core.keys import SOURCE, MemoryFolder, is_own, kind_of
from pecia.features.memory.core.screen.policy import ScreenPolicy
from pecia.features.memory.core.screen.secret_policy import (
    screen_facts,
    screen_marks,
    screen_text,
)
from pecia.features.memory.embeddings import embed_texts
from pecia.features.memory.model import Memory, MemoryDraft, MemoryKind, new_id
from pecia.features.memory.scope import MemoryScope, resolve_scope
from pecia.features.memory.settings import MemorySettings
from pecia.features.memory.statistics import GrowthStatistics
from pecia.features.memory.store import (
    find_current,
    get_memories,
    insert_memories,
    supersede_memory,
    to_canonical_text,
)
from pecia.features.memory.tools.arguments import (
    MAX_TEXT_CHARS,
    UNAUDITED,
    Moment,
    OpenArguments,
    ShortName,
    require_bounded,
)
from pecia.features.memory.tools.extraction import extract_knowledge_facts
from pecia.features.memory.tools.memories import load_page
from pecia.features.memory.tools.search import FEATURE
from pecia.kernel.corpus.vectors.embedder import Embedder
from pecia.kernel.errors import InvalidFormat, Json, PayloadTooLarge
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool

EXPORT_FORMAT = "pecia-memories"
MAX_TRANSFER = 200
# Of one export: a call has a deadline.
MAX_EXPORTED = 2000
TransferKind = Literal["knowledge", "reasoning", "workspace"]


class ExportInput(Input):
    kind: TransferKind = "knowledge"
    limit: int = Field(default=MAX_TRANSFER, ge=1, le=MAX_TRANSFER)
    cursor: str | None = Field(default=None, max_length=3000, description="From `next_cursor`.")
    all_projects: bool = Field(default=False, description="Not only the project of this session.")


class ImportedMemory(OpenArguments):
    """A memory in transfer format. Fields of other memory servers are kept as metadata."""

    text: str = Field(min_length=1, max_length=MAX_TEXT_CHARS)
    id: str | int | None = None
    kind: TransferKind = "knowledge"
    tags: list[ShortName] = Field(default_factory=list[ShortName], max_length=50)
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None
    domain: ShortName | None = None
    code_pattern: str | None = Field(default=None, max_length=4000)
    projectId: ShortName | None = None
    userId: ShortName | None = None
    timestamp: str | None = Field(default=None, max_length=40)
    valid_from: Moment | None = None
    valid_to: Moment | None = None
    superseded_by: Any = None
    same_as: Any = None
    times_said: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])


class ExportOut(Output):
    success: bool
    format: str = EXPORT_FORMAT
    version: int = 1
    exportedAt: str
    memories: list[dict[str, Any]]
    next_cursor: str | None = None


class ImportInput(Input):
    memories: list[ImportedMemory] = Field(
        default_factory=list[ImportedMemory],
        max_length=MAX_TRANSFER,
        json_schema_extra=UNAUDITED,
    )
    export: Any = Field(
        default=None,
        json_schema_extra=UNAUDITED,
        description="Instead of `memories`: the JSON of an export, conversations.json of ChatGPT"
        " or Claude, or the memories of mem0.",
    )
    every_turn: bool = Field(
        default=False,
        description="Of conversations in `export`: every turn, not only what is worth keeping.",
    )
    on_conflict: Literal["skip", "replace"] = Field(
        default="skip", description="What to do with a memory that you imported before."
    )
    dry_run: bool = Field(default=False, description="Only tell what would be imported.")


class SkippedImport(Output):
    preview: str
    reason: str


class ImportOut(Output):
    success: bool
    imported: int
    replaced: int
    skipped: list[SkippedImport]
    ids: list[str] = Field(description="One per memory, in order; empty for a skipped one.")
    product: str = Field(default="", description="What `export` is from.")
    not_worth_keeping: int = Field(default=0, description="Turns of `export` that were left out.")
    too_long: int = 0


@dataclass(frozen=True, slots=True)
class TransferTools:
    """The handlers."""

    growth: GrowthStatistics
    settings: MemorySettings
    embedder: Embedder | None

    async def memory_export(self, call: Call, ask: ExportInput) -> ExportOut:
        """Export your own memories of a kind with all that is known of them, also what no longer
        holds; paginated, in the format of memory_import."""
        here = resolve_scope(call, self.settings)
        areas = here.own_ranges(MemoryKind(ask.kind), any_project=ask.all_projects)
        async with self.growth.store.reading(call.caller) as tx:
            found, cursor = await load_page(tx, areas, ask.cursor, ask.limit)
        call.record_returned(SOURCE, [it.key for it in found])
        return ExportOut(
            success=True,
            exportedAt=format_now(),
            memories=[_export_memory(it) for it in found],
            next_cursor=cursor,
        )

    async def memory_import(self, call: Call, ask: ImportInput) -> ImportOut:
        """Import memories that were exported here or elsewhere, or the export of another product.
        They become yours. A repeated import is recognised by id."""
        if ask.export is None:
            if not ask.memories:
                raise InvalidFormat(
                    "there is nothing to import", field="memories", expected="memories, or export"
                )
            return await self._import(call, ask, ask.memories)
        parsed = parse_export(_read_export(ask.export), every_turn=ask.every_turn)
        if len(parsed.memories) > MAX_EXPORTED:
            raise PayloadTooLarge(
                f'Field "export" has {len(parsed.memories)} memories (max {MAX_EXPORTED})',
                field="export",
                max=MAX_EXPORTED,
                hint="Import the file with `pecia memory import FILE`.",
            )
        found = [ImportedMemory.model_validate(it) for it in parsed.memories]
        starts = range(0, len(found), MAX_TRANSFER)
        done = [await self._import(call, ask, found[it : it + MAX_TRANSFER]) for it in starts]
        return ImportOut(
            success=True,
            imported=sum(it.imported for it in done),
            replaced=sum(it.replaced for it in done),
            skipped=[skipped for it in done for skipped in it.skipped],
            ids=[id_ for it in done for id_ in it.ids],
            product=parsed.product,
            not_worth_keeping=parsed.left_out,
            too_long=parsed.too_long,
        )

    async def _import(
        self, call: Call, ask: ImportInput, memories: Sequence[ImportedMemory]
    ) -> ImportOut:
        here = resolve_scope(call, self.settings)
        policy = self.settings.screen_policy
        drafts = [
            screen_draft(_build_draft(here, it, n), policy, n) for n, it in enumerate(memories)
        ]
        texts = [] if ask.dry_run else [it.text for it in drafts]
        meaning = await embed_texts(self.embedder, texts)
        places = [_target_folder(here, it) for it in memories]
        async with self.growth.store.writing(call.caller, call.trace) as tx:
            ids = [_candidate_ids(here, it) for it in memories]
            known = await get_memories(tx, [id_ for pair in ids for id_ in pair])
            mine = {it.id: await find_current(tx, it) for it in known if is_own(it.key, here.owner)}
            new, again, skipped = _classify_imports(ids, mine)
            again, left = _plan_replacements(
                again, places, drafts, wanted=ask.on_conflict == "replace"
            )
            skipped += left
            replaced: dict[int, UUID] = {}
            if not ask.dry_run:
                await insert_memories(
                    tx, {id_: (places[n], drafts[n]) for n, id_ in new.items()}, meaning
                )
                replaced = {
                    n: await supersede_memory(tx, it, drafts[n], meaning) for n, it in again.items()
                }
        written = {} if ask.dry_run else new
        await self.growth.count(len(written) + len(replaced))
        taken = {n: str(id_) for n, id_ in (written | replaced).items()}
        call.record_returned(SOURCE, [places[n].key(id_) for n, id_ in written.items()])
        return ImportOut(
            success=True,
            imported=len(new),
            replaced=len(again),
            skipped=[
                SkippedImport(preview=truncate_preview(drafts[n].text, 100), reason=why)
                for n, why in skipped
            ],
            ids=[taken.get(n, "") for n in range(len(drafts))],
        )


def transfer_tools(carrying: TransferTools) -> tuple[AnyTool, ...]:
    return (
        Tool(FEATURE, "memory_export", Scope.READ, ExportInput, ExportOut, carrying.memory_export),
        Tool(
            FEATURE,
            "memory_import",
            Scope.WRITE,
            ImportInput,
            ImportOut,
            carrying.memory_import,
            read_only=False,
        ),
    )


def _read_export(given: Any) -> Json:
    """The document; some clients send JSON as a text."""
    if not isinstance(given, str):
        return given
    try:
        return orjson.loads(given)
    except orjson.JSONDecodeError as error:
        raise InvalidFormat(
            f"the export is no JSON: line {error.lineno}, column {error.colno}: {error.msg}",
            field="export",
            expected="JSON",
        ) from None


def _export_memory(memory: Memory) -> dict[str, Any]:
    return {
        "id": str(memory.id),
        "kind": str(kind_of(memory.key)),
        "text": memory.text,
        "timestamp": format_time(memory.said_at),
        **memory.facts,
        "valid_from": format_time(memory.valid_from),
        **({"valid_to": format_time(memory.valid_to)} if memory.valid_to else {}),
        **({"superseded_by": str(memory.superseded_by)} if memory.superseded_by else {}),
        **({"same_as": str(memory.same_as)} if memory.same_as else {}),
        **({"times_said": memory.times} if memory.times > 1 else {}),
    }


def _build_draft(here: MemoryScope, it: ImportedMemory, number: int) -> MemoryDraft:
    text = to_canonical_text(it.text).strip()
    if not text:
        field = f"memories.{number}.text"
        raise InvalidFormat(f'Field "{field}" is blank', field=field, expected="words")
    fields = it.model_dump(mode="json", exclude_none=True, exclude={*OWN_FIELDS})
    valid = {name: fact for name, fact in fields.items() if fact and _is_valid_fact(name, fact)}
    found: dict[str, Json] = extract_knowledge_facts(text) if it.kind == "knowledge" else {}
    if fields.get("said_by") == "assistant":
        # What a model advises is no instruction of the user's.
        found.pop("standing", None)
    facts = require_bounded(
        f"memories.{number}", {**found, **here.origin_facts(MemoryKind(it.kind)), **valid}
    )
    return MemoryDraft(
        text,
        facts,
        _parse_time(it.timestamp, number),
        it.valid_from,
        it.valid_to,
        _linked_id(here, it.same_as),
        _linked_id(here, it.superseded_by),
        it.times_said,
    )


def screen_draft(draft: MemoryDraft, policy: ScreenPolicy, number: int) -> MemoryDraft:
    """The draft as it may be stored."""
    text = screen_text(draft.text, policy, field=f"memories.{number}.text")
    facts = {**screen_facts(draft.facts, policy), **screen_marks(draft.text, policy)}
    return replace(draft, text=text, facts=facts)


OWN_FIELDS = frozenset(
    (
        *("id", "kind", "text", "timestamp", "valid_from", "valid_to", "superseded_by", "same_as"),
        "times_said",
    )
)
"""Fields that are no facts."""


def _linked_id(here: MemoryScope, named: object) -> UUID | None:
    """The id that a linked memory has or will have as this owner's."""
    return uuid5(here.owner, named) if isinstance(named, str) and named else None


# Facts that have their own output field must have the type of that field.
TEXT_FACTS = frozenset(
    (
        "reasoning",
        "event",
        "qualitySource",
        "sourceSessionId",
        "old_memory",
        "supersedes",
        "revises",
        "said_by",
        "retired_by",
        "workspaceMode",
    )
)


def _is_valid_fact(name: str, fact: Json) -> bool:
    return name not in TEXT_FACTS or isinstance(fact, str)


def _parse_time(text: str | None, number: int) -> datetime | None:
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        field = f"memories.{number}.timestamp"
        raise InvalidFormat(
            f'Field "{field}" is not a time', field=field, expected="RFC 3339", got=text
        ) from None
    # A time without a zone is UTC.
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _target_folder(here: MemoryScope, it: ImportedMemory) -> MemoryFolder:
    return replace(here.folder(MemoryKind(it.kind)), project=it.projectId or here.labels.project)


def _candidate_ids(here: MemoryScope, it: ImportedMemory) -> tuple[UUID, ...]:
    """The original id, and the id derived from it for this owner."""
    if it.id is None:
        return ()
    own = uuid5(here.owner, str(it.id))
    try:
        return UUID(str(it.id)), own
    except ValueError:
        return (own,)


def _classify_imports(
    ids: list[tuple[UUID, ...]], mine: Mapping[UUID, Memory]
) -> tuple[dict[int, UUID], dict[int, Memory], list[tuple[int, str]]]:
    """New memories, existing ones of the caller, and skipped ones with the reason."""
    new: dict[int, UUID] = {}
    again: dict[int, Memory] = {}
    skipped: list[tuple[int, str]] = []
    for n, named in enumerate(ids):
        known = next((mine[it] for it in named if it in mine), None)
        own = named[-1] if named else new_id()
        if own in new.values() or (known and known in again.values()):
            skipped.append((n, "duplicate id in this call"))
        elif known is None:
            new[n] = own
        else:
            again[n] = known
    return new, again, skipped


def _plan_replacements(
    again: Mapping[int, Memory],
    places: list[MemoryFolder],
    drafts: list[MemoryDraft],
    *,
    wanted: bool,
) -> tuple[dict[int, Memory], list[tuple[int, str]]]:
    """Replacements of existing memories. A private memory does not replace a shared one."""
    replaced: dict[int, Memory] = {}
    skipped: list[tuple[int, str]] = []
    for n, known in again.items():
        same = (known.text, {**known.facts}) == (drafts[n].text, {**drafts[n].facts})
        if not places[n].contains(known.key):
            skipped.append((n, "already imported, to another folder"))
        elif not wanted or same:
            skipped.append((n, "already imported"))
        else:
            replaced[n] = known
    return replaced, skipped
