"""Memories of a team: what one member notes, the others find. Always shared, in their own place."""

from collections.abc import Mapping
from dataclasses import dataclass

from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Tool
from pecia.rooms.memory.finding import Alike
from pecia.rooms.memory.judging import Rules
from pecia.rooms.memory.learn import Learner, Learnt, Wanted, sorted_out
from pecia.rooms.memory.learning import summary_of
from pecia.rooms.memory.learning_shapes import SkippedOut
from pecia.rooms.memory.model import Fact, Kind
from pecia.rooms.memory.place import SOURCE
from pecia.rooms.memory.progress import found_in, merged
from pecia.rooms.memory.recall import ROOM, Recall, similarities
from pecia.rooms.memory.settings import MemorySettings
from pecia.rooms.memory.shown import iso, now, preview, texts_in
from pecia.rooms.memory.standing import Labels, standing
from pecia.rooms.memory.tags import tags_of, with_tags
from pecia.rooms.memory.workspace_shapes import (
    Filters,
    Noted,
    NotedOut,
    TeamExtraction,
    TeamFacts,
    TeamMemory,
    TeamOut,
    WorkspaceSearch,
    WorkspaceStore,
)

MOST_SIMILAR = 5
# Hits that a filter may leave out are looked for beyond those that are asked for.
WIDER = 4


@dataclass(frozen=True, slots=True)
class Workspace:
    """The handlers."""

    recall: Recall
    learner: Learner
    settings: MemorySettings

    async def workspace_search(self, call: Call, ask: WorkspaceSearch) -> TeamOut:
        """Search what the team noted: who works on what, how far it is, bugs, decisions."""
        here = standing(call, self.settings)
        wants = ask.enable_query_refinement or here.settings.refine_queries
        queries = await self.recall.refine(call, ask.query) if wants else [ask.query]
        least = ask.similarity_threshold
        threshold = here.settings.workspace_threshold if least is None else least
        filters = ask.filters.model_dump(exclude_none=True)
        most = min(ask.top_k * WIDER, 200) if filters else ask.top_k
        sought = await self.recall.sought(
            call, here, queries, (Kind.WORKSPACE, most, threshold), any_project=True
        )
        found = [it for it in sought.found if passes(it.memory.facts, ask.filters)][: ask.top_k]
        call.returned(SOURCE, [it.memory.key for it in found])
        low, high, average = similarities(found)
        facts = TeamFacts(
            totalResults=len(found),
            searchTime=sought.search_ms,
            embeddingTime=sought.embedding_ms,
            maxSimilarity=high,
            minSimilarity=low,
            averageSimilarity=average,
            workspaceResults=len(found),
            usedFallback=bool(sought.meaning.missing),
            fallbackReason=sought.meaning.missing or None,
            filters=filters,
        )
        results = [_team_memory(it, with_facts=ask.include_metadata) for it in found]
        return TeamOut(
            success=True, query=ask.query, results=results, metadata=facts, timestamp=now()
        )

    async def workspace_store(self, call: Call, ask: WorkspaceStore) -> NotedOut:
        """Note for the team what happened: progress, bugs, decisions. Every member can find it.
        What the words tell of who, how far and where is found in them, unless you say it."""
        here = standing(call, self.settings, Labels(ask.context.userId, ask.context.projectId))
        given = [ask.interaction] if isinstance(ask.interaction, str) else ask.interaction
        kept, skipped = sorted_out(given, force=False)
        said = ask.workspaceInfo.model_dump(mode="json", exclude_none=True)
        facts = [Fact(text, _facts(text, ask), said) for text in kept]
        options = ask.options
        rules = Rules(options.similarityThreshold, options.confidenceThreshold, False, False)
        wanted = Wanted(Kind.WORKSPACE, rules, MOST_SIMILAR)
        learnt = await self.learner.learn(call, here, facts, wanted) if facts else []
        return NotedOut(
            success=True,
            extraction=TeamExtraction(
                extracted=len(learnt),
                skipped=len(skipped),
                content=[preview(it.fact.text, 100) for it in learnt],
            ),
            workspace=[_noted(it) for it in learnt],
            summary=[summary_of(it) for it in learnt],
            skippedReasons=[
                SkippedOut(preview=preview(it.text, 100), reason=it.reason) for it in skipped
            ],
            timestamp=now(),
        )


def workspace_tools(workspace: Workspace) -> tuple[AnyTool, ...]:
    return (
        Tool(
            ROOM,
            "cipher_workspace_search",
            Scope.SEARCH,
            WorkspaceSearch,
            TeamOut,
            workspace.workspace_search,
        ),
        Tool(
            ROOM,
            "cipher_workspace_store",
            Scope.WRITE,
            WorkspaceStore,
            NotedOut,
            workspace.workspace_store,
            read_only=False,
        ),
    )


def team_facts(text: str) -> dict[str, Json]:
    """What a text tells of who works on what, how far it is and where."""
    return {"tags": [*with_tags(tags_of(text), "workspace")], **merged(found_in(text), {})}


INFO = ("teamMember", "currentProgress", "bugsEncountered", "workContext", "domain")


def passes(facts: Mapping[str, Json], filters: Filters) -> bool:
    """Whether what is known of a memory is what is asked for. What is not known does not pass."""
    progress = facts.get("currentProgress")
    work = facts.get("workContext")
    status = progress.get("status") if isinstance(progress, dict) else None
    project = work.get("project") if isinstance(work, dict) else None
    return (
        _is(facts.get("domain"), filters.domain)
        and _is(status, filters.status)
        and _holds(facts.get("teamMember"), filters.team_member)
        and _holds(project or facts.get("projectId"), filters.project)
    )


def _is(known: Json, wanted: str | None) -> bool:
    return wanted is None or known == wanted


def _holds(known: Json, wanted: str | None) -> bool:
    return wanted is None or (isinstance(known, str) and wanted.casefold() in known.casefold())


def _facts(text: str, ask: WorkspaceStore) -> dict[str, Json]:
    given = ask.workspaceInfo.model_dump(mode="json", exclude_none=True)
    found = found_in(text) if ask.options.autoExtractWorkspaceInfo else {}
    facts: dict[str, Json] = {"tags": [*with_tags(tags_of(text), "workspace")]}
    if ask.context.sessionId is not None:
        facts["sourceSessionId"] = ask.context.sessionId
    return {**facts, **merged(found, given)}


def _team_memory(it: Alike, *, with_facts: bool) -> TeamMemory:
    memory = it.memory
    facts = {name: fact for name, fact in memory.facts.items() if name != "tags" and with_facts}
    return TeamMemory(
        id=str(memory.id),
        text=memory.text,
        tags=texts_in(memory.facts.get("tags")),
        timestamp=iso(memory.changed_at),
        similarity=it.similarity,
        metadata=facts,
    )


def _noted(it: Learnt) -> Noted:
    return Noted(
        id=it.id,
        text=it.fact.text,
        event=it.decision.event,
        tags=texts_in(it.facts.get("tags")),
        confidence=it.decision.confidence,
        reasoning=it.decision.reason,
        workspaceInfo={name: it.facts[name] for name in INFO if name in it.facts},
    )
