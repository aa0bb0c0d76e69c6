"""Delays the end of stdin until all pending requests are answered, for piped input.

The SDK's server stops at EOF and drops requests in flight. So it sees EOF only when every request
is answered.
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
    """The part of the SDK's stream that is needed here."""

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
    """The same streams, with EOF of the first delayed."""
    to_server, incoming = anyio.create_memory_object_stream[Incoming]()
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage]()
    pending = _PendingRequests()
    input_scope = anyio.CancelScope()

    async def read_input() -> None:
        with input_scope:
            async with aclosing(reading), to_server:
                async for it in reading:
                    pending.add(it)
                    await to_server.send(it)
                await pending.wait_until_empty()

    async def write_output() -> None:
        async with from_server, aclosing(writing):
            async for it in from_server:
                await writing.send(it)
                pending.remove_answered(it)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read_input)
        tasks.start_soon(write_output)
        async with incoming, to_client:
            yield incoming, to_client
        # A server that stopped by itself reads no more; its output is still written.
        input_scope.cancel()


class _PendingRequests:
    """The requests that have no answer yet."""

    def __init__(self) -> None:
        self._ids: set[RequestId] = set()
        self._none = anyio.Event()
        self._none.set()

    def add(self, incoming: Incoming) -> None:
        message = incoming.message if isinstance(incoming, SessionMessage) else None
        if isinstance(message, JSONRPCRequest) and message.method != STREAM_METHOD:
            if not self._ids:
                self._none = anyio.Event()
            self._ids.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == CANCELLED_METHOD:
            # A cancelled request is not answered.
            self._drop((message.params or {}).get("requestId"))

    def remove_answered(self, to_client: SessionMessage) -> None:
        if isinstance(to_client.message, JSONRPCResponse | JSONRPCError):
            self._drop(to_client.message.id)

    async def wait_until_empty(self) -> None:
        with anyio.move_on_after(DRAIN_TIMEOUT_S):
            await self._none.wait()

    def _drop(self, request_id: RequestId | None) -> None:
        if request_id is not None:
            self._ids.discard(request_id)
        if not self._ids:
            self._none.set()
