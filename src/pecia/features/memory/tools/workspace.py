"""Team memories: what one member stores, the others find. Always shared, in their own folder."""

from collections.abc import Mapping
from dataclasses import dataclass

from pecia.features.memory.core.format import format_now, format_time, list_texts, truncate_preview
from pecia.features.memory.core.keys import SOURCE
from pecia.features.memory.core.progress import extract_progress, merge_progress
from pecia.features.memory.core.search.rank import RankedMemory
from pecia.features.memory.core.tags import extract_tags, merge_tags
from pecia.features.memory.judge import DecisionRules
from pecia.features.memory.learn import Learner, LearnOutcome, LearnPolicy, filter_texts
from pecia.features.memory.model import MemoryFact, MemoryKind
from pecia.features.memory.scope import ScopeLabels, resolve_scope
from pecia.features.memory.settings import MemorySettings
from pecia.features.memory.tools.extraction import summarize_outcome
from pecia.features.memory.tools.extraction_schemas import SkippedOut
from pecia.features.memory.tools.search import (
    FEATURE,
    MemorySearchTool,
    SearchWish,
    similarity_range,
)
from pecia.features.memory.tools.workspace_schemas import (
    TeamExtraction,
    TeamMemory,
    TeamNote,
    TeamNoteOut,
    TeamSearchOut,
    TeamSearchStats,
    WorkspaceFilters,
    WorkspaceSearch,
    WorkspaceStore,
)
from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Tool

# Overfetch: a filter may drop some hits.
OVERFETCH_FACTOR = 4


@dataclass(frozen=True, slots=True)
class WorkspaceTools:
    """The handlers."""

    recall: MemorySearchTool
    learner: Learner
    settings: MemorySettings

    async def workspace_search(self, call: Call, ask: WorkspaceSearch) -> TeamSearchOut:
        """Search team memories: who works on what, progress, bugs, decisions."""
        here = resolve_scope(call, self.settings)
        wants = ask.enable_query_refinement or here.settings.refine_queries
        queries = await self.recall.refine(call, ask.query) if wants else [ask.query]
        least = ask.similarity_threshold
        threshold = here.settings.workspace_threshold if least is None else least
        filters = ask.filters.model_dump(exclude_none=True)
        limit = min(ask.top_k * OVERFETCH_FACTOR, 200) if filters else ask.top_k
        sought = await self.recall.retrieve(
            call,
            here,
            queries,
            SearchWish(MemoryKind.WORKSPACE, limit, threshold, any_project=True),
        )
        found = [it for it in sought.hits if matches_filters(it.memory.facts, ask.filters)][
            : ask.top_k
        ]
        call.record_returned(SOURCE, [it.memory.key for it in found])
        low, high, average = similarity_range(found)
        facts = TeamSearchStats(
            totalResults=len(found),
            searchTime=sought.search_ms,
            embeddingTime=sought.embedding_ms,
            maxSimilarity=high,
            minSimilarity=low,
            averageSimilarity=average,
            workspaceResults=len(found),
            usedFallback=bool(sought.degraded),
            fallbackReason=sought.fallback_reason,
            filters=filters,
        )
        results = [_team_memory(it, with_facts=ask.include_metadata) for it in found]
        return TeamSearchOut(
            success=True, query=ask.query, results=results, metadata=facts, timestamp=format_now()
        )

    async def workspace_store(self, call: Call, ask: WorkspaceStore) -> TeamNoteOut:
        """Store a team memory: progress, bugs, decisions. Every member can find it. Member,
        progress and domain are extracted from the text, unless you give them."""
        here = resolve_scope(
            call, self.settings, ScopeLabels(ask.context.userId, ask.context.projectId)
        )
        texts = [ask.interaction] if isinstance(ask.interaction, str) else ask.interaction
        kept, skipped = filter_texts(texts)
        given = ask.workspaceInfo.model_dump(mode="json", exclude_none=True)
        facts = [MemoryFact(text, _facts(text, ask), given) for text in kept]
        options = ask.options
        rules = DecisionRules(
            options.similarityThreshold, options.confidenceThreshold, False, False
        )
        wanted = LearnPolicy(MemoryKind.WORKSPACE, rules)
        learnt = await self.learner.learn(call, here, facts, wanted) if facts else []
        return TeamNoteOut(
            success=True,
            extraction=TeamExtraction(
                extracted=len(learnt),
                skipped=len(skipped),
                content=[truncate_preview(it.fact.text, 100) for it in learnt],
            ),
            workspace=[_note_out(it) for it in learnt],
            summary=[summarize_outcome(it) for it in learnt],
            skippedReasons=[
                SkippedOut(preview=truncate_preview(it.text, 100), reason=it.reason)
                for it in skipped
            ],
            timestamp=format_now(),
        )


