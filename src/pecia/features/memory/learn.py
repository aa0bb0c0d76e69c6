"""Turns texts into memories: compare, decide, write in one transaction, report each outcome."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from pecia.features.memory.core.decide import Decision, MemoryCandidate, has_new_facts
from pecia.features.memory.core.format import format_now
from pecia.features.memory.core.keys import SOURCE, is_own
from pecia.features.memory.core.restatement import restates
from pecia.features.memory.core.significance import is_echo
from pecia.features.memory.embeddings import TextEmbeddings, embed_texts
from pecia.features.memory.judge import DecisionRules, MemoryJudge, is_lossless
from pecia.features.memory.model import (
    RETIRED_FIELD,
    Memory,
    MemoryDraft,
    MemoryEvent,
    MemoryFact,
    MemoryKind,
    new_id,
)
from pecia.features.memory.retriever import MemoryQuery, MemoryRetriever
from pecia.features.memory.scope import MemoryScope
from pecia.features.memory.store import (
    annotate_memory,
    find_recent_duplicates,
    get_memories,
    insert_memories,
    lock_user_memories,
    to_canonical_text,
    update_memory,
)
from pecia.kernel.errors import Json
from pecia.kernel.store.transaction import Transaction
from pecia.kernel.tool.call import Call

# Minimum number of memories compared exactly, however few the model is shown.
MIN_CANDIDATES = 20


@dataclass(frozen=True, slots=True)
class SkippedText:
    """A text that was not stored."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class LearnOutcome:
    """What was done with one text. `id` is the memory it is in now, or the retired one."""

    fact: MemoryFact
    decision: Decision
    id: str | None
    facts: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class LearnPolicy:
    """Options of a call. `extra_ids` are compared in addition to the memories that are found."""

    kind: MemoryKind
    rules: DecisionRules
    max_similar: int = 5
    extra_ids: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class Learner:
    retriever: MemoryRetriever
    judge: MemoryJudge

    async def learn(
        self, call: Call, here: MemoryScope, facts: Sequence[MemoryFact], wanted: LearnPolicy
    ) -> list[LearnOutcome]:
        """One outcome per fact, in order. All are written or none."""
        meaning = await embed_texts(self.retriever.corpus.embedder, [it.text for it in facts])
        plans: list[tuple[MemoryFact, Decision]] = []
        for fact, candidates in await self._load_candidates(call, here, facts, wanted, meaning):
            decision = await self.judge.judge(call, fact, candidates, wanted.rules)
            plans.append((fact, _require_confidence(decision, wanted.rules)))
        writer = _DecisionWriter(call, here, wanted.kind, meaning)
        if all(it.event is MemoryEvent.NONE for _, it in plans):
            return [LearnOutcome(fact, it, it.target, fact.facts) for fact, it in plans]
        async with self.retriever.corpus.store.writing(call.caller, call.trace) as tx:
            return await writer.write(tx, plans)

    async def filter_visible(self, call: Call, ids: Sequence[UUID]) -> set[UUID]:
        """Which of these are memories that the caller may see."""
        if not ids:
            return set()
        async with self.retriever.corpus.store.reading(call.caller) as tx:
            return {it.id for it in await get_memories(tx, ids)}

    async def _load_candidates(
        self,
        call: Call,
        here: MemoryScope,
        facts: Sequence[MemoryFact],
        wanted: LearnPolicy,
        meaning: TextEmbeddings,
    ) -> list[tuple[MemoryFact, list[MemoryCandidate]]]:
        areas = here.search_ranges(wanted.kind)
        compared: list[tuple[MemoryFact, list[MemoryCandidate]]] = []
        async with self.retriever.corpus.store.reading(call.caller) as tx:
            named = await get_memories(tx, wanted.extra_ids)
            for fact in facts:
                limit = max(wanted.max_similar, MIN_CANDIDATES)
                query = MemoryQuery(fact.text, areas, limit, wait_for_index=False)
                found = await self.retriever.find(tx, call.caller, query, meaning)
                # Among equal scores, an exact restatement must not be cut off.
                found.sort(key=lambda it: not restates(it.memory.text, fact.text))
                like = [
                    _to_candidate(it.memory, it.similarity) for it in found[: wanted.max_similar]
                ]
                known = {it.id for it in like}
                more = [_to_candidate(it, 0.0) for it in named if str(it.id) not in known]
                compared.append((fact, [*like, *more]))
        return compared


def filter_texts(texts: Sequence[str], *, force: bool) -> tuple[list[str], list[SkippedText]]:
    """The texts to process, and the skipped ones with the reason."""
    kept: list[str] = []
    skipped: list[SkippedText] = []
    for text in texts:
        plain = to_canonical_text(text).strip()
        if not plain:
            skipped.append(SkippedText(text, "it is blank"))
        elif any(restates(plain, it) for it in kept):
            skipped.append(SkippedText(text, "it is a duplicate in this call"))
        elif not force and is_echo(plain):
            skipped.append(SkippedText(text, "it is the result of a memory search"))
        else:
            kept.append(plain)
    return kept, skipped


