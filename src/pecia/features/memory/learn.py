"""Turns texts into memories: compare, decide, write in one transaction, report each outcome."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from pecia.features.memory.core.compare.correction import needs_context, with_context
from pecia.features.memory.core.compare.relation import may_say_same
from pecia.features.memory.core.compare.restatement import restates
from pecia.features.memory.core.compare.similarity import TermQuery
from pecia.features.memory.core.decide import Decision, MemoryCandidate, has_new_facts
from pecia.features.memory.core.forget import says_only
from pecia.features.memory.core.keys import SOURCE, is_own
from pecia.features.memory.core.screen.policy import ScreenPolicy
from pecia.features.memory.core.screen.secret_policy import (
    drop_marks,
    hide_text,
    refuse_text,
    screen_facts,
    screen_marks,
)
from pecia.features.memory.core.search.rank import RankedMemory
from pecia.features.memory.core.utterance import Utterance
from pecia.features.memory.embeddings import (
    PendingEmbeddings,
    TextEmbeddings,
    embed_texts,
    embedding,
)
from pecia.features.memory.judge import DecisionRules, MemoryJudge, is_lossless
from pecia.features.memory.model import (
    Memory,
    MemoryDraft,
    MemoryEvent,
    MemoryFact,
    MemoryKind,
    new_id,
)
from pecia.features.memory.retriever import MemoryQuery, MemoryRetriever
from pecia.features.memory.scope import MemoryScope
from pecia.features.memory.statistics import GrowthStatistics
from pecia.features.memory.store import (
    find_restatements,
    get_memories,
    insert_memories,
    load_latest,
    lock_and_load,
    lock_user_memories,
    note_memories,
    to_canonical_text,
)
from pecia.kernel.errors import Json
from pecia.kernel.store.store import Transaction
from pecia.kernel.tool.call import Call

# Minimum number of memories compared, however few the model is shown.
MIN_CANDIDATES = 20
# What is to be forgotten is named in other words than it was said, but not in few of them.
MIN_FORGOTTEN_COVERAGE = 0.99
MIN_FORGOTTEN_COSINE = 0.75
# What was said longer ago is not what `it` means.
MAX_CONTEXT_AGE = timedelta(minutes=30)


class ForgetOutcome(NamedTuple):
    """Memories that were ended, and those that were left because they say more."""

    ended: list[Memory]
    left: list[Memory]


@dataclass(frozen=True, slots=True)
class SkippedText:
    """A text that was not stored."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class LearnOutcome:
    """What was done with one text. `id` is the memory that says it now, or the retired one.
    `undo` is the id with which memory_undo takes back what was done without being asked."""

    fact: MemoryFact
    decision: Decision
    id: str | None
    facts: Mapping[str, Json]
    undo: str | None = None


@dataclass(frozen=True, slots=True)
class LearnPolicy:
    """Options of a call. `extra_ids` are compared in addition to the memories that are found."""

    kind: MemoryKind
    rules: DecisionRules
    extra_ids: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class LearnPlan:
    """What is to be done with one text, and the id that it gets if it is stored."""

    id: UUID
    fact: MemoryFact
    decision: Decision

    @property
    def is_new(self) -> bool:
        return self.decision.event in (MemoryEvent.ADD, MemoryEvent.UPDATE)


