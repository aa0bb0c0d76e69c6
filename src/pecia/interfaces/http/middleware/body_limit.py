"""Limits on request bodies: size and read timeout, whatever the headers claim."""

from dataclasses import dataclass

import anyio
from starlette.types import Message, Receive

from pecia.interfaces.http.errors import HttpStatusError
from pecia.kernel.errors import InvalidRequest, PayloadTooLarge, Timeout

DRAIN_TIMEOUT_S = 1.0


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """The limits of one request body."""

    max_bytes: int
    idle_s: float
    """The timeout for the next chunk of the body."""
    total_s: float


class LimitedBody:
    """A `receive` that counts bytes. Nothing over the limit is passed on."""

    def __init__(self, receive: Receive, limits: BodyLimits, *, is_complete: bool = False) -> None:
        self._receive = receive
        self._limits = limits
        self._seen_bytes = 0
        self._deadline: float | None = None
        self.is_complete = is_complete

    async def __call__(self) -> Message:
        if self.is_complete:
            return await self._receive()
        message = await self._receive_chunk()
        self._seen_bytes += len(message.get("body", b""))
        if self._seen_bytes > self._limits.max_bytes:
            raise payload_too_large(self._limits.max_bytes)
        self.is_complete = not message.get("more_body", False)
        return message

    async def drain(self) -> None:
        """Drain the rest of the body for a moment: a client that writes does not read.

        Without it the connection would be reset, and the error response lost.
        """
        with anyio.move_on_after(DRAIN_TIMEOUT_S):
            while not self.is_complete:
                message = await self._receive()
                self.is_complete = not message.get("more_body", False)

    async def _receive_chunk(self) -> Message:
        now = anyio.current_time()
        if self._deadline is None:
            self._deadline = now + self._limits.total_s
        limit_s = min(self._limits.idle_s, self._deadline - now)
        with anyio.CancelScope(deadline=now + limit_s):
            return await self._receive()
        # A body that timed out is not drained.
        self.is_complete = True
        slow = Timeout("the body was sent too slowly", timeout_s=limit_s)
        raise HttpStatusError(slow, 408, CLOSE_HEADERS)


CLOSE_HEADERS = {"connection": "close"}


def payload_too_large(max_bytes: int) -> HttpStatusError:
    error = PayloadTooLarge(
        f"the body is longer than {max_bytes} bytes", field="body", max=max_bytes
    )
    return HttpStatusError(error, error.code.http, CLOSE_HEADERS)


def check_length(declared: str | None, limits: BodyLimits) -> None:
    """Reject by `Content-Length` alone, before anything is read."""
    if declared is None:
        return
    if not declared.isascii() or not declared.isdigit():
        raise InvalidRequest("Content-Length is not a number")
    if int(declared) > limits.max_bytes:
        raise payload_too_large(limits.max_bytes)
