"""`cipher_memory_search`: searches memories. Read-only."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, TypeAlias
from uuid import UUID

from pydantic import Field

from pecia.features.memory.core.format import (
    format_now,
    format_time,
    list_texts,
    truncate_preview,
)
from pecia.features.memory.core.keys import SOURCE, KeyRange
from pecia.features.memory.core.search.conversation import named_speaker
from pecia.features.memory.core.search.rank import RankedMemory
from pecia.features.memory.core.toolset import require_enabled
from pecia.features.memory.core.utterance import Standing
from pecia.features.memory.embeddings import PendingEmbeddings, TextEmbeddings, embedding
from pecia.features.memory.model import VERSION, MemoryKind
from pecia.features.memory.retriever import MemoryQuery, MemoryRetriever
from pecia.features.memory.scope import MemoryScope, resolve_scope
from pecia.features.memory.settings import MemorySettings
from pecia.features.memory.tools.arguments import AsOf
from pecia.kernel.corpus.file_uri import file_uri
from pecia.kernel.corpus.provenance import Provenance
from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.store import Transaction
from pecia.kernel.text.span import Span
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool, ToolResult
from pecia.kernel.tool.passages import (
    Excerpt,
    Passage,
    PassagesOut,
    SearchNotes,
    count_fitting,
    first_words,
    fit_answer,
)

FEATURE = "memory"
MAX_STANDING_SHOWN = 5
MAX_INSTRUCTION_CHARS = 200
# Beside as many instructions as there is room for.
MAX_PREFERENCES_SHOWN = 2
INDEX_PENDING = (
    "the keyword index is being built, and not all memories were looked at: search again shortly"
)
STANDING_SHARE = 4
# Instructions are worded unlike the requests that they are for; preferences like them.
MIN_STANDING_SIMILARITY = {Standing.INSTRUCTION: 0.1, Standing.PREFERENCE: 0.3}

RefineQuery: TypeAlias = Callable[[Call, str], Awaitable[Sequence[str]]]
"""Rewrites a query in several ways; returns the query alone where it cannot."""


class MemorySearch(Input):
    query: str = Field(min_length=1, max_length=1000, description="What to search for.")
    top_k: int = Field(default=5, ge=1, le=50)
    similarity_threshold: float = Field(default=0.3, ge=0, le=1, description="0 filters nothing.")
    include_metadata: bool = True
    enable_query_refinement: bool = Field(
        default=False, description="Rewrite the query with a model, if there is one."
    )
    all_projects: bool = Field(
        default=False, description="Search all projects, not only this session's."
    )
    as_of: AsOf | None = Field(default=None, description="What held then, instead of now.")
    include: list[Literal["superseded"]] = Field(
        default_factory=list[Literal["superseded"]],
        max_length=1,
        description="What no longer holds too.",
    )


class MemoryPassageSearch(Input):
    """The arguments for agents."""

    query: str = Field(min_length=1, max_length=1000, description="What to search for.")
    top_k: int = Field(default=5, ge=1, le=50)
    similarity_threshold: float = Field(default=0.3, ge=0, le=1, description="0 filters nothing.")
    all_projects: bool = Field(
        default=False, description="Search all projects, not only this session's."
    )
    as_of: AsOf | None = Field(default=None, description="What held then, instead of now.")
    include: list[Literal["superseded"]] = Field(
        default_factory=list[Literal["superseded"]],
        max_length=1,
        description="What no longer holds too.",
    )
    max_tokens: int | None = Field(
        default=None, ge=200, le=100_000, description="For the whole answer."
    )


class MemorySearchHit(Output):
    id: str
    text: str
    tags: list[str]
    timestamp: str
    similarity: float
    version: int = VERSION
    source: str = "knowledge"
    memoryType: str = "knowledge"
    confidence: float | None = None
    reasoning: str | None = None
    event: str | None = None
    domain: str | None = None
    qualitySource: str | None = None
    sourceSessionId: str | None = None
    code_pattern: str | None = None
    old_memory: str | None = None
    said_at: str
    said_by: str | None = None
    valid_from: str
    valid_to: str | None = Field(default=None, description="Until when it held.")
    times_said: int = Field(default=1, description="In these or other words.")
    last_said_at: str | None = None
    supersedes: str | None = Field(default=None, description="The memory that it replaced.")
    superseded_by: str | None = Field(default=None, description="The memory that replaced it.")
    revises: str | None = Field(
        default=None, description="A memory that a model takes to be outdated by it; both hold."
    )
    projectId: str | None = None
    userId: str | None = None
    workspaceMode: str | None = None


class MemorySearchStats(Output):
    totalResults: int
    searchTime: float = Field(description="Milliseconds.")
    embeddingTime: float = Field(description="Milliseconds.")
    maxSimilarity: float
    minSimilarity: float
    averageSimilarity: float
    knowledgeResults: int
    reflectionResults: int = 0
    searchMode: str = "knowledge"
    usedFallback: bool = Field(description="Lexical search only: no embedder answered.")
    fallbackReason: str | None = None
    refinedQueries: list[str] = Field(default_factory=list[str])


class MemorySearchOut(Output):
    success: bool
    query: str
    results: list[MemorySearchHit]
    standing: list[MemorySearchHit] = Field(
        description="Standing instructions and preferences, those that fit the query best first."
    )
    standing_left_out: int = Field(
        default=0,
        description="How many more of the newest hundred hold; memory_list has them all.",
    )
    metadata: MemorySearchStats
    timestamp: str


@dataclass(frozen=True, slots=True)
class SearchWish:
    """Which memories are wanted, and how many."""

    kind: MemoryKind
    limit: int
    threshold: float
    any_project: bool = False
    as_of: datetime | None = None
    with_superseded: bool = False


@dataclass(frozen=True, slots=True)
class MemorySearchResult:
    """Hits of a memory search, with timings. The embedding is a part of the search."""

    hits: list[RankedMemory]
    embeddings: TextEmbeddings
    search_ms: float
    embedding_ms: float
    standing: list[RankedMemory] = field(default_factory=list[RankedMemory])
    standing_left_out: int = 0
    is_partial: bool = False
    """Whether there are memories that no index holds yet and nothing scanned."""

    @property
    def degraded(self) -> tuple[str, ...]:
        """What is less than usual about it, for whoever asked."""
        missing = self.embeddings.missing
        lexical = (f"lexical only: {missing}",) if missing else ()
        return (*lexical, INDEX_PENDING) if self.is_partial else lexical

    @property
    def fallback_reason(self) -> str | None:
        """The same as one line, as clients of Cipher know it."""
        pending = INDEX_PENDING if self.is_partial else ""
        return "; ".join(it for it in (self.embeddings.missing, pending) if it) or None


@dataclass(frozen=True, slots=True)
class MemorySearchTool:
    """The handler, and the search that other memory tools use."""

    retriever: MemoryRetriever
    settings: MemorySettings
    refine: RefineQuery

    async def memory_search(self, call: Call, ask: MemorySearch) -> MemorySearchOut:
        """Search memories: facts, decisions, code patterns; semantic and lexical. Returns what
        holds now, with when it was said. Search before you work on something, to find what was
        learnt about it."""
        here = resolve_scope(call, self.settings)
        require_enabled("cipher_memory_search", here.settings)
        wants = ask.enable_query_refinement or here.settings.refine_queries
        queries = await self.refine(call, ask.query) if wants else [ask.query]
        wanted = SearchWish(
            MemoryKind.KNOWLEDGE,
            ask.top_k,
            ask.similarity_threshold,
            any_project=ask.all_projects,
            as_of=ask.as_of,
            with_superseded="superseded" in ask.include,
        )
        sought = await self.retrieve(call, here, queries, wanted)
        call.record_returned(SOURCE, [it.memory.key for it in sought.hits])
        results = [search_hit_out(it, with_facts=ask.include_metadata) for it in sought.hits]
        refined = [*queries] if queries != [ask.query] else []
        return MemorySearchOut(
            success=True,
            query=ask.query,
            results=results,
            standing=[search_hit_out(it, with_facts=False) for it in sought.standing],
            standing_left_out=sought.standing_left_out,
            metadata=_search_stats(sought, refined),
            timestamp=format_now(),
        )

    async def search_passages(self, call: Call, ask: MemoryPassageSearch) -> ToolResult:
        """Search memories: facts, decisions, code patterns; semantic and lexical.
        Search before you work on something, to find what was learnt about it."""
        here = resolve_scope(call, self.settings)
        require_enabled("cipher_memory_search", here.settings)
        wanted = SearchWish(
            MemoryKind.KNOWLEDGE,
            ask.top_k,
            ask.similarity_threshold,
            any_project=ask.all_projects,
            as_of=ask.as_of,
            with_superseded="superseded" in ask.include,
        )
        sought = await self.retrieve(call, here, [ask.query], wanted)
        notes = SearchNotes(degraded=sought.degraded, standing=list_instructions(sought))
        passages = [_to_passage(it) for it in sought.hits]
        left_out = 0
        if ask.max_tokens is not None:
            left_out = len(passages) - count_fitting(passages, notes, ask.max_tokens)
        shown = passages[: len(passages) - left_out]
        call.record_returned(SOURCE, [it.memory.key for it in sought.hits[: len(shown)]])
        return fit_answer(shown, notes, ask.max_tokens, left_out)

    async def retrieve(
        self, call: Call, here: MemoryScope, queries: Sequence[str], wanted: SearchWish
    ) -> MemorySearchResult:
        """The best memories of a kind over all queries, each once."""
        started = time.perf_counter()
        areas = here.search_ranges(wanted.kind, any_project=wanted.any_project)
        best: dict[UUID, RankedMemory] = {}
        is_partial = False
        corpus = self.retriever.corpus
        async with embedding(corpus.embedder, queries) as pending:
            async with corpus.store.reading(call.caller) as tx:
                for query in queries:
                    request = MemoryQuery(
                        query,
                        areas,
                        wanted.limit,
                        wanted.as_of,
                        wanted.with_superseded,
                        include_unlike=wanted.threshold == 0,
                    )
                    sought = await self.retriever.find(tx, call.caller, request, pending)
                    is_partial |= sought.is_partial
                    for it in sought.memories:
                        id_ = it.memory.id
                        if id_ not in best or it.similarity > best[id_].similarity:
                            best[id_] = it
                standing = await self._find_standing(tx, here, (queries[0], areas), wanted, pending)
            meaning = await pending
        found = [
            it
            for it in best.values()
            if it.similarity >= wanted.threshold and here.admits(it.memory)
        ]
        if len(queries) > 1:
            found.sort(key=lambda it: (-it.similarity, it.memory.id))
        done = time.perf_counter()
        return MemorySearchResult(
            with_standing(found[: wanted.limit], standing, wanted.limit),
            meaning,
            _elapsed_ms(started, done),
            meaning.took_ms,
            choose_standing(standing),
            len(standing[MAX_STANDING_SHOWN:]),
            is_partial,
        )

    async def _find_standing(
        self,
        tx: Transaction,
        here: MemoryScope,
        asked: tuple[str, tuple[KeyRange, ...]],
        wanted: SearchWish,
        meaning: PendingEmbeddings,
    ) -> list[RankedMemory]:
        if wanted.kind is MemoryKind.REASONING or wanted.as_of is not None:
            return []
        question = MemoryQuery(*asked, wanted.limit)
        found = await self.retriever.find_standing(tx, question, meaning)
        return [it for it in found if here.admits(it.memory)]


def list_instructions(sought: MemorySearchResult) -> tuple[str, ...]:
    """The standing instructions that are not among the hits, each on one line."""
    shown = {it.memory.id for it in sought.hits}
    return tuple(
        truncate_preview(it.memory.text, MAX_INSTRUCTION_CHARS)
        for it in sought.standing
        if it.memory.id not in shown and standing_kind(it) is Standing.INSTRUCTION
    )


def choose_standing(standing: Sequence[RankedMemory]) -> list[RankedMemory]:
    """Those to show, in their order. Instructions hold whatever is asked: preferences leave them
    the greater part."""
    liked = [it for it in standing if standing_kind(it) is Standing.PREFERENCE]
    rules = [it for it in standing if standing_kind(it) is not Standing.PREFERENCE]
    room = max(MAX_PREFERENCES_SHOWN, MAX_STANDING_SHOWN - len(rules))
    shown = liked[:room]
    shown += rules[: MAX_STANDING_SHOWN - len(shown)]
    return [it for it in standing if it in shown]


def standing_kind(it: RankedMemory) -> Standing:
    """An import may have another word for it."""
    is_liked = it.memory.text_fact("standing") == Standing.PREFERENCE
    return Standing.PREFERENCE if is_liked else Standing.INSTRUCTION


def with_standing(
    found: Sequence[RankedMemory], standing: Sequence[RankedMemory], limit: int
) -> list[RankedMemory]:
    """The hits, the last of which give way to the instruction and the preference that fit best, if
    they are not among them: at most one hit in four, and the instruction first."""
    room = limit // STANDING_SHARE
    best: dict[Standing, RankedMemory] = {}
    for it in standing:
        kind = standing_kind(it)
        if it.similarity >= MIN_STANDING_SIMILARITY[kind]:
            best.setdefault(kind, it)
    fit = {
        best[it].memory.id: best[it] for it in [kind for kind in Standing if kind in best][:room]
    }
    known = {it.memory.id for it in found[:limit]}
    more = [it for id_, it in fit.items() if id_ not in known]
    kept = [*found[:limit]]
    # What gives way is the last that is none of them.
    for place in range(len(kept) - 1, -1, -1):
        if len(kept) + len(more) <= limit:
            break
        if kept[place].memory.id not in fit:
            del kept[place]
    least = kept[-1].similarity if kept else 1.0
    return [*kept, *(replace(it, similarity=min(least, it.similarity)) for it in more)]


def search_tools(recall: MemorySearchTool) -> tuple[AnyTool, ...]:
    return (
        Tool(
            FEATURE,
            "cipher_memory_search",
            Scope.SEARCH,
            MemorySearch,
            MemorySearchOut,
            recall.memory_search,
            title="Search memories",
            lean=Tool(
                FEATURE,
                "cipher_memory_search",
                Scope.SEARCH,
                MemoryPassageSearch,
                PassagesOut,
                recall.search_passages,
            ),
        ),
    )


def _to_passage(it: RankedMemory) -> Passage:
    memory, text = it.memory, it.memory.text
    whole = Span(0, len(text))
    tags = ", ".join(list_texts(memory.facts.get("tags")))
    return Passage(
        file_uri(SOURCE, memory.key),
        first_words(text),
        ", ".join(part for part in (tags, f"{memory.changed_at:%Y-%m-%d}") if part),
        Provenance.MEMORY,
        (Excerpt(0, text, core=whole, focus=Span(0, 0)),),
        {"id": str(memory.id), "rank": round(it.similarity, 4)},
    )


def search_hit_out(it: RankedMemory, *, with_facts: bool) -> MemorySearchHit:
    """A memory as a hit. Without facts, only its identifying fields."""
    memory = it.memory
    fields: dict[str, Json] = {
        "id": str(memory.id),
        "text": memory.text,
        "tags": [*list_texts(memory.facts.get("tags"))],
        "timestamp": format_time(memory.said_at),
        "similarity": it.similarity,
        "said_at": format_time(memory.said_at),
        "said_by": named_speaker(memory),
        "valid_from": format_time(memory.valid_from),
        "valid_to": format_time(memory.valid_to) if memory.valid_to else None,
        "times_said": memory.times,
        "last_said_at": format_time(memory.last_said_at),
        "superseded_by": str(memory.superseded_by) if memory.superseded_by else None,
    }
    facts = {
        name: fact for name, fact in memory.facts.items() if name in SHOWN_FACTS and with_facts
    }
    return MemorySearchHit.model_validate({**facts, **fields})


SHOWN_FACTS = frozenset(
    (
        "confidence",
        "reasoning",
        "event",
        "domain",
        "qualitySource",
        "sourceSessionId",
        "code_pattern",
        "old_memory",
        "supersedes",
        "revises",
        "projectId",
        "userId",
        "workspaceMode",
    )
)


def _search_stats(sought: MemorySearchResult, refined: list[str]) -> MemorySearchStats:
    low, high, average = similarity_range(sought.hits)
    return MemorySearchStats(
        totalResults=len(sought.hits),
        searchTime=sought.search_ms,
        embeddingTime=sought.embedding_ms,
        maxSimilarity=high,
        minSimilarity=low,
        averageSimilarity=average,
        knowledgeResults=len(sought.hits),
        usedFallback=bool(sought.degraded),
        fallbackReason=sought.fallback_reason,
        refinedQueries=refined,
    )


def similarity_range(found: Sequence[RankedMemory]) -> tuple[float, float, float]:
    """Minimum, maximum and mean; zeros without hits."""
    scores = [it.similarity for it in found] or [0.0]
    return min(scores), max(scores), round(sum(scores) / len(scores), 6)


def _elapsed_ms(start: float, end: float) -> float:
    return round((end - start) * 1000, 3)