@dataclass(frozen=True, slots=True)
class Learner:
    retriever: MemoryRetriever
    judge: MemoryJudge
    policy: ScreenPolicy
    growth: GrowthStatistics

    async def learn(
        self, call: Call, here: MemoryScope, facts: Sequence[MemoryFact], learn_policy: LearnPolicy
    ) -> list[LearnOutcome]:
        """One outcome per fact, in order. All are written or none."""
        facts = await self._add_contexts(call, here, facts, learn_policy.kind)
        reasons = [refuse_text(it.text, self.policy) for it in facts]
        facts = [self._screen(it) for it in facts]
        refused = {it.text: why for it, why in zip(facts, reasons, strict=True) if why}
        texts = [it.text for it in facts]
        async with embedding(self.retriever.corpus.embedder, texts) as pending:
            alike = await self._load_candidates(call, here, facts, learn_policy, pending)
            meaning = await pending
        plans: list[LearnPlan] = []
        for fact, candidates in alike:
            earlier = [_plan_candidate(it, fact, meaning) for it in plans if it.is_new]
            compared = [*candidates, *earlier]
            if reason := refused.get(fact.text):
                nothing = Decision(MemoryEvent.NONE, 1.0, reason)
                plans.append(LearnPlan(new_id(), fact, nothing))
                continue
            decision = await self.judge.judge(call, fact, compared, learn_policy.rules)
            plans.append(
                LearnPlan(new_id(), fact, _require_confidence(decision, learn_policy.rules))
            )
        async with self.retriever.corpus.store.writing(call.caller, call.trace) as tx:
            learnt = await _DecisionWriter(call, here, learn_policy.kind, meaning).write(tx, plans)
        await self.growth.count(len(learnt))
        return learnt

    async def _add_contexts(
        self, call: Call, here: MemoryScope, facts: Sequence[MemoryFact], kind: MemoryKind
    ) -> Sequence[MemoryFact]:
        """The facts; one that corrects what it does not name has with it what was said before."""
        places = {n for n, it in enumerate(facts) if needs_context(it.text)}
        if not places or kind is MemoryKind.REASONING:
            return facts
        before: str | None = None
        if 0 in places:
            async with self.retriever.corpus.store.reading(call.caller) as tx:
                latest = await load_latest(tx, here.folder(kind))
            before = latest.text if latest and _is_said_before(latest, facts[0]) else None
        known: list[MemoryFact] = []
        for place, it in enumerate(facts):
            if place in places and before is not None:
                it = replace(it, text=with_context(it.text, hide_text(before, self.policy)))
            known.append(it)
            before = it.text
        return known

    def _screen(self, fact: MemoryFact) -> MemoryFact:
        """The fact as it may be stored, marked if it has a secret or personal data."""
        facts = screen_facts(fact.facts, self.policy)
        marks = screen_marks(fact.text, self.policy)
        return replace(fact, text=hide_text(fact.text, self.policy), facts={**facts, **marks})

    async def forget(
        self, call: Call, here: MemoryScope, kind: MemoryKind, asked: Utterance
    ) -> ForgetOutcome:
        """End the caller's own memories that say this, as far as they hold; not those that say
        more than this."""
        what = asked.forgotten
        corpus = self.retriever.corpus
        meaning = await embed_texts(corpus.embedder, [what])
        query = MemoryQuery(what, here.search_ranges(kind), MIN_CANDIDATES)
        terms = TermQuery(what)
        async with corpus.store.writing(call.caller, call.trace) as tx:
            await lock_user_memories(tx)
            found = await self.retriever.find_similar(tx, call.caller, query, meaning)
            said = [
                it.memory
                for it in found
                if is_own(it.memory.key, here.owner)
                and (
                    terms.coverage(it.memory.text) >= MIN_FORGOTTEN_COVERAGE
                    or _says_in_other_words(what, it)
                )
            ]
            only = [it for it in said if says_only(what, it.text, asked.extent)]
            facts = {"retired_by": "you asked to forget it"}
            ended = [replace(it, valid_to=_now(), facts={**it.facts, **facts}) for it in only]
            await note_memories(tx, ended)
        call.record_returned(SOURCE, [it.key for it in ended])
        return ForgetOutcome(
            [it for it in ended if it.same_as is None],
            [it for it in said if it.same_as is None and it not in only],
        )

    async def filter_visible(self, call: Call, here: MemoryScope, ids: Sequence[UUID]) -> set[UUID]:
        """Which of these are memories that the caller may see in this session."""
        if not ids:
            return set()
        async with self.retriever.corpus.store.reading(call.caller) as tx:
            return {it.id for it in await get_memories(tx, ids) if here.contains(it.key)}

    async def _load_candidates(
        self,
        call: Call,
        here: MemoryScope,
        facts: Sequence[MemoryFact],
        learn_policy: LearnPolicy,
        meaning: PendingEmbeddings,
    ) -> list[tuple[MemoryFact, list[MemoryCandidate]]]:
        areas = here.search_ranges(learn_policy.kind)
        compared: list[tuple[MemoryFact, list[MemoryCandidate]]] = []
        async with self.retriever.corpus.store.reading(call.caller) as tx:
            said = await find_restatements(tx, [it.text for it in facts])
            known = [it for it in said if any(area.contains(it.key) for area in areas)]
            named = [*known, *await get_memories(tx, learn_policy.extra_ids)]
            for fact in facts:
                limit = max(learn_policy.rules.max_shown, MIN_CANDIDATES)
                query = MemoryQuery(fact.text, areas, limit)
                found = await self.retriever.find_similar(tx, call.caller, query, meaning)
                like = [_to_candidate(it.memory, it.similarity, it.cosine) for it in found]
                seen = {it.id for it in like}
                more = [
                    _to_candidate(it, 0.0) for it in named if it.is_open and str(it.id) not in seen
                ]
                compared.append((fact, [*like, *more]))
        return compared


