"""Standing pages: what holds now of a project or a person, and what an edit of it changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from pydantic import Field

from pecia.features.memory.core.keys import SOURCE, is_own
from pecia.features.memory.core.page import EditedPage, is_about, parse_page, render_page
from pecia.features.memory.core.page_items import PageLine, flatten
from pecia.features.memory.core.screen.secret_policy import drop_marks, screen_marks, screen_text
from pecia.features.memory.embeddings import TextEmbeddings, embed_texts
from pecia.features.memory.judge import DecisionRules
from pecia.features.memory.learn import Learner, LearnPolicy, filter_texts
from pecia.features.memory.model import Memory, MemoryDraft, MemoryFact, MemoryKind
from pecia.features.memory.scope import MemoryScope, resolve_scope
from pecia.features.memory.settings import MemorySettings
from pecia.features.memory.store import (
    find_current,
    get_memories,
    lock_user_memories,
    note_memories,
    supersede_memory,
)
from pecia.features.memory.tools.arguments import UNAUDITED, ShortName
from pecia.features.memory.tools.memories import load_page, parse_memory_id
from pecia.features.memory.tools.search import FEATURE
from pecia.kernel.errors import InvalidFormat, Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.store import Transaction
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool

# More than a page can show is not all read either: such a page says that it is not complete.
MAX_ON_PAGE = 1_000
MAX_READ = 5_000
BATCH = 200
MAX_PAGE_CHARS = 1_000_000
MAX_CLOCK_SKEW = timedelta(minutes=1)
# Up to so many memories, and up to half of a page, end without being asked about.
MAX_ENDED = 5
NO_MEMORY = "no such memory here"
STILL_NAMED = "its line was taken out, but its id is elsewhere on the page: nothing was changed"
NEW_LINES = DecisionRules(threshold=0.7, min_confidence=0.0, with_model=False, may_delete=False)


class MemoryPageInput(Input):
    person: ShortName | None = Field(
        default=None,
        description="Only what names this person or was said by them. Without it, all that this"
        " session's project holds.",
    )


class SaveMemoryPage(MemoryPageInput):
    text: str = Field(
        min_length=1,
        max_length=MAX_PAGE_CHARS,
        description="The page as memory_page gave it, edited.",
        json_schema_extra=UNAUDITED,
    )
    end_missing: bool = Field(
        default=False,
        description=f"End the memories that are missing from the page even if they are more than"
        f" {MAX_ENDED} and more than half of it. Without it, those are kept.",
    )


class MemoryPageOut(Output):
    success: bool
    title: str
    text: str = Field(description="Markdown. Each line ends in a link with the memory's id.")
    memories: int
    complete: bool = Field(description="Whether the page has all of them.")


class KeptLine(Output):
    id: str
    reason: str


class SavedPageOut(Output):
    success: bool
    added: list[str] = Field(description="Memories made of new lines.")
    changed: dict[str, str] = Field(
        description="Memories whose line was changed, and the one that supersedes each."
    )
    ended: list[str] = Field(
        description="Memories whose line was taken out. memory_undo brings them back."
    )
    kept: list[KeptLine] = Field(description="Edits that were not made, and why.")


@dataclass(frozen=True, slots=True)
class PageTools:
    """The handlers."""

    learner: Learner
    settings: MemorySettings

    async def memory_page(self, call: Call, ask: MemoryPageInput) -> MemoryPageOut:
        """Read one page of what is remembered now: of this session's project, or of a person. Each
        line says how often and when it was said last, and links its memory. Edit the text and
        give it to memory_page_save to correct, add and end memories."""
        here = resolve_scope(call, self.settings)
        at = datetime.now(UTC)
        async with self.learner.retriever.corpus.store.reading(call.caller) as tx:
            found, is_complete = await _load(tx, here, ask.person, at)
        call.record_returned(SOURCE, [it.key for it in found])
        title = _title(here, ask.person)
        text = render_page(title, found, at, is_complete=is_complete)
        return MemoryPageOut(
            success=True, title=title, text=text, memories=len(found), complete=is_complete
        )

    async def memory_page_save(self, call: Call, ask: SaveMemoryPage) -> SavedPageOut:
        """Save an edited page: a changed line supersedes its memory, a new line is remembered, the
        memory of a line that was taken out ends. All of it stays readable in the history, and
        memory_undo takes it back. What was remembered since the page was read stays."""
        here = resolve_scope(call, self.settings)
        page = _parse(ask.text)
        policy = self.settings.screen_policy
        corpus = self.learner.retriever.corpus
        saved = SavedPageOut(success=True, added=[], changed={}, ended=[], kept=[])
        saved.kept.extend(KeptLine(id=it.id, reason=it.reason) for it in page.items.unread)
        async with corpus.store.reading(call.caller) as tx:
            edits = await _find_edits(tx, here, page.items.lines, saved)
        # A line that nobody edited stays as it is stored, whatever the policy is by now.
        marks = {it.id: screen_marks(it.text, policy) for it in edits if it.id is not None}
        edits = [replace(it, text=screen_text(it.text, policy, field="text")) for it in edits]
        named = [it for it in edits if it.id is not None]
        meaning = await embed_texts(corpus.embedder, [it.text for it in named])
        async with corpus.store.writing(call.caller, call.trace) as tx:
            await lock_user_memories(tx)
            await _change(tx, here, named, meaning, marks, saved)
            await _end_missing(tx, here, ask, page, saved)
        texts, _ = filter_texts([it.text for it in edits if it.id is None])
        facts = [MemoryFact(it) for it in texts]
        if facts:
            wanted = LearnPolicy(MemoryKind.KNOWLEDGE, NEW_LINES)
            learnt = await self.learner.learn(call, here, facts, wanted)
            saved.added.extend(it.id for it in learnt if it.id is not None)
        return saved


def _parse(text: str) -> EditedPage:
    page = parse_page(text)
    if page is None:
        raise InvalidFormat(
            'Field "text" is not a page: it has no `as_of` at its head',
            field="text",
            expected="the text of memory_page, edited",
        )
    if page.as_of > datetime.now(UTC) + MAX_CLOCK_SKEW:
        raise InvalidFormat(
            f'Field "text" has an `as_of` in the future: {page.as_of.isoformat()}',
            field="text",
            expected="the `as_of` that memory_page gave",
        )
    return page


async def _load(
    tx: Transaction, here: MemoryScope, person: str | None, at: datetime
) -> tuple[list[Memory], bool]:
    """What holds at a time, and whether that is all."""
    areas = here.search_ranges(MemoryKind.KNOWLEDGE)
    found: list[Memory] = []
    read, cursor = 0, None
    while read < MAX_READ and len(found) < MAX_ON_PAGE:
        some, cursor = await load_page(tx, areas, cursor, BATCH)
        read += len(some)
        found += [it for it in some if _is_on_page(here, it, person, at)]
        if cursor is None:
            break
    return found[:MAX_ON_PAGE], cursor is None and len(found) <= MAX_ON_PAGE


def _is_on_page(here: MemoryScope, it: Memory, person: str | None, at: datetime) -> bool:
    if it.same_as is not None or not it.holds(at) or not here.admits(it):
        return False
    return person is None or is_about(it, person)


async def _find_edits(
    tx: Transaction, here: MemoryScope, lines: Sequence[PageLine], saved: SavedPageOut
) -> list[PageLine]:
    """The lines that are new, or that say another thing than their memory."""
    known = await _get_named(tx, lines)
    edits: list[PageLine] = []
    for line in lines:
        if line.id is None:
            edits.append(line)
            continue
        memory = known.get(line.id)
        if memory is None or not here.contains(memory.key):
            saved.kept.append(KeptLine(id=line.id, reason=NO_MEMORY))
        elif line.text != flatten(memory.text):
            current = await find_current(tx, memory)
            edits += [line] if line.text != flatten(current.text) else []
    return edits


async def _get_named(tx: Transaction, lines: Sequence[PageLine]) -> dict[str, Memory]:
    ids = [parse_memory_id(it.id) for it in lines if it.id is not None]
    return {str(it.id): it for it in await get_memories(tx, [*dict.fromkeys(ids)])}


async def _change(
    tx: Transaction,
    here: MemoryScope,
    lines: Sequence[PageLine],
    meaning: TextEmbeddings,
    marks: Mapping[str, Mapping[str, Json]],
    saved: SavedPageOut,
) -> None:
    known = await _get_named(tx, lines)
    for line in lines:
        memory = known.get(line.id or "")
        if memory is None:
            saved.kept.append(KeptLine(id=line.id or "", reason=NO_MEMORY))
            continue
        current = await find_current(tx, memory)
        if line.text == flatten(current.text):
            continue
        if reason := _why_kept(here, memory, current):
            saved.kept.append(KeptLine(id=str(memory.id), reason=reason))
            continue
        facts = {**drop_marks(memory.facts), **marks.get(str(memory.id), {})}
        id_ = await supersede_memory(tx, memory, MemoryDraft(line.text, facts), meaning)
        saved.changed[str(memory.id)] = str(id_)


def _why_kept(here: MemoryScope, memory: Memory, current: Memory) -> str | None:
    if not is_own(memory.key, here.owner):
        return "it is not yours to change"
    if current.id != memory.id:
        return f"it was superseded meanwhile by {current.id}: read the page again"
    if not memory.is_open:
        return "it no longer holds: read the page again"
    return None


async def _end_missing(
    tx: Transaction, here: MemoryScope, ask: SaveMemoryPage, page: EditedPage, saved: SavedPageOut
) -> None:
    """End what stood on the page when it was read, and does not any more."""
    if not page.is_complete:
        return
    now = datetime.now(UTC)
    held, _ = await _load(tx, here, ask.person, now)
    # What took a changed line's place was said after the page was read.
    stood = [it for it in held if it.said_at <= page.as_of]
    listed = {it.id for it in saved.kept}
    left = {*saved.changed.values(), *(it.id for it in page.items.lines)}
    ended: list[Memory] = []
    for it in stood:
        if str(it.id) in left or it.changed_at > page.as_of:
            continue
        if str(it.id) in page.items.ids:
            if str(it.id) not in listed:
                saved.kept.append(KeptLine(id=str(it.id), reason=STILL_NAMED))
            continue
        if not is_own(it.key, here.owner):
            saved.kept.append(KeptLine(id=str(it.id), reason="it is not yours to end"))
            continue
        facts = {**it.facts, "retired_by": "its line was taken out of a page"}
        ended.append(replace(it, valid_to=now, facts=facts))
    on_page = len(stood) + len(saved.changed)
    if len(ended) > MAX_ENDED and 2 * len(ended) > on_page and not ask.end_missing:
        reason = f"{len(ended)} of {on_page} memories are missing: `end_missing: true` ends them"
        saved.kept.extend(KeptLine(id=str(it.id), reason=reason) for it in ended)
        return
    await note_memories(tx, ended)
    saved.ended.extend(str(it.id) for it in ended)


def _title(here: MemoryScope, person: str | None) -> str:
    project = here.labels.project
    if person is not None:
        return f"{flatten(person)} ({project})" if project else flatten(person)
    return project or "Memories"


def page_tools(pages: PageTools) -> tuple[AnyTool, ...]:
    return (
        Tool(FEATURE, "memory_page", Scope.READ, MemoryPageInput, MemoryPageOut, pages.memory_page),
        Tool(
            FEATURE,
            "memory_page_save",
            Scope.WRITE,
            SaveMemoryPage,
            SavedPageOut,
            pages.memory_page_save,
            read_only=False,
            idempotent=True,
        ),
    )
