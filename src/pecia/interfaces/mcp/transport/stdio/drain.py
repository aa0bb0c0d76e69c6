"""Answers that are still owed when stdin ends: who pipes frames in wants all of them.

The protocol's server stops at the end of what it reads, and drops what it has in hand. So the end
is told to it only when everything that was asked is answered.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Protocol, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse, RequestId

from pecia.interfaces.mcp.transport.stdio.relay import DRAIN_TIMEOUT_S, STREAM_METHOD

CANCELLED_METHOD = "notifications/cancelled"

Incoming: TypeAlias = SessionMessage | Exception


class MessageReader(Protocol):
    """As much of the protocol's stream as is needed here."""

    def __aiter__(self) -> AsyncIterator[Incoming]: ...
    async def aclose(self) -> None: ...


class MessageWriter(Protocol):
    async def send(self, item: SessionMessage, /) -> None: ...
    async def aclose(self) -> None: ...


@asynccontextmanager
async def drain_on_eof(
    reading: MessageReader, writing: MessageWriter
) -> AsyncGenerator[
    tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]
]:
    """The same streams, of which the first ends late."""
    to_server, heard = anyio.create_memory_object_stream[Incoming]()
    said, from_server = anyio.create_memory_object_stream[SessionMessage]()
    owed = _PendingRequests()
    bringing = anyio.CancelScope()

    async def bring() -> None:
        with bringing:
            async with aclosing(reading), to_server:
                async for it in reading:
                    owed.add(it)
                    await to_server.send(it)
                await owed.wait_until_empty()

    async def give() -> None:
        async with from_server, aclosing(writing):
            async for it in from_server:
                await writing.send(it)
                owed.remove_answered(it)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bring)
        tasks.start_soon(give)
        async with heard, said:
            yield heard, said
        # A server that stopped by itself reads no more; what it said is still given.
        bringing.cancel()


class _PendingRequests:
    """The requests that have no answer yet."""

    def __init__(self) -> None:
        self._ids: set[RequestId] = set()
        self._none = anyio.Event()
        self._none.set()

    def add(self, heard: Incoming) -> None:
        message = heard.message if isinstance(heard, SessionMessage) else None
        if isinstance(message, JSONRPCRequest) and message.method != STREAM_METHOD:
            if not self._ids:
                self._none = anyio.Event()
            self._ids.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == CANCELLED_METHOD:
            # It is not answered.
            self._drop((message.params or {}).get("requestId"))

    def remove_answered(self, said: SessionMessage) -> None:
        if isinstance(said.message, JSONRPCResponse | JSONRPCError):
            self._drop(said.message.id)

    async def wait_until_empty(self) -> None:
        with anyio.move_on_after(DRAIN_TIMEOUT_S):
            await self._none.wait()

    def _drop(self, request_id: RequestId | None) -> None:
        if request_id is not None:
            self._ids.discard(request_id)
        if not self._ids:
            self._none.set()
