"""A tool call as server-sent events: progress, what is known of the result so far, the result.

For callers that prefer `text/event-stream`. What refuses a call before it begins is answered as
ever: with its status and JSON.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

import anyio
import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pecia.app.dispatch import RequestContext
from pecia.interfaces.http.errors import HttpStatusError, render_error
from pecia.kernel.errors import Json, PeciaError
from pecia.kernel.tool.null_channel import NullChannel

MEDIA_TYPE = "text/event-stream"
JSON = "application/json"
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}

_WEIGHT = re.compile(r"0(\.[0-9]*)?|1(\.0*)?")


def wants_events(request: Request) -> bool:
    """Whether the caller of a tool names events, and does not prefer JSON."""
    if request.method != "POST":
        return False
    weights = _weights(request.headers.get("accept", ""))
    # Of equals the first wins: that is the order of a dict, and `max` keeps it.
    named = {it: weights[it] for it in weights if it in (MEDIA_TYPE, JSON) and weights[it] > 0}
    return max(named, key=lambda it: named[it], default=JSON) == MEDIA_TYPE


def _weights(accept: str) -> dict[str, float]:
    """Each media type of an Accept header with its `q`; 0 where that cannot be read."""
    found: dict[str, float] = {}
    for item in accept.lower().split(","):
        kind, *parameters = (it.strip() for it in item.split(";"))
        given = next((it[2:] for it in parameters if it.startswith("q=")), "1")
        found.setdefault(kind, float(given) if _WEIGHT.fullmatch(given) else 0.0)
    return found


@dataclass(slots=True)
class EventChannel(NullChannel):
    """Sends progress and partial results as events; drops logs and refuses questions."""

    send: Send
    lock: anyio.Lock = field(default_factory=anyio.Lock)

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        event = {"done": done, "total": total, "message": message}
        await self.emit("progress", orjson.dumps(event))

    async def partial(self, found: Mapping[str, Json]) -> None:
        await self.emit("partial", orjson.dumps(found))

    async def emit(self, name: str, data: bytes | memoryview) -> None:
        body = b"event: %s\ndata: %s\n\n" % (name.encode(), bytes(data))
        async with self.lock:
            await self.send({"type": "http.response.body", "body": body, "more_body": True})


class EventResponse(Response):
    """Runs a call while it is being answered, and cancels it if the client disconnects."""

    def __init__(
        self, work: Callable[[RequestContext], Awaitable[Response]], context: RequestContext
    ) -> None:
        super().__init__(headers=HEADERS, media_type=MEDIA_TYPE)
        self._work = work
        self._context = context
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = self.raw_headers
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        channel = EventChannel(send)

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            await self._run(channel, scope)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            tasks.cancel_scope.cancel()

    async def _run(self, channel: EventChannel, scope: Scope) -> None:
        try:
            answer = await self._work(replace(self._context, channel=channel))
        except (PeciaError, HttpStatusError) as failure:
            await channel.emit("error", render_error(failure, scope).body)
        else:
            await channel.emit("result", answer.body)
