"""Whether anybody uses the server: requests and sockets in flight, and when the last one ended."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
from starlette.types import ASGIApp, Receive, Scope, Send

MAX_POLL_INTERVAL_S = 5.0


@dataclass(slots=True)
class ActivityMonitor:
    """Counts what is in flight. An open stream or socket is in flight until it is closed."""

    clock: Callable[[], float] = time.monotonic
    in_flight: int = 0
    last_end: float = field(init=False)

    def __post_init__(self) -> None:
        self.last_end = self.clock()

    def wrap(self, app: ASGIApp) -> ASGIApp:
        async def count(scope: Scope, receive: Receive, send: Send) -> None:
            self.in_flight += 1
            try:
                await app(scope, receive, send)
            finally:
                self.in_flight -= 1
                self.last_end = self.clock()

        return count

    def idle_s(self) -> float:
        """For how long nobody has used it."""
        return 0.0 if self.in_flight else self.clock() - self.last_end

    async def wait_until_idle(self, limit_s: float) -> None:
        """Return when nobody has used it for that long."""
        while True:
            left = limit_s - self.idle_s()
            if left <= 0:
                return
            await anyio.sleep(min(left, MAX_POLL_INTERVAL_S))
