"""`cipher_memory_search`: searches memories. Read-only."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pydantic import Field

from pecia.features.memory.core.format import format_now, format_time, list_texts
from pecia.features.memory.core.keys import SOURCE
from pecia.features.memory.core.toolset import require_enabled
from pecia.features.memory.embeddings import TextEmbeddings, embed_texts
from pecia.features.memory.model import VERSION, MemoryKind
from pecia.features.memory.retriever import MemoryHit, MemoryQuery, MemoryRetriever
from pecia.features.memory.scope import MemoryScope, resolve_scope
from pecia.features.memory.settings import MemorySettings
from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool

FEATURE = "memory"

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
    supersedes: str | None = Field(default=None, description="The memory that it corrects.")
    superseded_by: str | None = Field(default=None, description="The memory that corrects it.")
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
    metadata: MemorySearchStats
    timestamp: str


@dataclass(frozen=True, slots=True)
class MemorySearchResult:
    """Hits of a memory search, with timings."""

    hits: list[MemoryHit]
    embeddings: TextEmbeddings
    search_ms: float
    embedding_ms: float


@dataclass(frozen=True, slots=True)
class MemorySearchTool:
    """The handler, and the search that other memory tools use."""

    retriever: MemoryRetriever
    settings: MemorySettings
    refine: RefineQuery

    async def memory_search(self, call: Call, ask: MemorySearch) -> MemorySearchOut:
        """Search memories: facts, decisions, code patterns; semantic and lexical.
        Search before you work on something, to find what was learnt about it."""
        here = resolve_scope(call, self.settings)
        require_enabled("cipher_memory_search", here.settings)
        wants = ask.enable_query_refinement or here.settings.refine_queries
        queries = await self.refine(call, ask.query) if wants else [ask.query]
        sought = await self.retrieve(
            call,
            here,
            queries,
            (MemoryKind.KNOWLEDGE, ask.top_k, ask.similarity_threshold),
            ask.all_projects,
        )
        call.record_returned(SOURCE, [it.memory.key for it in sought.hits])
        results = [search_hit_out(it, with_facts=ask.include_metadata) for it in sought.hits]
        refined = [*queries] if queries != [ask.query] else []
        return MemorySearchOut(
            success=True,
            query=ask.query,
            results=results,
            metadata=_search_stats(sought, refined),
            timestamp=format_now(),
        )

    async def retrieve(
        self,
        call: Call,
        here: MemoryScope,
        queries: Sequence[str],
        wanted: tuple[MemoryKind, int, float],
        any_project: bool = False,
    ) -> MemorySearchResult:
        """The most similar memories of a kind over all queries, deduplicated."""
        kind, limit, threshold = wanted
        started = time.perf_counter()
        meaning = await embed_texts(self.retriever.corpus.embedder, queries)
        embedded = time.perf_counter()
        areas = here.search_ranges(kind, any_project=any_project)
        best: dict[str, MemoryHit] = {}
        async with self.retriever.corpus.store.reading(call.caller) as tx:
            for query in queries:
                request = MemoryQuery(query, areas, limit * 2, include_unlike=threshold == 0)
                for it in await self.retriever.find(tx, call.caller, request, meaning):
                    id_ = str(it.memory.id)
                    if id_ not in best or it.similarity > best[id_].similarity:
                        best[id_] = it
        found = [
            it for it in best.values() if it.similarity >= threshold and here.admits(it.memory)
        ]
        found.sort(key=lambda it: (-it.similarity, it.memory.id))
        done = time.perf_counter()
        return MemorySearchResult(
            found[:limit], meaning, _elapsed_ms(embedded, done), _elapsed_ms(started, embedded)
        )


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
        ),
    )


def search_hit_out(it: MemoryHit, *, with_facts: bool) -> MemorySearchHit:
    """A memory as a hit. Without facts, only its identifying fields."""
    memory = it.memory
    fields: dict[str, Json] = {
        "id": str(memory.id),
        "text": memory.text,
        "tags": [*list_texts(memory.facts.get("tags"))],
        "timestamp": format_time(memory.changed_at),
        "similarity": it.similarity,
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
        "superseded_by",
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
        usedFallback=bool(sought.embeddings.missing),
        fallbackReason=sought.embeddings.missing or None,
        refinedQueries=refined,
    )


def similarity_range(found: Sequence[MemoryHit]) -> tuple[float, float, float]:
    """Minimum, maximum and mean; zeros without hits."""
    scores = [it.similarity for it in found] or [0.0]
    return min(scores), max(scores), round(sum(scores) / len(scores), 6)


def _elapsed_ms(start: float, end: float) -> float:
    return round((end - start) * 1000, 3)
