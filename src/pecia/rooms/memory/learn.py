"""Texts become memories: compared, decided, written in one transaction, and told truthfully."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from pecia.kernel.errors import Json
from pecia.kernel.store.transaction import Transaction
from pecia.kernel.tool.call import Call
from pecia.rooms.memory.decide import Candidate, Decision
from pecia.rooms.memory.echo import is_echo
from pecia.rooms.memory.finding import Finder, Question
from pecia.rooms.memory.judging import Judge, Rules
from pecia.rooms.memory.keeping import by_ids, change, forget, hold, keep, twin, written
from pecia.rooms.memory.meaning import Meaning, meaning_of
from pecia.rooms.memory.model import Draft, Event, Kind, Memory, new_id
from pecia.rooms.memory.place import SOURCE, is_own
from pecia.rooms.memory.standing import Standing


@dataclass(frozen=True, slots=True)
class Fact:
    """A text to remember, and what is known of it."""

    text: str
    facts: Mapping[str, Json] = field(default_factory=dict[str, Json])


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
            decision = await self.judge.judge(call, fact.text, candidates, wanted.rules)
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
                asked = Question(fact.text, areas, wanted.most, patient=False)
                found = await self.finder.find(tx, call.caller, asked, meaning)
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
        elif plain in kept:
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
        targets = [UUID(it.target) for _, it in plans if it.target]
        held = {str(it.id): it for it in await by_ids(tx, targets)}
        learnt: list[Learnt] = []
        for fact, decision in plans:
            target = held.get(decision.target or "")
            if decision.event in (Event.UPDATE, Event.DELETE):
                decision = self._settled(decision, target)
            if decision.event is Event.ADD:
                decision = await self._once(tx, fact, decision)
            learnt.append(await self._carry_out(tx, fact, decision, target))
            if decision.event is Event.DELETE:
                # Two texts may speak of one memory: for the second one it is gone.
                held.pop(decision.target or "", None)
        return learnt

    async def _once(self, tx: Transaction, fact: Fact, decision: Decision) -> Decision:
        """A call that is sent twice at the same time adds one memory."""
        known = await twin(tx, self.here.place(self.kind), fact.text)
        if known is None:
            return decision
        reason = "the same was kept a moment ago"
        return replace(decision, event=Event.NONE, reason=reason, target=str(known))

    def _settled(self, decision: Decision, target: Memory | None) -> Decision:
        """Only a memory of one's own is changed, and only one for the same eyes: what is told in
        private must not take the place of what all may read. Else a new one is kept beside it."""
        if target is not None and self.here.place(self.kind).holds(target.key):
            return decision
        if decision.event is Event.DELETE and target is not None and self._is_mine(target):
            return decision
        if decision.event is Event.DELETE:
            reason = "that memory is not yours, or is gone"
            return replace(decision, event=Event.NONE, reason=reason)
        reason = "what it extends is not yours to change here, or is gone"
        return replace(decision, event=Event.ADD, target=None, reason=reason)

    def _is_mine(self, memory: Memory) -> bool:
        return is_own(memory.key, self.here.owner)

    async def _carry_out(
        self, tx: Transaction, fact: Fact, decision: Decision, target: Memory | None
    ) -> Learnt:
        told: dict[str, Json] = {
            **fact.facts,
            **self.here.stamped(self.kind),
            "event": decision.event,
            "confidence": decision.confidence,
            "qualitySource": decision.quality,
        }
        match decision.event:
            case Event.ADD:
                id_ = new_id()
                place = self.here.place(self.kind)
                await keep(tx, {id_: (place, Draft(fact.text, told))}, self.meaning)
                self.call.returned(SOURCE, [place.key(id_)])
                return Learnt(fact, decision, str(id_), told)
            case Event.UPDATE if target is not None:
                told["old_memory"] = target.text
                await change(tx, target, Draft(fact.text, {**target.facts, **told}), self.meaning)
                self.call.returned(SOURCE, [target.key])
            case Event.DELETE if target is not None:
                await forget(tx, target)
                self.call.returned(SOURCE, [target.key])
            case _:
                pass
        return Learnt(fact, decision, decision.target, told)


def _sure(decision: Decision, rules: Rules) -> Decision:
    if decision.event is Event.NONE or decision.confidence >= rules.least_confidence:
        return decision
    reason = f"the confidence {decision.confidence:g} is below {rules.least_confidence:g}"
    return replace(decision, event=Event.NONE, reason=reason)


def _candidate(memory: Memory, similarity: float) -> Candidate:
    return Candidate(str(memory.id), memory.text, similarity)
