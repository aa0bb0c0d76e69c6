"""Whoever comes, waits, gives up or is late: nobody starves, and no slot is lost."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.app.scheduler import FairQueue, Scheduler, SlotLimits, SlotOwner
from pecia.kernel.errors import RateLimited, Unavailable
from tests.soak import SOAK

CASES = 20_000 if SOAK else 300

people = st.builds(SlotOwner, st.sampled_from("ABC"), st.sampled_from("abcdef"))
greedy = st.sampled_from([SlotOwner("A", "a"), SlotOwner("A", "a"), SlotOwner("B", "b")])
moves = st.lists(
    st.tuples(
        st.sampled_from(("come", "come", "come", "come", "end", "end", "leave", "race")),
        st.one_of(people, greedy),
        st.integers(0, 1000),
    ),
    max_size=200,
)
bounds = st.builds(
    SlotLimits,
    running=st.integers(1, 6),
    tenant_running=st.integers(1, 6),
    principal_running=st.integers(1, 4),
    waiting=st.integers(1, 60),
    principal_waiting=st.integers(1, 20),
)


@dataclass(slots=True)
class Model:
    """What a reader of the rules would keep on paper."""

    limits: SlotLimits
    running: list[SlotOwner] = field(default_factory=list[SlotOwner])
    waiting: list[tuple[SlotOwner, int]] = field(default_factory=list[tuple[SlotOwner, int]])
    passed: dict[SlotOwner, set[SlotOwner]] = field(default_factory=dict[SlotOwner, set[SlotOwner]])
    """Who ran before each principal that waits and might have run itself."""

    def may_run(self, who: SlotOwner) -> bool:
        tenant = sum(it.tenant == who.tenant for it in self.running)
        return (
            self.running.count(who) < self.limits.principal_running
            and tenant < self.limits.tenant_running
        )

    def granted(self, who: SlotOwner, number: int | None, before: "Model") -> None:
        """Hold a grant against the rules, as things stood before it."""
        if number is not None:
            own = [it for it in before.waiting if it[0] == who]
            assert own[0] == (who, number), "first come first served within a principal"
            self.waiting.remove((who, number))
        self.running.append(who)
        others = {it[0] for it in before.waiting}
        for it in others - {who}:
            if before.may_run(it):
                # So nobody waits for more grants than there are others.
                assert who not in self.passed.setdefault(it, set()), "passed over twice"
                self.passed[it].add(who)
        self.passed.pop(who, None)
        self.check()

    def check(self) -> None:
        limits = self.limits
        tenants = Counter(it.tenant for it in self.running)
        assert len(self.running) <= limits.running
        assert all(it <= limits.tenant_running for it in tenants.values())
        assert all(it <= limits.principal_running for it in Counter(self.running).values())

    def copy(self) -> "Model":
        return Model(self.limits, [*self.running], [*self.waiting], self.passed)


@settings(max_examples=CASES, deadline=None)
@given(bounds, moves)
def test_slots_go_round_and_none_is_lost(
    limits: SlotLimits, steps: list[tuple[str, SlotOwner, int]]
) -> None:
    queue: FairQueue[int] = FairQueue(limits)
    model = Model(limits)
    for number, (move, who, choice) in enumerate(steps):
        if move == "come":
            before = model.copy()
            if queue.try_acquire(who):
                assert before.may_run(who)
                model.granted(who, None, before)
            elif queue.has_capacity() and queue.has_capacity_for(who):
                queue.enqueue(who, number)
                model.waiting.append((who, number))
        elif move in ("end", "race") and model.running:
            gone = model.running.pop(choice % len(model.running))
            before = model.copy()
            if (following := queue.release(gone)) is not None:
                model.granted(*following, before)
        elif move == "leave" and model.waiting:
            left = model.waiting.pop(choice % len(model.waiting))
            queue.remove(*left)
            queue.remove(*left)
            if left[0] not in [it for it, _ in model.waiting]:
                model.passed.pop(left[0], None)
        assert (queue.running, queue.waiting) == (len(model.running), len(model.waiting))
        if len(model.running) < limits.running:
            assert not [it for it, _ in model.waiting if model.may_run(it)], "a slot lies idle"
    _emptied(queue, model)


def _emptied(queue: FairQueue[int], model: Model) -> None:
    """All that runs ends, and all that waits gets its turn: nothing is left behind."""
    while model.running:
        gone = model.running.pop()
        before = model.copy()
        if (following := queue.release(gone)) is not None:
            model.granted(*following, before)
    assert not model.waiting
    assert queue.is_idle()


@settings(max_examples=CASES, deadline=None)
@given(bounds, moves)
def test_cancelled_and_late_waiters_leave_nothing_behind(
    limits: SlotLimits, steps: list[tuple[str, SlotOwner, int]]
) -> None:
    asyncio.run(_played(limits, steps))


@dataclass(slots=True)
class Flight:
    """One call on a loop."""

    task: asyncio.Task[None]
    may_end: asyncio.Event
    runs: asyncio.Event


async def _played(limits: SlotLimits, steps: list[tuple[str, SlotOwner, int]]) -> None:
    """The same on a loop: a step is a call that comes, ends, or is cancelled at any moment."""
    scheduler = Scheduler(limits)
    flights: list[Flight] = []
    most = 0

    async def call(who: SlotOwner, may_end: asyncio.Event, runs: asyncio.Event) -> None:
        nonlocal most
        slot = scheduler.slot(who)
        await slot.acquire()
        try:
            runs.set()
            most = max(most, scheduler.queue.running)
            await may_end.wait()
        finally:
            slot.release()

    for move, who, choice in steps:
        running = [it for it in flights if it.runs.is_set() and not it.may_end.is_set()]
        waiting = [it for it in flights if not it.runs.is_set() and not it.task.done()]
        if move == "come":
            may_end, runs = asyncio.Event(), asyncio.Event()
            task = asyncio.create_task(call(who, may_end, runs))
            flights.append(Flight(task, may_end, runs))
        elif move == "end" and running:
            running[choice % len(running)].may_end.set()
        elif move == "leave" and (waiting or running):
            (waiting or running)[choice % len(waiting or running)].task.cancel()
        elif move == "race" and running and waiting:
            # The slot goes to somebody who is cancelled before the loop comes back to them.
            running[choice % len(running)].may_end.set()
            await asyncio.sleep(0)
            waiting[choice % len(waiting)].task.cancel()
        # Some steps meet before the loop has run: a grant and a cancellation at one moment.
        for _ in range(choice % 3):
            await asyncio.sleep(0)
    for it in flights:
        it.may_end.set()
    ended = await asyncio.gather(*(it.task for it in flights), return_exceptions=True)
    expected = (RateLimited, Unavailable, asyncio.CancelledError)
    assert all(it is None or isinstance(it, expected) for it in ended)
    assert most <= limits.running
    assert scheduler.queue.is_idle()
