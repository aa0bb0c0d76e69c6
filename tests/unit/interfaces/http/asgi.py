"""Asks an ASGI app without a socket, to the byte: for what no polite client would send."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = (b"host", b"localhost:7324")


@dataclass(slots=True)
class Answer:
    """What came back."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list[tuple[bytes, bytes]])
    body: bytes = b""

    def header(self, name: str) -> str | None:
        values = [value for key, value in self.headers if key == name.encode()]
        assert len(values) < 2, f"{name} came {len(values)} times"
        return values[0].decode() if values else None


@dataclass(slots=True)
class Inner:
    """The app behind the front: reads the body, remembers its scope, says ok."""

    scopes: list[Scope] = field(default_factory=list[Scope])
    bodies: list[bytes] = field(default_factory=list[bytes])
    failure: Exception | None = None
    headers: Sequence[tuple[bytes, bytes]] = ((b"content-type", b"text/plain"),)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        if self.failure is not None:
            raise self.failure
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        self.bodies.append(body)
        await send({"type": "http.response.start", "status": 200, "headers": [*self.headers]})
        await send({"type": "http.response.body", "body": b"ok"})


async def ask(
    app: ASGIApp,
    path: str = "/",
    *,
    method: str = "GET",
    query: str = "",
    headers: Iterable[tuple[bytes, bytes]] = (HOST,),
    pieces: Sequence[bytes] = (b"",),
    peer: str | None = "127.0.0.1",
    never_ends: bool = False,
) -> Answer:
    """One request. `never_ends` keeps the body open after its last piece."""
    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "scheme": "http",
        "path": path,
        "query_string": query.encode(),
        "headers": [*headers],
        "client": (peer, 1) if peer else None,
    }
    waiting = [*pieces]
    answer = Answer()

    async def receive() -> Message:
        if waiting:
            piece = waiting.pop(0)
            more = never_ends or bool(waiting)
            return {"type": "http.request", "body": piece, "more_body": more}
        if never_ends:
            await anyio.sleep_forever()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status, answer.headers = message["status"], [*message["headers"]]
        else:
            answer.body += message.get("body", b"")

    await app(scope, receive, send)
    return answer