def workspace_tools(workspace: WorkspaceTools) -> tuple[AnyTool, ...]:
    return (
        Tool(
            FEATURE,
            "cipher_workspace_search",
            Scope.SEARCH,
            WorkspaceSearch,
            TeamSearchOut,
            workspace.workspace_search,
        ),
        Tool(
            FEATURE,
            "cipher_workspace_store",
            Scope.WRITE,
            WorkspaceStore,
            TeamNoteOut,
            workspace.workspace_store,
            read_only=False,
        ),
    )


def extract_team_facts(text: str) -> dict[str, Json]:
    """Facts about member, progress and domain, extracted from a text."""
    return {
        "tags": [*merge_tags(extract_tags(text), "workspace")],
        **merge_progress(extract_progress(text), {}),
    }


INFO_FIELDS = ("teamMember", "currentProgress", "bugsEncountered", "workContext", "domain")


def matches_filters(facts: Mapping[str, Json], filters: WorkspaceFilters) -> bool:
    """Whether a memory's facts match the filters. An absent fact does not match."""
    progress = facts.get("currentProgress")
    work = facts.get("workContext")
    status = progress.get("status") if isinstance(progress, dict) else None
    project = work.get("project") if isinstance(work, dict) else None
    return (
        _equals_filter(facts.get("domain"), filters.domain)
        and _equals_filter(status, filters.status)
        and _contains_filter(facts.get("teamMember"), filters.team_member)
        and _contains_filter(project or facts.get("projectId"), filters.project)
    )


def _equals_filter(known: Json, wanted: str | None) -> bool:
    return wanted is None or known == wanted


def _contains_filter(known: Json, wanted: str | None) -> bool:
    return wanted is None or (isinstance(known, str) and wanted.casefold() in known.casefold())


def _facts(text: str, ask: WorkspaceStore) -> dict[str, Json]:
    overrides = ask.workspaceInfo.model_dump(mode="json", exclude_none=True)
    found = extract_progress(text) if ask.options.autoExtractWorkspaceInfo else {}
    facts: dict[str, Json] = {"tags": [*merge_tags(extract_tags(text), "workspace")]}
    if ask.context.sessionId is not None:
        facts["sourceSessionId"] = ask.context.sessionId
    return {**facts, **merge_progress(found, overrides)}


def _team_memory(it: RankedMemory, *, with_facts: bool) -> TeamMemory:
    memory = it.memory
    facts = {name: fact for name, fact in memory.facts.items() if name != "tags" and with_facts}
    return TeamMemory(
        id=str(memory.id),
        text=memory.text,
        tags=list_texts(memory.facts.get("tags")),
        timestamp=format_time(memory.said_at),
        similarity=it.similarity,
        metadata=facts,
    )


def _note_out(it: LearnOutcome) -> TeamNote:
    return TeamNote(
        id=it.id,
        text=it.fact.text,
        event=it.decision.event,
        tags=list_texts(it.facts.get("tags")),
        confidence=it.decision.confidence,
        reasoning=it.decision.reason,
        workspaceInfo={name: it.facts[name] for name in INFO_FIELDS if name in it.facts},
    )
