"""Texts become memories: compared, decided, written in one transaction, and told truthfully."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from pecia.kernel.errors import Json
from pecia.kernel.store.transaction import Transaction
from pecia.kernel.tool.call import Call
from pecia.rooms.memory.decide import Candidate, Decision, differs
from pecia.rooms.memory.echo import is_echo
from pecia.rooms.memory.finding import Finder, Question
from pecia.rooms.memory.judging import Judge, Rules, loses_nothing
from pecia.rooms.memory.keeping import annotate, by_ids, change, hold, keep, latest, written
from pecia.rooms.memory.meaning import Meaning, meaning_of
from pecia.rooms.memory.model import RETIRED, Draft, Event, Fact, Kind, Memory, new_id
from pecia.rooms.memory.place import SOURCE, is_own
from pecia.rooms.memory.restatement import restates
from pecia.rooms.memory.shown import now
from pecia.rooms.memory.standing import Standing

# So many memories are compared word for word, however few a model is to be shown.
LEAST_FOUND = 20


@dataclass(frozen=True, slots=True)
class Skipped:
    """A text that nothing was made of."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Learnt:
    """What was done with one text. `id` is the memory it is in now, or that went."""

    fact: Fact
    decision: Decision
    id: str | None
    facts: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Wanted:
    """How to go about it. `others` are memories to compare with beside those that are found."""

    kind: Kind
    rules: Rules
    most: int = 5
    others: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class Learner:
    finder: Finder
    judge: Judge

    async def learn(
        self, call: Call, here: Standing, facts: Sequence[Fact], wanted: Wanted
    ) -> list[Learnt]:
        """One outcome a fact, in order. Either all of them are written or none is."""
        meaning = await meaning_of(self.finder.corpus.embedder, [it.text for it in facts])
        plans: list[tuple[Fact, Decision]] = []
        for fact, candidates in await self._compared(call, here, facts, wanted, meaning):
            decision = await self.judge.judge(call, fact, candidates, wanted.rules)
            plans.append((fact, _sure(decision, wanted.rules)))
        writer = _Writer(call, here, wanted.kind, meaning)
        if all(it.event is Event.NONE for _, it in plans):
            return [Learnt(fact, it, it.target, fact.facts) for fact, it in plans]
        async with self.finder.corpus.store.writing(call.caller, call.trace) as tx:
            return await writer.write(tx, plans)

    async def visible(self, call: Call, ids: Sequence[UUID]) -> set[UUID]:
        """Which of these are memories that the caller may see."""
        if not ids:
            return set()
        async with self.finder.corpus.store.reading(call.caller) as tx:
            return {it.id for it in await by_ids(tx, ids)}

    async def _compared(
        self,
        call: Call,
        here: Standing,
        facts: Sequence[Fact],
        wanted: Wanted,
        meaning: Meaning,
    ) -> list[tuple[Fact, list[Candidate]]]:
        areas = here.areas(wanted.kind)
        compared: list[tuple[Fact, list[Candidate]]] = []
        async with self.finder.corpus.store.reading(call.caller) as tx:
            named = await by_ids(tx, wanted.others)
            for fact in facts:
                most = max(wanted.most, LEAST_FOUND)
                asked = Question(fact.text, areas, most, patient=False)
                found = await self.finder.find(tx, call.caller, asked, meaning)
                # Of many that are as alike, the one that says the very same must not be cut off.
                found.sort(key=lambda it: not restates(it.memory.text, fact.text))
                like = [_candidate(it.memory, it.similarity) for it in found[: wanted.most]]
                known = {it.id for it in like}
                more = [_candidate(it, 0.0) for it in named if str(it.id) not in known]
                compared.append((fact, [*like, *more]))
        return compared


def sorted_out(texts: Sequence[str], *, force: bool) -> tuple[list[str], list[Skipped]]:
    """The texts to look at, and those that are none, with the reason."""
    kept: list[str] = []
    skipped: list[Skipped] = []
    for text in texts:
        plain = written(text).strip()
        if not plain:
            skipped.append(Skipped(text, "it is blank"))
        elif any(restates(plain, it) for it in kept):
            skipped.append(Skipped(text, "it is here twice"))
        elif not force and is_echo(plain):
            skipped.append(Skipped(text, "it is the answer to a search for memories"))
        else:
            kept.append(plain)
    return kept, skipped


