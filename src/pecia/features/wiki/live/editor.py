"""One socket of a live document: its user, its send queue, and how it closes."""

from collections import deque
from collections.abc import Awaitable, Callable

import anyio

from pecia.features.wiki.live.core import frames
from pecia.features.wiki.live.limits import CLOSE_TIMEOUT_S, MAX_QUEUE_BYTES
from pecia.kernel.errors import PeciaError, RateLimited
from pecia.kernel.feature import MessageStream
from pecia.kernel.identity.caller import Caller


class LiveEditor:
    """A client that edits or watches. `writer` is the author of its updates."""

    def __init__(self, caller: Caller, writer: str, *, is_told: bool) -> None:
        self.caller = caller
        self.writer = writer
        self.may_write = False
        self.checked_at = -1.0
        self.received = 0
        self.is_behind = False
        """An update it sent was not stored: later acknowledgements would be wrong."""
        self.failure: PeciaError | None = None
        self.is_over = False
        self._is_told = is_told
        self._told = 0
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._news = anyio.Event()
        self._over = anyio.Event()
        self._scope = anyio.CancelScope()

    def send(self, message: bytes) -> None:
        """Queue a message. A client that does not read is disconnected."""
        if self.is_over:
            return
        self._waiting.append(message)
        self._waiting_bytes += len(message)
        # A single message may be as long as the document.
        if self._waiting_bytes > MAX_QUEUE_BYTES and len(self._waiting) > 1:
            self.close(RateLimited("the send queue of this socket is full"))
            self._scope.cancel()
        self._news.set()

    def refuse(self, reason: str) -> None:
        """Report a refused update; the socket stays open."""
        self.is_behind = True
        self.send(frames.encode_refusal(reason))

    def acknowledge(self) -> None:
        """All updates it sent are stored."""
        if self._is_told and not self.is_behind and self._told < self.received:
            self._told = self.received
            self.send(frames.encode_stored(self._told))

    def close(self, failure: PeciaError | None) -> None:
        """Close, after the queue is sent and the reason is given."""
        if self.is_over:
            return
        self.failure = failure
        self.is_over = True
        if failure is not None:
            self._waiting.append(frames.encode_refusal(failure.message))
        self._over.set()
        self._news.set()

    async def run(self, duplex: MessageStream, take: Callable[[bytes], Awaitable[None]]) -> None:
        """Both directions, until one side closes."""
        async with anyio.create_task_group() as tasks:
            self._scope = tasks.cancel_scope
            tasks.start_soon(self._receive_loop, duplex, take)
            tasks.start_soon(self._abort)
            await self._send_loop(duplex)
            tasks.cancel_scope.cancel()
        if self.failure is not None:
            raise self.failure

    async def _abort(self) -> None:
        """Abort a client that does not read the last messages in time."""
        await self._over.wait()
        await anyio.sleep(CLOSE_TIMEOUT_S)
        self._scope.cancel()

    async def _receive_loop(
        self, duplex: MessageStream, take: Callable[[bytes], Awaitable[None]]
    ) -> None:
        try:
            while not self.is_over:
                await take(await duplex.receive())
        except anyio.EndOfStream:
            self.close(None)
            self._scope.cancel()
        except PeciaError as error:
            self.close(error)

    async def _send_loop(self, duplex: MessageStream) -> None:
        try:
            while self._waiting or not self.is_over:
                if not self._waiting:
                    self._news = anyio.Event()
                    await self._news.wait()
                    continue
                message = self._waiting.popleft()
                self._waiting_bytes -= len(message)
                await duplex.send(message)
        except anyio.EndOfStream:
            self.close(None)