@dataclass(frozen=True, slots=True)
class _DecisionWriter:
    """Applies decisions."""

    call: Call
    scope: MemoryScope
    kind: MemoryKind
    embeddings: TextEmbeddings

    async def write(
        self, tx: Transaction, plans: Sequence[tuple[MemoryFact, Decision]]
    ) -> list[LearnOutcome]:
        await lock_user_memories(tx)
        named = (it for _, plan in plans for it in (plan.target, plan.supersedes) if it)
        held = {str(it.id): it for it in await get_memories(tx, [UUID(it) for it in named])}
        learnt: list[LearnOutcome] = []
        for fact, decision in plans:
            decision = self._revalidate(fact, decision, held)
            if decision.event is MemoryEvent.ADD:
                decision = await self._skip_duplicate(tx, fact, decision)
            done = await self._apply_decision(tx, fact, decision, held)
            learnt.append(done)
        return learnt

    async def _skip_duplicate(
        self, tx: Transaction, fact: MemoryFact, decision: Decision
    ) -> Decision:
        """A concurrent retry of a call adds one memory, not two."""
        for known in await find_recent_duplicates(tx, self.scope.folder(self.kind), fact.text):
            if not known.is_retired and not has_new_facts(fact.given, known.facts):
                reason = "the same text was stored a moment ago"
                return replace(
                    decision, event=MemoryEvent.NONE, reason=reason, target=str(known.id)
                )
        return decision

    def _revalidate(
        self, fact: MemoryFact, decision: Decision, held: Mapping[str, Memory]
    ) -> Decision:
        """Recheck a decision under the write lock. Only the caller's own memory is changed, and
        only one with the same readers: a private text must not replace a shared one. A target
        that changed since the comparison is compared again. Otherwise a new memory is added."""
        if decision.event not in (MemoryEvent.UPDATE, MemoryEvent.DELETE):
            return decision
        target = held.get(decision.target or "")
        if target is None or not self._may_change(target, decision.event):
            reason = "the target is not yours to change here, or no longer exists"
        elif not is_lossless(decision.event, fact, _to_candidate(target, 0.0)):
            reason = "the target changed meanwhile, and is no longer fully repeated"
        else:
            return decision
        return replace(decision, event=MemoryEvent.ADD, target=None, reason=reason)

    def _may_change(self, target: Memory, event: MemoryEvent) -> bool:
        if self.scope.folder(self.kind).contains(target.key):
            return True
        return event is MemoryEvent.DELETE and is_own(target.key, self.scope.owner)

    async def _apply_decision(
        self, tx: Transaction, fact: MemoryFact, decision: Decision, held: dict[str, Memory]
    ) -> LearnOutcome:
        payload: dict[str, Json] = {
            **fact.facts,
            **self.scope.origin_facts(self.kind),
            "event": decision.event,
            "confidence": decision.confidence,
            "qualitySource": decision.quality,
        }
        target = held.get(decision.target or "")
        match decision.event:
            case MemoryEvent.ADD:
                return await self._apply_add(tx, fact, decision, held, payload)
            case MemoryEvent.UPDATE if target is not None:
                payload["old_memory"] = target.text
                draft = MemoryDraft(fact.text, {**target.facts, **payload})
                await update_memory(tx, target, draft, self.embeddings)
                held[str(target.id)] = replace(target, text=draft.text, facts=draft.facts)
                self.call.record_returned(SOURCE, [target.key])
            case MemoryEvent.DELETE if target is not None:
                # Retired, not deleted: a model may be wrong.
                await annotate_memory(
                    tx, target, {RETIRED_FIELD: format_now(), "retired_by": fact.text}
                )
                # Two texts may target one memory: for the second it is gone.
                del held[str(target.id)]
                self.call.record_returned(SOURCE, [target.key])
            case _:
                pass
        return LearnOutcome(fact, decision, decision.target, payload)

    async def _apply_add(
        self,
        tx: Transaction,
        fact: MemoryFact,
        decision: Decision,
        held: Mapping[str, Memory],
        facts: dict[str, Json],
    ) -> LearnOutcome:
        id_, place = new_id(), self.scope.folder(self.kind)
        old = held.get(decision.supersedes or "")
        if old is not None:
            facts["supersedes"] = str(old.id)
        await insert_memories(tx, {id_: (place, MemoryDraft(fact.text, facts))}, self.embeddings)
        if old is not None and self._may_change(old, MemoryEvent.UPDATE):
            await annotate_memory(tx, old, {"superseded_by": str(id_)})
        self.call.record_returned(SOURCE, [place.key(id_)])
        return LearnOutcome(fact, decision, str(id_), facts)


def _require_confidence(decision: Decision, rules: DecisionRules) -> Decision:
    if decision.event is MemoryEvent.NONE or decision.confidence >= rules.min_confidence:
        return decision
    reason = f"confidence {decision.confidence:g} is below {rules.min_confidence:g}"
    return replace(decision, event=MemoryEvent.NONE, reason=reason)


def _to_candidate(memory: Memory, similarity: float) -> MemoryCandidate:
    return MemoryCandidate(str(memory.id), memory.text, similarity, memory.facts)