@dataclass(frozen=True, slots=True)
class _Writer:
    """Carries out what was decided."""

    call: Call
    here: Standing
    kind: Kind
    meaning: Meaning

    async def write(self, tx: Transaction, plans: Sequence[tuple[Fact, Decision]]) -> list[Learnt]:
        await hold(tx)
        named = (it for _, plan in plans for it in (plan.target, plan.supersedes) if it)
        held = {str(it.id): it for it in await by_ids(tx, [UUID(it) for it in named])}
        learnt: list[Learnt] = []
        for fact, decision in plans:
            decision = self._settled(fact, decision, held)
            if decision.event is Event.ADD:
                decision = await self._once(tx, fact, decision)
            done = await self._carry_out(tx, fact, decision, held)
            learnt.append(done)
        return learnt

    async def _once(self, tx: Transaction, fact: Fact, decision: Decision) -> Decision:
        """A call that is sent twice at the same time adds one memory."""
        for known in await latest(tx, self.here.place(self.kind), fact.text):
            if not known.is_retired and not differs(fact.given, known.facts):
                reason = "the same was kept a moment ago"
                return replace(decision, event=Event.NONE, reason=reason, target=str(known.id))
        return decision

    def _settled(self, fact: Fact, decision: Decision, held: Mapping[str, Memory]) -> Decision:
        """What holds now that nobody else writes. Only a memory of one's own is changed, and only
        one for the same readers: a private text must not take the place of what all may read. What
        was changed since it was compared is compared again. Else a new one is kept beside it."""
        if decision.event not in (Event.UPDATE, Event.DELETE):
            return decision
        target = held.get(decision.target or "")
        if target is None or not self._may_change(target, decision.event):
            reason = "what it speaks of is not yours to change here, or is gone"
        elif not loses_nothing(decision.event, fact, _candidate(target, 0.0)):
            reason = "what it extends was changed meanwhile, and says more than it repeats"
        else:
            return decision
        return replace(decision, event=Event.ADD, target=None, reason=reason)

    def _may_change(self, target: Memory, event: Event) -> bool:
        if self.here.place(self.kind).holds(target.key):
            return True
        return event is Event.DELETE and is_own(target.key, self.here.owner)

    async def _carry_out(
        self, tx: Transaction, fact: Fact, decision: Decision, held: dict[str, Memory]
    ) -> Learnt:
        told: dict[str, Json] = {
            **fact.facts,
            **self.here.stamped(self.kind),
            "event": decision.event,
            "confidence": decision.confidence,
            "qualitySource": decision.quality,
        }
        target = held.get(decision.target or "")
        match decision.event:
            case Event.ADD:
                return await self._added(tx, fact, decision, held, told)
            case Event.UPDATE if target is not None:
                told["old_memory"] = target.text
                draft = Draft(fact.text, {**target.facts, **told})
                await change(tx, target, draft, self.meaning)
                held[str(target.id)] = replace(target, text=draft.text, facts=draft.facts)
                self.call.returned(SOURCE, [target.key])
            case Event.DELETE if target is not None:
                # It is retired, and its words stay: a model may be wrong.
                await annotate(tx, target, {RETIRED: now(), "retired_by": fact.text})
                # Two texts may speak of one memory: for the second one it is gone.
                del held[str(target.id)]
                self.call.returned(SOURCE, [target.key])
            case _:
                pass
        return Learnt(fact, decision, decision.target, told)

    async def _added(
        self,
        tx: Transaction,
        fact: Fact,
        decision: Decision,
        held: Mapping[str, Memory],
        told: dict[str, Json],
    ) -> Learnt:
        id_, place = new_id(), self.here.place(self.kind)
        old = held.get(decision.supersedes or "")
        if old is not None:
            told["supersedes"] = str(old.id)
        await keep(tx, {id_: (place, Draft(fact.text, told))}, self.meaning)
        if old is not None and self._may_change(old, Event.UPDATE):
            await annotate(tx, old, {"superseded_by": str(id_)})
        self.call.returned(SOURCE, [place.key(id_)])
        return Learnt(fact, decision, str(id_), told)


def _sure(decision: Decision, rules: Rules) -> Decision:
    if decision.event is Event.NONE or decision.confidence >= rules.least_confidence:
        return decision
    reason = f"the confidence {decision.confidence:g} is below {rules.least_confidence:g}"
    return replace(decision, event=Event.NONE, reason=reason)


def _candidate(memory: Memory, similarity: float) -> Candidate:
    return Candidate(str(memory.id), memory.text, similarity, memory.facts)
