"""A websocket whose client is gone has ended; that is no error of ours."""

from collections.abc import MutableMapping
from typing import Any

import anyio
import pytest
from starlette.websockets import WebSocket

from pecia.interfaces.http.routes.feature_websockets import WebSocketMessages

pytestmark = pytest.mark.anyio


def socket_of_a_client_that_left() -> WebSocket:
    """The server's protocol raises an OSError where nobody is there any more."""

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        raise ConnectionResetError(message["type"])

    return WebSocket({"type": "websocket", "subprotocols": []}, receive, send)


async def test_a_client_that_leaves_before_it_is_accepted_has_left() -> None:
    with pytest.raises(anyio.EndOfStream):
        await WebSocketMessages(socket_of_a_client_that_left()).send(b"first")
    with pytest.raises(anyio.EndOfStream):
        await WebSocketMessages(socket_of_a_client_that_left()).receive()
