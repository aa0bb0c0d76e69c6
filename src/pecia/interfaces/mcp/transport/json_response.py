"""The response of a session request as plain JSON, if nothing is sent before it.

The SDK streams every response of a session, and clients limit the size of one event; a JSON body
has no such limit. A response with notifications, questions or keepalive comments before it stays a
stream.
"""

from typing import Any

import orjson
from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send

from pecia.interfaces.mcp.transport.message import EVENT_STREAM, JSON


class JsonResponseSender:
    """A `send` for one response. It buffers the headers until the kind is known."""

    def __init__(self, send: Send, request_id: str | int) -> None:
        self._send = send
        self._id = request_id
        self._head: Message | None = None
        self._is_done = False

    async def __call__(self, message: Message) -> None:
        if self._is_done:
            return
        if message["type"] == "http.response.start" and _is_stream(message):
            self._head = message
            return
        if self._head is None:
            await self._send(message)
            return
        head, body = self._head, message.get("body", b"")
        self._head = None
        if (answer := _parse_answer(body, self._id)) is None:
            await self._send(head)
            await self._send(message)
            return
        # The rest is the end of the stream that was not sent.
        self._is_done = True
        headers = MutableHeaders(raw=[*head["headers"]])
        headers["content-type"] = JSON
        headers["content-length"] = str(len(answer))
        await self._send({**head, "headers": headers.raw})
        await self._send({"type": "http.response.body", "body": answer, "more_body": False})


def _is_stream(head: Message) -> bool:
    return MutableHeaders(raw=[*head["headers"]]).get("content-type", "").startswith(EVENT_STREAM)


def _parse_answer(event: bytes, request_id: str | int) -> bytes | None:
    """The JSON of an event, if it is the response to the request."""
    lines = event.splitlines()
    data = b"\n".join(it[5:].removeprefix(b" ") for it in lines if it.startswith(b"data:"))
    try:
        found: Any = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    is_answer = isinstance(found, dict) and "method" not in found and "id" in found
    return data if is_answer and found["id"] == request_id else None
