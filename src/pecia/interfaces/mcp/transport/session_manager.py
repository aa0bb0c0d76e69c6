"""The SDK's sessions of one endpoint, within limits shared by all endpoints."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Message, Receive, Scope, Send

from pecia.interfaces.mcp.transport.exchange import NO_SDK_HOST_CHECK
from pecia.interfaces.mcp.transport.session_table import McpSession, SessionTable

SESSION_ID_HEADER = "mcp-session-id"
_SESSION_ID_HEADER = SESSION_ID_HEADER.encode()


class SessionManager:
    """Serves the requests of sessions. The session table has the limits."""

    def __init__(self, server: Server[Any], table: SessionTable, body_limit_bytes: int) -> None:
        self._table = table
        self._streams: set[anyio.CancelScope] = set()
        self._sdk = StreamableHTTPSessionManager(
            server,
            security_settings=NO_SDK_HOST_CHECK,
            max_request_body_size=body_limit_bytes,
            session_idle_timeout=table.limits.idle_s,
            max_sessions=None,
        )

    def lifespan(self) -> AbstractAsyncContextManager[None]:
        """Enter it while the endpoint is served."""
        return self._sdk.run()

    def close_streams(self) -> None:
        """End the streams on which clients only listen: a server that stops waits for calls alone.
        They have no end of their own, and calls are answered on streams of their own."""
        for it in [*self._streams]:
            it.cancel()

    async def serve(self, scope: Scope, receive: Receive, send: Send, owner: str) -> None:
        """One request of a session, or the handshake that begins one."""
        given = next(
            (value for name, value in scope["headers"] if name == _SESSION_ID_HEADER), None
        )
        if given is None:
            await self._begin(scope, receive, send, owner)
        else:
            await self._use(scope, receive, send, self._table.find(given.decode("latin-1"), owner))

    async def _begin(self, scope: Scope, receive: Receive, send: Send, owner: str) -> None:
        self._table.count_handshake(owner)
        async with open_session(self._table, owner) as session:

            async def send_noting_id(message: Message) -> None:
                # Before the client has the id: its next request may come at once.
                if message["type"] == "http.response.start" and message["status"] < 400:
                    self._identify(session, message, scope)
                await send(message)

            await self._sdk.asgi_app(scope, receive, send_noting_id)

    def _identify(self, session: McpSession, started: Message, scope: Scope) -> None:
        found = next(
            (value for name, value in started["headers"] if name == _SESSION_ID_HEADER), None
        )
        if found is not None:
            end = partial(self._end, found, scope["user"])
            self._table.identify(session, found.decode("latin-1"), end)

    async def _use(
        self, scope: Scope, receive: Receive, send: Send, session: McpSession | None
    ) -> None:
        if session is None:
            # The SDK answers 404, and clients initialize again.
            await self._sdk.asgi_app(scope, receive, send)
            return
        is_over = False

        async def send_noting_end(message: Message) -> None:
            nonlocal is_over
            if message["type"] == "http.response.start":
                was_deleted = scope["method"] == "DELETE" and message["status"] < 400
                is_over = was_deleted or message["status"] == 404
            await send(message)

        self._table.begin_request(session)
        try:
            if scope["method"] == "GET":
                await self._listen(scope, receive, send_noting_end)
            else:
                await self._sdk.asgi_app(scope, receive, send_noting_end)
        finally:
            self._table.end_request(session)
            if is_over:
                self._table.close(session)

    async def _listen(self, scope: Scope, receive: Receive, send: Send) -> None:
        with anyio.CancelScope() as stream:
            self._streams.add(stream)
            try:
                await self._sdk.asgi_app(scope, receive, send)
            finally:
                self._streams.discard(stream)
        if stream.cancelled_caught:
            # A complete response: the client sees an end, not a broken connection.
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _end(self, session_id: bytes, user: object) -> None:
        """End a session as its client would: by DELETE."""
        scope: Scope = {
            "type": "http",
            "method": "DELETE",
            "path": "/",
            "query_string": b"",
            "headers": [(_SESSION_ID_HEADER, session_id)],
            "user": user,
        }
        await self._sdk.asgi_app(scope, _empty_receive, _discard_send)


@asynccontextmanager
async def open_session(table: SessionTable, owner: str) -> AsyncGenerator[McpSession]:
    """An entry in the table while the block runs; a session that got its id keeps it afterwards."""
    session, ended = table.open(owner)
    try:
        for it in ended:
            if it.end is not None:
                await it.end()
        yield session
    finally:
        if session.id:
            table.end_request(session)
        else:
            table.close(session)


async def _empty_receive() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _discard_send(message: Message) -> None:
    """Discards the response."""
