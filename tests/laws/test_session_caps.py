"""What holds of open sessions, however many owners open, use and close them in whatever order."""

from collections import Counter
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from pecia.interfaces.mcp.transport.session_table import McpSession, SessionLimits, SessionTable
from pecia.kernel.errors import RateLimited

OWNERS = ("ana", "bo")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("open", "open", "rest", "rest", "use", "close", "wait")), st.integers(0, 5)
    ),
    min_size=15,
    max_size=60,
)


@dataclass(slots=True)
class World:
    """The table, and what its users know of their own sessions."""

    table: SessionTable
    now: list[float]
    open: list[McpSession] = field(default_factory=list[McpSession])

    def step(self, what: str, number: int) -> None:
        match what:
            case "open":
                self.begin(OWNERS[number % len(OWNERS)])
            case "wait":
                self.now[0] += number
            case _ if self.open:
                self.change(what, self.open[number % len(self.open)])
            case _:
                pass

    def begin(self, owner: str) -> None:
        own = [it for it in self.open if it.owner == owner]
        idle = [it for it in own if not it.in_flight]
        try:
            session, ended = self.table.open(owner)
        except RateLimited:
            # Only who has no idle session of its own to give up, or where nobody has one.
            is_at_cap = len(own) >= self.table.limits.per_owner
            assert not idle if is_at_cap else all(it.in_flight for it in self.open)
            return
        # Nobody loses a session that is in use, nor one for somebody who has too many.
        assert not any(it.in_flight for it in ended)
        if len(own) >= self.table.limits.per_owner:
            assert {it.owner for it in ended} == {owner}
        gone = {id(it) for it in ended}
        self.open = [it for it in self.open if id(it) not in gone] + [session]

    def change(self, what: str, session: McpSession) -> None:
        if what == "rest" and session.in_flight:
            self.table.end_request(session)
        elif what == "use":
            self.table.begin_request(session)
        elif what == "close":
            self.table.close(session)
            self.open = [it for it in self.open if it is not session]


@given(STEPS, st.integers(1, 3), st.integers(1, 5))
def test_no_owner_and_no_server_has_more_than_its_cap_and_none_is_refused_without_need(
    steps: list[tuple[str, int]], per_owner: int, total: int
) -> None:
    now = [0.0]
    # Idle ones stay: what the transport ends by itself is another matter.
    limits = SessionLimits(per_owner, total, 1e9, 1_000_000)
    world = World(SessionTable(limits, lambda: now[0]), now)
    for what, number in steps:
        world.step(what, number)
        assert len(world.table) == len(world.open) <= total
        assert all(it <= per_owner for it in Counter(it.owner for it in world.open).values())
