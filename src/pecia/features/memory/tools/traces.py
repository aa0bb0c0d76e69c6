"""Reasoning traces: extract, evaluate, store, search. Stored traces are immutable."""

import secrets
import time
from dataclasses import dataclass
from typing import Any

from pecia.features.memory.core.evaluate import (
    TraceChecks,
    TraceEvaluation,
    evaluate_trace,
    is_worth_storing,
)
from pecia.features.memory.core.format import format_now, format_time
from pecia.features.memory.core.keys import SOURCE
from pecia.features.memory.core.screen.secret_policy import screen_facts, screen_text
from pecia.features.memory.core.search.rank import RankedMemory
from pecia.features.memory.core.tags import detect_domain
from pecia.features.memory.core.trace import complexity_of, extract_steps, task_type_of
from pecia.features.memory.embeddings import embed_texts
from pecia.features.memory.model import VERSION, MemoryDraft, MemoryKind, new_id
from pecia.features.memory.scope import resolve_scope
from pecia.features.memory.settings import MemorySettings
from pecia.features.memory.store import (
    insert_memories,
    lock_and_load,
    to_canonical_text,
)
from pecia.features.memory.tools.arguments import require_bounded
from pecia.features.memory.tools.search import FEATURE, MemorySearchTool, SearchWish
from pecia.features.memory.tools.trace_schemas import (
    EvaluateInput,
    EvaluationIn,
    ExecutionInfo,
    ExtractSteps,
    PatternContext,
    SearchPatterns,
    StoreTraceInput,
    TraceIn,
    TraceOut,
    format_issues,
)
from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Tool

# Any similarity at all.
ANY_SIMILARITY = 0.000001


