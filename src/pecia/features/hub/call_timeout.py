"""Timeouts of one upstream call: idle, and total."""

from collections.abc import Mapping

import anyio

from pecia.features.hub.core.catalog import strip_invisible
from pecia.features.hub.model import ServerOptions
from pecia.features.hub.ports import UpstreamConnection, UpstreamProgress
from pecia.kernel.errors import Json, Timeout
from pecia.kernel.tool.call import Call

MAX_CALL_S = 3_600.0
MAX_PROGRESS_EVENTS = 1_000
MAX_MESSAGE_CHARS = 500


class CallTimeout:
    """Idle and total timeout of one call."""

    def __init__(self, call: Call, options: ServerOptions, timeout_s: float) -> None:
        self._call = call
        self._silence_s = options.timeout_s or timeout_s
        self._has_own = options.timeout_s is not None
        self._resets = options.resets_on_progress
        # Unless progress resets it, the idle timeout is the total timeout.
        most_s = options.most_s or MAX_CALL_S
        self._most_s = most_s if self._resets else min(most_s, self._silence_s)
        self._steps = 0

    async def call(
        self, line: UpstreamConnection, tool: str, arguments: Mapping[str, Json]
    ) -> dict[str, object]:
        begun = anyio.current_time()
        end = begun + self._most_s
        with anyio.CancelScope(deadline=min(end, begun + self._silence_s)) as scope:
            return await line.call(tool, arguments, self._progress(scope, end))
        is_total = self._resets and anyio.current_time() >= end
        took = self._most_s if is_total else min(self._most_s, self._silence_s)
        raise Timeout(
            f"Tool execution timed out after {took * 1000:.0f}ms",
            timeout_s=took,
            hint=self._hint(took),
        )

    def _hint(self, took: float) -> str:
        """What sets the limit that ended the call."""
        if took < self._silence_s or (self._resets and took == self._most_s):
            name = "max_total_timeout_s of this server"
        elif self._has_own:
            name = "timeout_s of this server"
        else:
            return "The limit is the setting hub.timeout_s; hub.set_server sets one for a server."
        return f"The limit is {name}; an administrator changes it with hub.set_server (waiting)."

    def _progress(self, scope: anyio.CancelScope, end: float) -> UpstreamProgress:
        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            if self._resets:
                scope.deadline = min(end, anyio.current_time() + self._silence_s)
            self._steps += 1
            # Progress is rate-limited: a server that reports every step is not forwarded in full.
            if self._steps <= MAX_PROGRESS_EVENTS:
                words = strip_invisible(message)[:MAX_MESSAGE_CHARS] if message else None
                await self._call.progress(progress, total, words)

        return on_progress
