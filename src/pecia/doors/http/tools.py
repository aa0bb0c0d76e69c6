"""Every tool as a path: POST with a JSON object, and GET too where nothing is changed."""

from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from pecia.app.app import App
from pecia.app.corridor import Visit
from pecia.doors.http.arguments import from_body, from_query, query_of
from pecia.doors.http.endpoint import Endpoint, Handler
from pecia.doors.http.errors import Refused, as_json
from pecia.doors.http.gone import unless_gone
from pecia.doors.http.visit import Doorkeeper
from pecia.kernel.errors import Json, PeciaError, UpstreamError
from pecia.kernel.identity.caller import Caller, Operator
from pecia.kernel.tool.model import (
    AnyTool,
    Content,
    Embedded,
    ForeignContent,
    Link,
    Media,
    Result,
    Text,
)
from pecia.kernel.tool.validate import input_schema, secret_fields
from pecia.kernel.tool.view import full_name, prefixed

API = "/api/v1"


def tool_paths(app: App, keeper: Doorkeeper) -> dict[str, Endpoint]:
    """One endpoint per tool that is not hidden."""
    return {
        path_of(tool): Endpoint(ToolDoor(app, keeper, tool).handlers())
        for tool in app.everything.tools.values()
    }


def path_of(tool: AnyTool) -> str:
    """Where a tool is called."""
    return f"{API}/{tool.room}/{tool.name}"


def takes_get(tool: AnyTool) -> bool:
    """Whether a GET may call it. Never with a secret among the arguments: URLs are written down."""
    return tool.read_only and not secret_fields(tool)


@dataclass(frozen=True, slots=True)
class ToolDoor:
    """The handlers of one tool's path."""

    app: App
    keeper: Doorkeeper
    tool: AnyTool

    def handlers(self) -> Mapping[str, Handler]:
        return {"POST": self.post} | ({"GET": self.get} if takes_get(self.tool) else {})

    def handler(self, method: str) -> Handler | None:
        return self.handlers().get(method)

    async def post(self, request: Request) -> Response:
        return await self._call(request, from_body)

    async def get(self, request: Request) -> Response:
        async def read(request: Request) -> dict[str, Json]:
            await request.body()
            return from_query(query_of(request), input_schema(self.tool))

        return await self._call(request, read)

    async def _call(
        self, request: Request, read: Callable[[Request], Awaitable[dict[str, Json]]]
    ) -> Response:
        visit = self.keeper.visit(request)
        who = await self.keeper.admit(request, visit, scope=self.tool.scope.value)
        try:
            arguments = await read(request)
        except (PeciaError, Refused) as failure:
            raise self._refused(who, failure, visit) from None

        async def work() -> Result:
            return await self.app.call(who, prefixed(self.tool), arguments, visit)

        return as_response(await unless_gone(request.receive, work), self.tool)

    def _refused(
        self, who: Caller | Operator, failure: PeciaError | Refused, visit: Visit
    ) -> PeciaError | Refused:
        """The failure to read the arguments, written down as the call that it was meant to be."""
        found = failure.error if isinstance(failure, Refused) else failure
        told = self.app.corridor.refused(who, full_name(self.tool), found, visit)
        return failure if told is found else told


def unknown_tool(app: App, keeper: Doorkeeper) -> Endpoint:
    """The answer for a path below a room that was no tool at the start.

    A guest is called; anything else is refused and audited like any call.
    """

    async def call(request: Request) -> Response:
        visit = keeper.visit(request)
        who = await keeper.admit(request, visit)
        room, tool = request.path_params["room"], request.path_params["tool"]
        guest = (await app.view_for(who)).aliases.get(f"{room}__{tool}")
        if guest is not None and (handler := ToolDoor(app, keeper, guest).handler(request.method)):
            return await handler(request)
        # The slash keeps it from being the name of anything.
        return as_json((await app.call(who, f"{room}/{tool}", {}, visit)).structured)

    return Endpoint({"GET": call, "POST": call})


def as_response(result: Result, tool: AnyTool) -> Response:
    """The structured answer as it is; without one, the content."""
    content: list[Json] = [_content(it) for it in result.content]
    if result.failure is not None:
        raise _with_answer(result.failure, result.structured, content)
    if result.is_error:
        raise UpstreamError(
            f"{full_name(tool)} reported a failure",
            result=result.structured,
            content=content,
            # It ran: only what changes nothing, or the same thing twice, may be asked for again.
            retryable=tool.read_only or tool.idempotent,
        )
    return as_json(result.structured if result.structured is not None else {"content": content})


def _with_answer(failure: PeciaError, structured: Json, content: list[Json]) -> PeciaError:
    failure.fields = {**failure.fields, "result": structured, "content": content}
    return failure


def _content(it: Content) -> Json:
    match it:
        case ForeignContent(block):
            return dict(block)
        case Text(text):
            return {"type": "text", "text": text}
        case Link():
            return {"type": "resource_link", "uri": it.uri, "name": it.name, "title": it.title}
        case Embedded():
            return {"type": "resource", "uri": it.uri, "mime_type": it.mime_type, **_body(it.body)}
        case Media():
            return {"type": "media", "mime_type": it.mime_type, **_body(it.body)}


def _body(body: str | bytes) -> dict[str, Json]:
    if isinstance(body, str):
        return {"text": body}
    return {"blob": b64encode(body).decode()}