@dataclass(frozen=True, slots=True)
class TraceTools:
    """The handlers."""

    recall: MemorySearchTool
    settings: MemorySettings

    async def extract_steps(self, call: Call, ask: ExtractSteps) -> TraceOut:
        """Extract reasoning steps from a text: lines that begin with Thought:, Action:,
        Observation:, Result: or Conclusion:, else lines that read like steps."""
        started = time.perf_counter()
        text = "\n".join(it for it in (ask.userInput, ask.reasoningContent) if it)
        options = ask.options
        found = extract_steps(
            text, explicit=options.extractExplicit, implicit=options.extractImplicit
        )
        trace: dict[str, Any] = {
            "id": f"trace_{time.time_ns() // 1_000_000}_{secrets.token_hex(4)}",
            "steps": [{"type": it.type, "content": it.content} for it in found.steps],
            "metadata": {
                "extractedAt": format_now(),
                "conversationLength": len(text),
                "stepCount": len(found.steps),
                "hasExplicitMarkup": found.explicit,
            },
        }
        if options.includeMetadata:
            trace["metadata"]["taskContext"] = _task_context(text)
            trace["metadata"]["extractionOptions"] = options.model_dump()
        return _timed_result(started, {"trace": trace})

    async def evaluate_reasoning(self, call: Call, ask: EvaluateInput) -> TraceOut:
        """Evaluate a reasoning trace: loops, repetition, empty steps; and whether it is worth
        storing."""
        started = time.perf_counter()
        checks = TraceChecks(
            ask.options.checkEfficiency, ask.options.detectLoops, ask.options.generateSuggestions
        )
        return _timed_result(
            started, {"evaluation": _evaluation_out(evaluate_trace(ask.trace.steps_model, checks))}
        )

    async def store_reasoning(self, call: Call, ask: StoreTraceInput) -> TraceOut:
        """Store a reasoning trace with its evaluation, to be found for similar tasks. One that is
        not worth storing is not stored, and the answer says so."""
        started = time.perf_counter()
        trace, judged = ask.trace, ask.evaluation
        refused = _rejection_reason(trace, judged)
        id_ = None if refused else await self._store_trace(call, trace, judged)
        stored = id_ is not None
        reason = refused or (None if stored else "already_stored")
        context = trace.metadata.taskContext
        result: dict[str, Any] = {
            "message": _MESSAGES[reason],
            "stored": stored,
            "traceId": trace.id,
            "vectorId": id_,
            "taskContext": context.model_dump(exclude_none=True) if context else None,
            "metrics": {
                "stepCount": len(trace.steps),
                "qualityScore": judged.qualityScore,
                "issueCount": len(judged.issues),
            },
        }
        return _timed_result(started, {**result, **({"reason": reason} if reason else {})})

    async def search_patterns(self, call: Call, ask: SearchPatterns) -> TraceOut:
        """Find reasoning traces of similar tasks, with their quality."""
        started = time.perf_counter()
        here = resolve_scope(call, self.settings)
        options = ask.options
        wants = options.enable_query_refinement or here.settings.refine_queries
        queries = await self.recall.refine(call, ask.query) if wants else [ask.query]
        # Overfetch: the filters below drop some.
        sought = await self.recall.retrieve(
            call,
            here,
            queries,
            SearchWish(MemoryKind.REASONING, min(options.maxResults * 4, 200), ANY_SIMILARITY),
        )
        fitting = [it for it in sought.hits if _matches_query(it, ask)][: options.maxResults]
        call.record_returned(SOURCE, [it.memory.key for it in fitting])
        facts = {
            "searchTime": sought.search_ms,
            "totalResults": len(fitting),
            "usedMock": False,
            "fallback": bool(sought.degraded),
            "queryRefinementApplied": [*queries] != [ask.query],
            "originalQuery": ask.query,
            "refinedQueries": [*queries] if [*queries] != [ask.query] else [],
        }
        patterns = [_pattern_out(it, options.includeEvaluations) for it in fitting]
        return _timed_result(started, {"patterns": patterns, "metadata": facts})

    async def _store_trace(self, call: Call, trace: TraceIn, judged: EvaluationIn) -> str | None:
        """The id of the memory; None where the same trace is already stored."""
        here = resolve_scope(call, self.settings)
        policy = self.settings.screen_policy
        text = to_canonical_text(_embedded_text(trace, judged)).strip()
        text = screen_text(text, policy, field="trace.steps")
        meaning = await embed_texts(self.recall.retriever.corpus.embedder, [text])
        id_, place = new_id(), here.folder(MemoryKind.REASONING)
        facts = screen_facts(
            {**_facts(trace, judged), **here.origin_facts(MemoryKind.REASONING)}, policy
        )
        areas = here.search_ranges(MemoryKind.REASONING)
        async with self.recall.retriever.corpus.store.writing(call.caller, call.trace) as tx:
            _, known = await lock_and_load(tx, (), [text])
            if any(area.contains(it.key) for it in known for area in areas):
                return None
            await insert_memories(tx, {id_: (place, MemoryDraft(text, facts))}, meaning)
        call.record_returned(SOURCE, [place.key(id_)])
        return str(id_)


def trace_tools(reasoning: TraceTools) -> tuple[AnyTool, ...]:
    it = reasoning
    return (
        Tool(
            FEATURE,
            "cipher_extract_reasoning_steps",
            Scope.READ,
            ExtractSteps,
            TraceOut,
            it.extract_steps,
        ),
        Tool(
            FEATURE,
            "cipher_evaluate_reasoning",
            Scope.READ,
            EvaluateInput,
            TraceOut,
            it.evaluate_reasoning,
        ),
        Tool(
            FEATURE,
            "cipher_store_reasoning_memory",
            Scope.WRITE,
            StoreTraceInput,
            TraceOut,
            it.store_reasoning,
            read_only=False,
        ),
        Tool(
            FEATURE,
            "cipher_search_reasoning_patterns",
            Scope.SEARCH,
            SearchPatterns,
            TraceOut,
            it.search_patterns,
        ),
    )


