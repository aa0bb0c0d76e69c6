"""The websockets that rooms bring: authenticated before they open, audited when they close."""

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
"""Where the close codes of applications begin: ours are this and the HTTP status."""


class WebSocketMessages:
    """A websocket as messages of bytes, both ways. EndOfStream says that nobody is there."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    async def accept(self) -> None:
        """Accept it, unless it is."""
        if self._socket.application_state is WebSocketState.CONNECTING:
            offered: list[str] = self._socket.scope.get("subprotocols", [])
            await self._socket.accept(SUBPROTOCOL if SUBPROTOCOL in offered else None)

    async def receive(self) -> bytes:
        """The next message."""
        await self.accept()
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            raise anyio.EndOfStream
        if message.get("bytes") is None:
            await self._socket.close(UNSUPPORTED_DATA, "messages are binary here")
            raise anyio.EndOfStream
        return message["bytes"]

    async def send(self, message: bytes) -> None:
        await self.accept()
        try:
            await self._socket.send_bytes(message)
        except WebSocketDisconnect:
            raise anyio.EndOfStream from None


def websocket_routes(app: App, keeper: HttpAuthenticator) -> list[WebSocketRoute]:
    """One path for each."""
    return [
        WebSocketRoute(socket.path, _endpoint(app, keeper, socket))
        for room in app.features
        for socket in room.sockets
    ]


def _endpoint(
    app: App, keeper: HttpAuthenticator, socket: FeatureSocket
) -> Callable[[WebSocket], Awaitable[None]]:
    async def endpoint(connection: WebSocket) -> None:
        try:
            await _serve(app, keeper, socket, connection)
        except (PeciaError, HttpStatusError) as failure:
            response = render_error(failure, connection.scope)
            if connection.application_state is WebSocketState.CONNECTING:
                await connection.send_denial_response(response)
            else:
                ours = failure.error if isinstance(failure, HttpStatusError) else failure
                await _close(connection, APPLICATION_CLOSE_CODE + ours.code.http, ours.code.name)

    return endpoint


async def _serve(
    app: App, keeper: HttpAuthenticator, socket: FeatureSocket, connection: WebSocket
) -> None:
    visit = keeper.request_context(connection)
    who = await keeper.authenticate(connection, visit, scope=Scope.READ.value)
    path = {name: str(value) for name, value in connection.path_params.items()}
    query = query_parameters(connection)
    errand = Operation(
        socket.name,
        Scope.READ,
        arguments=audit_path_arguments(path),
        # A socket is open for as long as both sides want it.
        timeout_s=math.inf,
    )

    async def serve(call: Call) -> None:
        messages = WebSocketMessages(connection)
        # That the other side went away is how most sockets end.
        with suppress(anyio.EndOfStream):
            await socket.serve(FeatureRequest(call, path, query), messages)
        await messages.accept()

    await app.dispatcher.run(who, errand, visit, serve)
    await _close(connection, 1000, "")


async def _close(connection: WebSocket, code: int, reason: str) -> None:
    is_open = WebSocketState.CONNECTED
    if connection.client_state is is_open and connection.application_state is is_open:
        await connection.close(code, reason)
