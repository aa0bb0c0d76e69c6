"""One path: a handler per method, and what all paths have in common. Knows no path by name."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pecia.interfaces.http.errors import HttpStatusError, render_error
from pecia.kernel.errors import MethodNotFound, NotFound, PeciaError

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]


class HttpEndpoint:
    """An ASGI app for one path. Renders errors, and answers OPTIONS and HEAD."""

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self._handlers = dict(handlers)
        if "GET" in self._handlers:
            self._handlers.setdefault("HEAD", self._handlers["GET"])
        self.allow = ", ".join(sorted({*self._handlers, "OPTIONS"}))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._dispatch(Request(scope, receive))
        except (PeciaError, HttpStatusError) as failure:
            response = render_error(failure, scope)
        await response(scope, receive, send)

    async def _dispatch(self, request: Request) -> Response:
        if handler := self._handlers.get(request.method):
            return await handler(request)
        if request.method == "OPTIONS":
            return Response(status_code=204, headers={"allow": self.allow})
        raise HttpStatusError(
            MethodNotFound(
                f"{request.method} is not allowed here; allowed: {self.allow}",
                allowed=[*self.allow.split(", ")],
            ),
            405,
            {"allow": self.allow},
        )


async def not_found(scope: Scope, receive: Receive, send: Send) -> None:
    """The 404 of every unknown path."""
    response = render_error(NotFound(f"there is nothing at {scope['path'][:200]}"), scope)
    await response(scope, receive, send)
