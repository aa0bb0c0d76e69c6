"""Open sessions and streams by owner, with limits per owner and in total. Pure but for the clock,
which is passed in.

A session is idle while it has no request in flight. At a limit, the session of that owner that was
idle longest is evicted (LRU); only where none is idle is a new one refused.
"""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from pecia.kernel.errors import RateLimited
from pecia.kernel.rate_limit import RateLimit, RateLimiter

RETRY_AFTER_S = 30
"""Retry-After where all sessions of an owner are busy."""

EXPIRY_MARGIN_S = 1.0
"""Tolerance for the transport, which has its own idle timer."""


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """Limits on open sessions and streams, and the idle timeout."""

    per_owner: int
    total: int
    idle_s: float
    handshakes_per_minute: int


@dataclass(eq=False, slots=True)
class McpSession:
    """An open session. `end` closes it at its transport; a stream without an id is never idle."""

    owner: str
    id: str = ""
    end: Callable[[], Awaitable[None]] | None = None
    in_flight: int = 0


@dataclass(slots=True)
class _Owner:
    """The sessions of one owner; the idle ones with their start of idleness, oldest first."""

    busy: set[McpSession] = field(default_factory=set[McpSession])
    idle: OrderedDict[McpSession, float] = field(default_factory=OrderedDict[McpSession, float])

    def __len__(self) -> int:
        return len(self.busy) + len(self.idle)


class SessionTable:
    """Every session of this process. It belongs to one event loop, and awaits nothing."""

    def __init__(self, limits: SessionLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self._clock = clock
        self._owners: dict[str, _Owner] = {}
        self._by_id: dict[str, McpSession] = {}
        self._count = 0
        rate = limits.handshakes_per_minute
        self._begun = RateLimiter(RateLimit(rate, 60, rate))

    def __len__(self) -> int:
        return self._count

    def count_handshake(self, owner: str) -> None:
        """Count one handshake of this owner, or RateLimited."""
        self._begun.take(owner)

    def open(self, owner: str) -> tuple[McpSession, list[McpSession]]:
        """A new busy session, and the evicted ones, which the caller must end; or RateLimited."""
        ended: list[McpSession] = []
        own = self._owners.get(owner)
        if own is not None and len(own) >= self.limits.per_owner:
            ended += self._evict_oldest_idle(own, f"{len(own)} sessions of yours are open and busy")
        elif self._count >= self.limits.total:
            self._evict_expired()
            if self._count >= self.limits.total:
                largest = max(self._owners.values(), key=lambda it: len(it.idle))
                ended += self._evict_oldest_idle(
                    largest, "this server has reached its session limit"
                )
        session = McpSession(owner, in_flight=1)
        self._owners.setdefault(owner, _Owner()).busy.add(session)
        self._count += 1
        return session, ended

    def identify(self, session: McpSession, id_: str, end: Callable[[], Awaitable[None]]) -> None:
        """The session got its id."""
        session.id, session.end = id_, end
        self._by_id[id_] = session

    def find(self, id_: str, owner: str) -> McpSession | None:
        """The open session of that id, if it is this owner's."""
        found = self._by_id.get(id_)
        return found if found is not None and found.owner == owner else None

    def begin_request(self, session: McpSession) -> None:
        """A request of the session is in flight: it is not idle."""
        session.in_flight += 1
        own = self._owners.get(session.owner)
        if own is not None and own.idle.pop(session, None) is not None:
            own.busy.add(session)

    def end_request(self, session: McpSession) -> None:
        session.in_flight -= 1
        own = self._owners.get(session.owner)
        if own is not None and not session.in_flight and session in own.busy:
            own.busy.discard(session)
            own.idle[session] = self._clock()

    def close(self, session: McpSession) -> None:
        """Remove a session, however it ended."""
        own = self._owners.get(session.owner)
        if own is None or (session not in own.busy and session not in own.idle):
            return
        own.busy.discard(session)
        own.idle.pop(session, None)
        self._by_id.pop(session.id, None)
        self._count -= 1
        if not len(own):
            del self._owners[session.owner]

    def _evict_oldest_idle(self, own: _Owner, reason: str) -> list[McpSession]:
        if not own.idle:
            raise RateLimited(
                f"{reason}: end one, or try again in {RETRY_AFTER_S} s",
                retry_after_seconds=RETRY_AFTER_S,
                max=self.limits.per_owner,
            )
        oldest = next(iter(own.idle))
        self.close(oldest)
        return [oldest]

    def _evict_expired(self) -> None:
        """Drop sessions that their transport has ended by its idle timeout."""
        before = self._clock() - self.limits.idle_s - EXPIRY_MARGIN_S
        for own in [*self._owners.values()]:
            for session in [it for it, since in own.idle.items() if since < before]:
                self.close(session)