def filter_texts(texts: Sequence[str]) -> tuple[list[str], list[SkippedText]]:
    """The texts to process, and the skipped ones with the reason."""
    kept: list[str] = []
    skipped: list[SkippedText] = []
    for text in texts:
        plain = to_canonical_text(text).strip()
        if not plain:
            skipped.append(SkippedText(text, "it is blank"))
        elif any(restates(plain, it) for it in kept):
            skipped.append(SkippedText(text, "it is a duplicate in this call"))
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

    async def write(self, tx: Transaction, plans: Sequence[LearnPlan]) -> list[LearnOutcome]:
        named = {UUID(it) for at in plans for it in (at.decision.target, at.decision.revises) if it}
        known, said = await lock_and_load(tx, [*named], [it.fact.text for it in plans])
        held = {str(id_): it for id_, it in known.items()}
        # Those that were stored after the comparison: a concurrent retry of a call adds one memory,
        # not two.
        place = self.scope.folder(self.kind)
        again = [it for it in said if it.valid_to is None and place.contains(it.key)]
        learnt: list[LearnOutcome] = []
        for plan in plans:
            plan = self._revalidate(plan, held)
            if plan.decision.event is MemoryEvent.ADD or plan.decision.is_wording:
                plan = _skip_duplicate(plan, again)
                held |= {str(it.id): it for it in again if str(it.id) == plan.decision.target}
            learnt.append(await self._apply(tx, plan, held))
            if plan.id in named:
                # A later text of this call is about the memory that was just added.
                held |= {str(it.id): it for it in await get_memories(tx, [plan.id])}
        return learnt

    def _revalidate(self, plan: LearnPlan, held: Mapping[str, Memory]) -> LearnPlan:
        """Recheck a decision under the write lock. Only the caller's own memory is superseded, and
        only one with the same readers: a private text must not replace a shared one. A target that
        was superseded since is not superseded again. Otherwise a new memory is added."""
        decision = plan.decision
        if decision.event is MemoryEvent.ADD or (
            decision.event is MemoryEvent.NONE and not decision.is_wording
        ):
            return plan
        target = held.get(decision.target or "")
        if target is None or not self._may_change(target, decision.event):
            reason = "the similar memory is not yours to change here, or no longer exists"
        elif not target.is_open:
            reason = "the similar memory was superseded meanwhile"
        elif decision.event is MemoryEvent.UPDATE and plan.fact.times.said_at < target.said_at:
            # Notes of last month that are stored today.
            reason = "the similar memory was said later"
        elif not decision.is_wording and not is_lossless(
            decision.event, plan.fact, _to_candidate(target, 0.0)
        ):
            reason = "the similar memory is a different fact"
        else:
            return plan
        return replace(
            plan,
            decision=replace(
                decision, event=MemoryEvent.ADD, target=None, reason=reason, is_wording=False
            ),
        )

    def _may_change(self, target: Memory, event: MemoryEvent) -> bool:
        if self.scope.folder(self.kind).contains(target.key):
            return True
        return event is MemoryEvent.DELETE and is_own(target.key, self.scope.owner)

    async def _apply(
        self, tx: Transaction, plan: LearnPlan, held: dict[str, Memory]
    ) -> LearnOutcome:
        decision = plan.decision
        facts: dict[str, Json] = {
            **plan.fact.facts,
            **self.scope.origin_facts(self.kind),
            "event": decision.event,
            "confidence": decision.confidence,
            "qualitySource": decision.quality,
        }
        target = held.get(decision.target or "")
        if decision.event is MemoryEvent.ADD:
            return await self._add(tx, plan, facts)
        if target is None or not is_own(target.key, self.scope.owner):
            return LearnOutcome(plan.fact, decision, decision.target, facts)
        match decision.event:
            case MemoryEvent.UPDATE:
                outcome, after = await self._supersede(tx, plan, target, facts)
            case MemoryEvent.DELETE:
                outcome, after = self._retire(plan, target, facts)
            case MemoryEvent.NONE:
                outcome, after = await self._count(tx, plan, target, facts)
        await note_memories(tx, [after])
        held[str(after.id)] = after
        return outcome

    async def _add(self, tx: Transaction, plan: LearnPlan, facts: dict[str, Json]) -> LearnOutcome:
        if plan.decision.revises is not None:
            facts["revises"] = plan.decision.revises
        await self._insert(tx, plan, facts)
        return LearnOutcome(plan.fact, plan.decision, str(plan.id), facts)

    async def _supersede(
        self, tx: Transaction, plan: LearnPlan, old: Memory, facts: dict[str, Json]
    ) -> tuple[LearnOutcome, Memory]:
        facts = {**_lasting_facts(old), **facts, "supersedes": str(old.id), "old_memory": old.text}
        await self._insert(tx, plan, facts)
        ended = replace(old, superseded_by=plan.id, valid_to=plan.fact.times.begin)
        outcome = LearnOutcome(plan.fact, plan.decision, str(plan.id), facts, undo=str(old.id))
        return outcome, ended

    def _retire(
        self, plan: LearnPlan, old: Memory, facts: dict[str, Json]
    ) -> tuple[LearnOutcome, Memory]:
        """End a memory that a model calls untrue. It stays readable: a model may be wrong."""
        ended = replace(old, valid_to=_now(), facts={**old.facts, "retired_by": plan.fact.text})
        self.call.record_returned(SOURCE, [old.key])
        outcome = LearnOutcome(plan.fact, plan.decision, str(old.id), facts, undo=str(old.id))
        return outcome, ended

    async def _count(
        self, tx: Transaction, plan: LearnPlan, known: Memory, facts: dict[str, Json]
    ) -> tuple[LearnOutcome, Memory]:
        """Count that it was said again; other words are kept as a wording of the memory."""
        undo = None
        if plan.decision.is_wording:
            await self._insert(tx, plan, facts, same_as=known.id)
            undo = str(plan.id)
        last = max(known.last_said_at, plan.fact.times.said_at)
        outcome = LearnOutcome(plan.fact, plan.decision, str(known.id), facts, undo=undo)
        return outcome, replace(known, times=known.times + 1, last_said_at=last)

    async def _insert(
        self,
        tx: Transaction,
        plan: LearnPlan,
        facts: Mapping[str, Json],
        same_as: UUID | None = None,
    ) -> None:
        place, times = self.scope.folder(self.kind), plan.fact.times
        draft = MemoryDraft(
            plan.fact.text, facts, times.said_at, times.begin, times.valid_to, same_as
        )
        await insert_memories(tx, {plan.id: (place, draft)}, self.embeddings)
        self.call.record_returned(SOURCE, [place.key(plan.id)])


