"""`cipher_memory_search`: memories like a query. It changes nothing."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pydantic import Field

from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool
from pecia.rooms.memory.finding import Alike, Finder, Question
from pecia.rooms.memory.meaning import Meaning, meaning_of
from pecia.rooms.memory.model import VERSION, Kind
from pecia.rooms.memory.modes import require_on
from pecia.rooms.memory.place import SOURCE
from pecia.rooms.memory.settings import MemorySettings
from pecia.rooms.memory.shown import iso, now, texts_in
from pecia.rooms.memory.standing import Standing, standing

ROOM = "memory"

Refine: TypeAlias = Callable[[Call, str], Awaitable[Sequence[str]]]
"""Puts a query in several ways; gives the query alone where it cannot."""


class MemorySearch(Input):
    query: str = Field(min_length=1, max_length=1000, description="What you want to know.")
    top_k: int = Field(default=5, ge=1, le=50)
    similarity_threshold: float = Field(
        default=0.3, ge=0, le=1, description="0 leaves nothing out."
    )
    include_metadata: bool = True
    enable_query_refinement: bool = Field(
        default=False, description="Have a model put the query in several ways, if there is one."
    )
    all_projects: bool = Field(
        default=False, description="Look beyond the project of this session."
    )


class Recalled(Output):
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


class SearchFacts(Output):
    totalResults: int
    searchTime: float = Field(description="Milliseconds.")
    embeddingTime: float = Field(description="Milliseconds.")
    maxSimilarity: float
    minSimilarity: float
    averageSimilarity: float
    knowledgeResults: int
    reflectionResults: int = 0
    searchMode: str = "knowledge"
    usedFallback: bool = Field(description="By words alone, because no embedder answered.")
    fallbackReason: str | None = None
    refinedQueries: list[str] = Field(default_factory=list[str])


class SearchOut(Output):
    success: bool
    query: str
    results: list[Recalled]
    metadata: SearchFacts
    timestamp: str


@dataclass(frozen=True, slots=True)
class Sought:
    """What a search for memories gave, and what it cost."""

    found: list[Alike]
    meaning: Meaning
    search_ms: float
    embedding_ms: float


@dataclass(frozen=True, slots=True)
class Recall:
    """The handler, and how other tools of the room search."""

    finder: Finder
    settings: MemorySettings
    refine: Refine

    async def memory_search(self, call: Call, ask: MemorySearch) -> SearchOut:
        """Search what was remembered: facts, decisions, code patterns, by meaning and by words.
        Ask before you work on something, to know what was learnt about it before."""
        here = standing(call, self.settings)
        require_on("cipher_memory_search", here.settings)
        wants = ask.enable_query_refinement or here.settings.refine_queries
        queries = await self.refine(call, ask.query) if wants else [ask.query]
        sought = await self.sought(
            call,
            here,
            queries,
            (Kind.KNOWLEDGE, ask.top_k, ask.similarity_threshold),
            ask.all_projects,
        )
        call.returned(SOURCE, [it.memory.key for it in sought.found])
        results = [recalled(it, with_facts=ask.include_metadata) for it in sought.found]
        refined = [*queries] if queries != [ask.query] else []
        return SearchOut(
            success=True,
            query=ask.query,
            results=results,
            metadata=_facts(sought, refined),
            timestamp=now(),
        )

    async def sought(
        self,
        call: Call,
        here: Standing,
        queries: Sequence[str],
        wanted: tuple[Kind, int, float],
        any_project: bool = False,
    ) -> Sought:
        """The most alike of a kind, each once, however many ways there are to ask for it."""
        kind, most, threshold = wanted
        started = time.perf_counter()
        meaning = await meaning_of(self.finder.corpus.embedder, queries)
        embedded = time.perf_counter()
        areas = here.areas(kind, any_project=any_project)
        best: dict[str, Alike] = {}
        async with self.finder.corpus.store.reading(call.caller) as tx:
            for query in queries:
                asked = Question(query, areas, most * 2, everything=threshold == 0)
                for it in await self.finder.find(tx, call.caller, asked, meaning):
                    id_ = str(it.memory.id)
                    if id_ not in best or it.similarity > best[id_].similarity:
                        best[id_] = it
        found = [
            it for it in best.values() if it.similarity >= threshold and here.admits(it.memory)
        ]
        found.sort(key=lambda it: (-it.similarity, it.memory.id))
        done = time.perf_counter()
        return Sought(found[:most], meaning, _ms(embedded, done), _ms(started, embedded))


def recall_tools(recall: Recall) -> tuple[AnyTool, ...]:
    return (
        Tool(
            ROOM,
            "cipher_memory_search",
            Scope.SEARCH,
            MemorySearch,
            SearchOut,
            recall.memory_search,
            title="Search memories",
        ),
    )


def recalled(it: Alike, *, with_facts: bool) -> Recalled:
    """A memory as a result. Without facts, only what tells it apart."""
    memory = it.memory
    told: dict[str, Json] = {
        "id": str(memory.id),
        "text": memory.text,
        "tags": [*texts_in(memory.facts.get("tags"))],
        "timestamp": iso(memory.changed_at),
        "similarity": it.similarity,
    }
    facts = {name: fact for name, fact in memory.facts.items() if name in SHOWN and with_facts}
    return Recalled.model_validate({**facts, **told})


SHOWN = frozenset(
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


def _facts(sought: Sought, refined: list[str]) -> SearchFacts:
    low, high, average = similarities(sought.found)
    return SearchFacts(
        totalResults=len(sought.found),
        searchTime=sought.search_ms,
        embeddingTime=sought.embedding_ms,
        maxSimilarity=high,
        minSimilarity=low,
        averageSimilarity=average,
        knowledgeResults=len(sought.found),
        usedFallback=bool(sought.meaning.missing),
        fallbackReason=sought.meaning.missing or None,
        refinedQueries=refined,
    )


def similarities(found: Sequence[Alike]) -> tuple[float, float, float]:
    """The least, the greatest and the average; noughts where nothing was found."""
    scores = [it.similarity for it in found] or [0.0]
    return min(scores), max(scores), round(sum(scores) / len(scores), 6)


def _ms(start: float, end: float) -> float:
    return round((end - start) * 1000, 3)
