"""Traces of reasoning: found in a text, judged, kept, and found again. Kept ones never change."""

import secrets
import time
from dataclasses import dataclass
from typing import Any

from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Tool
from pecia.rooms.memory.arguments import bounded
from pecia.rooms.memory.evaluate import Checks, Evaluation, evaluate, worth_keeping
from pecia.rooms.memory.finding import Alike
from pecia.rooms.memory.keeping import keep, written
from pecia.rooms.memory.meaning import meaning_of
from pecia.rooms.memory.model import VERSION, Draft, Kind, new_id
from pecia.rooms.memory.place import SOURCE
from pecia.rooms.memory.reasoning_shapes import (
    Did,
    Evaluate,
    EvaluationIn,
    ExtractSteps,
    PatternContext,
    Reasoned,
    SearchPatterns,
    StoreTrace,
    TraceIn,
    issues_out,
)
from pecia.rooms.memory.recall import ROOM, Recall
from pecia.rooms.memory.restatement import restates
from pecia.rooms.memory.settings import MemorySettings
from pecia.rooms.memory.shown import iso, now
from pecia.rooms.memory.standing import standing
from pecia.rooms.memory.tags import domain_of
from pecia.rooms.memory.trace import complexity_of, find_steps, task_type_of

# Whatever is alike at all.
ANY = 0.000001


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The handlers."""

    recall: Recall
    settings: MemorySettings

    async def extract_steps(self, call: Call, ask: ExtractSteps) -> Reasoned:
        """Find the steps of reasoning in a text: lines that begin with Thought:, Action:,
        Observation:, Result: or Conclusion:, else lines that sound like them."""
        started = time.perf_counter()
        text = "\n".join(it for it in (ask.userInput, ask.reasoningContent) if it)
        options = ask.options
        found = find_steps(text, explicit=options.extractExplicit, implicit=options.extractImplicit)
        trace: dict[str, Any] = {
            "id": f"trace_{time.time_ns() // 1_000_000}_{secrets.token_hex(4)}",
            "steps": [{"type": it.type, "content": it.content} for it in found.steps],
            "metadata": {
                "extractedAt": now(),
                "conversationLength": len(text),
                "stepCount": len(found.steps),
                "hasExplicitMarkup": found.explicit,
            },
        }
        if options.includeMetadata:
            trace["metadata"]["taskContext"] = _task_context(text)
            trace["metadata"]["extractionOptions"] = options.model_dump()
        return _done(started, {"trace": trace})

    async def evaluate_reasoning(self, call: Call, ask: Evaluate) -> Reasoned:
        """Judge a trace of reasoning: loops, repetition, steps that say nothing; and whether it is
        worth keeping."""
        started = time.perf_counter()
        checks = Checks(
            ask.options.checkEfficiency, ask.options.detectLoops, ask.options.generateSuggestions
        )
        return _done(started, {"evaluation": _evaluation(evaluate(ask.trace.plain, checks))})

    async def store_reasoning(self, call: Call, ask: StoreTrace) -> Reasoned:
        """Keep a trace of reasoning with its evaluation, to be found when a like task comes up.
        One that is not worth keeping is not kept, and the answer says so."""
        started = time.perf_counter()
        trace, judged = ask.trace, ask.evaluation
        refused = _refusal(trace, judged)
        id_ = None if refused else await self._kept(call, trace, judged)
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
        return _done(started, {**result, **({"reason": reason} if reason else {})})

    async def search_patterns(self, call: Call, ask: SearchPatterns) -> Reasoned:
        """Find how like tasks were reasoned about before, with how good that reasoning was."""
        started = time.perf_counter()
        here = standing(call, self.settings)
        options = ask.options
        wants = options.enable_query_refinement or here.settings.refine_queries
        queries = await self.recall.refine(call, ask.query) if wants else [ask.query]
        # More than are asked for, because some fall to the filters below.
        sought = await self.recall.sought(
            call, here, queries, (Kind.REASONING, min(options.maxResults * 4, 200), ANY)
        )
        fitting = [it for it in sought.found if _fits(it, ask)][: options.maxResults]
        call.returned(SOURCE, [it.memory.key for it in fitting])
        facts = {
            "searchTime": sought.search_ms,
            "totalResults": len(fitting),
            "usedMock": False,
            "fallback": bool(sought.meaning.missing),
            "queryRefinementApplied": [*queries] != [ask.query],
            "originalQuery": ask.query,
            "refinedQueries": [*queries] if [*queries] != [ask.query] else [],
        }
        patterns = [_pattern(it, options.includeEvaluations) for it in fitting]
        return _done(started, {"patterns": patterns, "metadata": facts})

    async def _kept(self, call: Call, trace: TraceIn, judged: EvaluationIn) -> str | None:
        """The id of the memory; None where the very same is kept already."""
        here = standing(call, self.settings)
        text = written(_embedded(trace, judged)).strip()
        alike = await self.recall.sought(call, here, [text], (Kind.REASONING, 20, ANY))
        if any(restates(it.memory.text, text) for it in alike.found):
            return None
        meaning = await meaning_of(self.recall.finder.corpus.embedder, [text])
        id_, place = new_id(), here.place(Kind.REASONING)
        facts = {**_facts(trace, judged), **here.stamped(Kind.REASONING)}
        async with self.recall.finder.corpus.store.writing(call.caller, call.trace) as tx:
            await keep(tx, {id_: (place, Draft(text, facts))}, meaning)
        call.returned(SOURCE, [place.key(id_)])
        return str(id_)


def reasoning_tools(reasoning: Reasoning) -> tuple[AnyTool, ...]:
    it = reasoning
    return (
        Tool(
            ROOM,
            "cipher_extract_reasoning_steps",
            Scope.READ,
            ExtractSteps,
            Reasoned,
            it.extract_steps,
        ),
        Tool(
            ROOM,
            "cipher_evaluate_reasoning",
            Scope.READ,
            Evaluate,
            Reasoned,
            it.evaluate_reasoning,
        ),
        Tool(
            ROOM,
            "cipher_store_reasoning_memory",
            Scope.WRITE,
            StoreTrace,
            Reasoned,
            it.store_reasoning,
            read_only=False,
        ),
        Tool(
            ROOM,
            "cipher_search_reasoning_patterns",
            Scope.SEARCH,
            SearchPatterns,
            Reasoned,
            it.search_patterns,
        ),
    )


_MESSAGES = {
    None: "The trace is kept.",
    "quality_threshold": "Nothing was kept: the evaluation says that it is not worth keeping.",
    "empty_trace": "Nothing was kept: the trace has no steps.",
    "already_stored": "Nothing was kept: the very same trace is kept already.",
}


def _refusal(trace: TraceIn, judged: EvaluationIn) -> str | None:
    if not any(it.content.strip() for it in trace.steps):
        return "empty_trace"
    worth = judged.shouldStore
    if worth is None:
        worth = worth_keeping(judged.qualityScore, judged.plain)
    return None if worth else "quality_threshold"


def _embedded(trace: TraceIn, judged: EvaluationIn) -> str:
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
    return {**bounded("trace", facts), "reasoningSteps": steps}


def _fits(it: Alike, ask: SearchPatterns) -> bool:
    facts = it.memory.facts
    judged = facts.get("evaluation")
    score = judged.get("qualityScore") if isinstance(judged, dict) else None
    good = isinstance(score, int | float) and score >= ask.options.minQualityScore
    return good and _same_context(facts.get("context"), ask.context)


def _same_context(kept: Json, wanted: PatternContext) -> bool:
    """Whether it says nothing else than what is wanted; what it does not say is no hindrance."""
    said = kept if isinstance(kept, dict) else {}
    asked = wanted.model_dump(exclude_none=True)
    return all(said.get(name) in (None, value) for name, value in asked.items())


def _pattern(it: Alike, with_evaluation: bool) -> dict[str, Any]:
    memory = it.memory
    facts = {
        name: fact for name, fact in memory.facts.items() if with_evaluation or name != "evaluation"
    }
    return {
        **facts,
        "id": str(memory.id),
        "text": memory.text,
        "similarity": it.similarity,
        "timestamp": iso(memory.created_at),
        "version": VERSION,
        "source": "reasoning",
        "memoryType": "reasoning",
    }


def _evaluation(it: Evaluation) -> dict[str, Any]:
    metrics = it.metrics
    return {
        "qualityScore": it.quality_score,
        "issues": issues_out(it.issues),
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
        "domain": domain_of(text),
        "complexity": complexity_of(text),
    }
    return {name: it for name, it in found.items() if it}


def _done(started: float, result: dict[str, Any]) -> Reasoned:
    took = round((time.perf_counter() - started) * 1000, 3)
    return Reasoned(success=True, result=result, metadata=Did(timestamp=now(), executionTime=took))
