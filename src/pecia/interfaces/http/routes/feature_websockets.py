"""Websockets of features: authenticated before they open, audited when they close."""

import math
from collections.abc import Awaitable, Callable
from contextlib import suppress

import anyio
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from pecia.app.app import App
from pecia.app.dispatch import Operation
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.http.errors import HttpStatusError, render_error
from pecia.interfaces.http.routes.feature_pages import audit_path_arguments, query_parameters
from pecia.kernel.errors import PeciaError
from pecia.kernel.feature import FeatureRequest, FeatureSocket
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call

SUBPROTOCOL = "pecia"
UNSUPPORTED_DATA = 1003
APPLICATION_CLOSE_CODE = 4000
"""Base of application close codes: ours are this plus the HTTP status."""
TRANSIENT_STATUSES = (408, 429)
"""y-websocket takes 4400 to 4499 for final and 4500 to 4599 for "try again later"."""


class WebSocketMessages:
    """A websocket as binary messages, both ways. EndOfStream: the peer disconnected."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    async def accept(self) -> None:
        """Accept it, unless already accepted."""
        if self._socket.application_state is WebSocketState.CONNECTING:
            offered: list[str] = self._socket.scope.get("subprotocols", [])
            try:
                await self._socket.accept(SUBPROTOCOL if SUBPROTOCOL in offered else None)
            except (OSError, WebSocketDisconnect):
                # Gone before it was accepted.
                raise anyio.EndOfStream from None

    async def receive(self) -> bytes:
        """The next message."""
        await self.accept()
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            raise anyio.EndOfStream
        if message.get("bytes") is None:
            await self._socket.close(UNSUPPORTED_DATA, "this websocket takes binary messages only")
            raise anyio.EndOfStream
        return message["bytes"]

    async def send(self, message: bytes) -> None:
        await self.accept()
        try:
            await self._socket.send_bytes(message)
        except WebSocketDisconnect:
            raise anyio.EndOfStream from None


def websocket_routes(app: App, authenticator: HttpAuthenticator) -> list[WebSocketRoute]:
    """One route per websocket."""
    return [
        WebSocketRoute(socket.path, _endpoint(app, authenticator, socket))
        for feature in app.features
        for socket in feature.sockets
    ]


def _endpoint(
    app: App, authenticator: HttpAuthenticator, socket: FeatureSocket
) -> Callable[[WebSocket], Awaitable[None]]:
    async def endpoint(connection: WebSocket) -> None:
        try:
            await _serve(app, authenticator, socket, connection)
        except (PeciaError, HttpStatusError) as failure:
            response = render_error(failure, connection.scope)
            if connection.application_state is WebSocketState.CONNECTING:
                # Who left before the answer is not told any more.
                with suppress(OSError):
                    await connection.send_denial_response(response)
            else:
                ours = failure.error if isinstance(failure, HttpStatusError) else failure
                await _close(connection, _close_code(ours.code.http), ours.code.name)

    return endpoint


def _close_code(status: int) -> int:
    transient = 100 if status in TRANSIENT_STATUSES else 0
    return APPLICATION_CLOSE_CODE + status + transient


async def _serve(
    app: App, authenticator: HttpAuthenticator, socket: FeatureSocket, connection: WebSocket
) -> None:
    context = authenticator.request_context(connection)
    who = await authenticator.authenticate(connection, context, scope=Scope.READ.value)
    path = {name: str(value) for name, value in connection.path_params.items()}
    query = query_parameters(connection)
    operation = Operation(
        socket.name,
        Scope.READ,
        arguments=audit_path_arguments(path),
        # No time limit: a socket stays open for as long as both sides want it.
        timeout_s=math.inf,
    )

    async def serve(call: Call) -> None:
        messages = WebSocketMessages(connection)
        # Most sockets end by a disconnect of the client: not an error.
        with suppress(anyio.EndOfStream):
            await socket.serve(FeatureRequest(call, path, query), messages)
            await messages.accept()

    await app.dispatcher.run(who, operation, context, serve)
    await _close(connection, 1000, "")


async def _close(connection: WebSocket, code: int, reason: str) -> None:
    is_open = WebSocketState.CONNECTED
    if connection.client_state is is_open and connection.application_state is is_open:
        with suppress(WebSocketDisconnect):
            await connection.close(code, reason)