_MESSAGES = {
    None: "The trace was stored.",
    "quality_threshold": "Not stored: the evaluation says it is not worth storing.",
    "empty_trace": "Not stored: the trace has no steps.",
    "already_stored": "Not stored: the same trace is already stored.",
}


def _rejection_reason(trace: TraceIn, judged: EvaluationIn) -> str | None:
    if not any(it.content.strip() for it in trace.steps):
        return "empty_trace"
    worth = judged.shouldStore
    if worth is None:
        worth = is_worth_storing(judged.qualityScore, judged.issues_model)
    return None if worth else "quality_threshold"


def _embedded_text(trace: TraceIn, judged: EvaluationIn) -> str:
    steps = "\n".join(f"{it.type}: {it.content}" for it in trace.steps)
    return f"{steps}\nQuality: {judged.qualityScore:.2f}"


def _facts(trace: TraceIn, judged: EvaluationIn) -> dict[str, Json]:
    context = trace.metadata.taskContext
    types = list(dict.fromkeys(it.type for it in trace.steps))
    facts: dict[str, Any] = {
        "tags": ["reasoning"],
        "traceId": trace.id,
        "evaluation": judged.model_dump(mode="json", exclude_none=True),
        "context": context.model_dump(mode="json", exclude_none=True) if context else {},
        "stepCount": len(trace.steps),
        "stepTypes": types,
        "issueCount": len(judged.issues),
    }
    if trace.metadata.sessionId:
        facts["sourceSessionId"] = trace.metadata.sessionId
    # The steps themselves are the text, and may be long.
    steps: list[Json] = [
        it.model_dump(mode="json", include={"type", "content"}) for it in trace.steps
    ]
    return {**require_bounded("trace", facts), "reasoningSteps": steps}


def _matches_query(it: RankedMemory, ask: SearchPatterns) -> bool:
    facts = it.memory.facts
    judged = facts.get("evaluation")
    score = judged.get("qualityScore") if isinstance(judged, dict) else None
    good = isinstance(score, int | float) and score >= ask.options.minQualityScore
    return good and _is_compatible_context(facts.get("context"), ask.context)


def _is_compatible_context(kept: Json, wanted: PatternContext) -> bool:
    """Whether no stored value contradicts the filter; absent values match."""
    stored = kept if isinstance(kept, dict) else {}
    filters = wanted.model_dump(exclude_none=True)
    return all(stored.get(name) in (None, value) for name, value in filters.items())


def _pattern_out(it: RankedMemory, with_evaluation: bool) -> dict[str, Any]:
    memory = it.memory
    facts = {
        name: fact for name, fact in memory.facts.items() if with_evaluation or name != "evaluation"
    }
    return {
        **facts,
        "id": str(memory.id),
        "text": memory.text,
        "similarity": it.similarity,
        "timestamp": format_time(memory.said_at),
        "version": VERSION,
        "source": "reasoning",
        "memoryType": "reasoning",
    }


def _evaluation_out(it: TraceEvaluation) -> dict[str, Any]:
    metrics = it.metrics
    return {
        "qualityScore": it.quality_score,
        "issues": format_issues(it.issues),
        "suggestions": [*it.suggestions],
        "shouldStore": it.should_store,
        "metrics": {
            "efficiency": metrics.efficiency,
            "clarity": metrics.clarity,
            "completeness": metrics.completeness,
        },
    }


def _task_context(text: str) -> dict[str, Any]:
    first = next((it.strip() for it in text.splitlines() if it.strip()), "")
    found = {
        "goal": first[:200],
        "taskType": task_type_of(text),
        "domain": detect_domain(text),
        "complexity": complexity_of(text),
    }
    return {name: it for name, it in found.items() if it}


def _timed_result(started: float, result: dict[str, Any]) -> TraceOut:
    took = round((time.perf_counter() - started) * 1000, 3)
    return TraceOut(
        success=True,
        result=result,
        metadata=ExecutionInfo(timestamp=format_now(), executionTime=took),
    )
