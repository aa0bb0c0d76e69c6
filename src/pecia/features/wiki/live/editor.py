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

    def __init__(
        self, caller: Caller, writer: str, *, is_told: bool, is_told_rights: bool = False
    ) -> None:
        self.caller = caller
        self.writer = writer
        self.may_write = False
        self.checked_at = -1.0
        self.received = 0
        self.is_behind = False
        """An update it sent was not stored: later acknowledgements would be wrong."""
        self.failure: PeciaError | None = None
        """Why it was closed by us. None for a client that left: what it sent is still handled."""
        self.is_over = False
        self._is_told = is_told
        self.is_told_rights = is_told_rights
        self._told_rights: bool | None = None
        self._told = 0
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._news = anyio.Event()
        self._over = anyio.Event()
        self._received_all = anyio.Event()
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

    def set_rights(self, *, may_write: bool) -> None:
        """Whether it may write, as just checked; reported when it changes."""
        self.may_write = may_write
        if self.is_told_rights and self._told_rights is not may_write:
            self._told_rights = may_write
            self.send(frames.encode_rights(may_write=may_write))

    def close(self, failure: PeciaError | None) -> None:
        """Close, after the queue is sent and the reason is given."""
        self.failure = self.failure or failure
        if self.is_over:
            return
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

    async def _abort(self) -> None:
        """Abort a client whose last messages are not sent or received in time."""
        await self._over.wait()
        await anyio.sleep(CLOSE_TIMEOUT_S)
        self._scope.cancel()

    async def _receive_loop(
        self, duplex: MessageStream, take: Callable[[bytes], Awaitable[None]]
    ) -> None:
        try:
            while self.failure is None:
                await take(await duplex.receive())
        except anyio.EndOfStream:
            self.close(None)
            self._scope.cancel()
        except PeciaError as error:
            self.close(error)
        finally:
            self._received_all.set()

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
            # What it sent before it left may not have been received yet.
            await self._received_all.wait()