def _skip_duplicate(plan: LearnPlan, again: Sequence[Memory]) -> LearnPlan:
    fact = plan.fact
    for known in again:
        if restates(known.text, fact.text) and not has_new_facts(fact.given, known.facts):
            decision = replace(
                plan.decision,
                event=MemoryEvent.NONE,
                reason="the same text was stored a moment ago",
                target=str(known.same_as or known.id),
                is_wording=False,
            )
            return replace(plan, decision=decision)
    return plan


def _plan_candidate(plan: LearnPlan, fact: MemoryFact, meaning: TextEmbeddings) -> MemoryCandidate:
    """A text of the same call, as if it were stored already."""
    mine, theirs = meaning.vector_of(fact.text), meaning.vector_of(plan.fact.text)
    cosine = None if mine is None or theirs is None else float(mine @ theirs)
    return MemoryCandidate(str(plan.id), plan.fact.text, cosine or 0.0, plan.fact.given, cosine)


def _lasting_facts(old: Memory) -> dict[str, Json]:
    """What a new version takes over: all but what is known of the old one's own making."""
    own = ("event", "confidence", "qualitySource", "supersedes", "old_memory", "revises")
    return {name: it for name, it in drop_marks(old.facts).items() if name not in own}


def _require_confidence(decision: Decision, rules: DecisionRules) -> Decision:
    if decision.event is MemoryEvent.NONE or decision.confidence >= rules.min_confidence:
        return decision
    reason = f"confidence {decision.confidence:g} is below {rules.min_confidence:g}"
    return replace(decision, event=MemoryEvent.NONE, reason=reason, target=None)


def _to_candidate(
    memory: Memory, similarity: float, cosine: float | None = None
) -> MemoryCandidate:
    named = memory.same_as or memory.id
    return MemoryCandidate(str(named), memory.text, similarity, memory.facts, cosine)


def _says_in_other_words(what: str, found: RankedMemory) -> bool:
    """Alike, and not another fact: one day or number tells two apart."""
    is_like = (found.cosine or 0.0) >= MIN_FORGOTTEN_COSINE
    return is_like and may_say_same(what, found.memory.text)


def _is_said_before(memory: Memory, fact: MemoryFact) -> bool:
    """Whether a memory was said just before a text, in the same conversation."""
    session = fact.facts.get("sourceSessionId")
    if session != memory.facts.get("sourceSessionId") or not memory.is_open:
        return False
    return timedelta() <= fact.times.said_at - memory.last_said_at <= MAX_CONTEXT_AGE


def _now() -> datetime:
    return datetime.now(UTC)
