"""Every tool as a path: POST with a JSON object, and GET too where nothing is changed."""

from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from pecia.app.app import App
from pecia.app.dispatch import RequestContext
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.http.disconnect import cancel_on_disconnect
from pecia.interfaces.http.endpoint import Handler, HttpEndpoint
from pecia.interfaces.http.errors import HttpStatusError, json_response
from pecia.interfaces.http.routes.arguments import (
    arguments_from_body,
    arguments_from_query,
    raw_query,
)
from pecia.kernel.errors import Json, PeciaError, UpstreamError
from pecia.kernel.identity.caller import Caller, Operator
from pecia.kernel.tool.model import (
    AnyTool,
    Content,
    EmbeddedResource,
    ForeignContent,
    MediaContent,
    ResourceLink,
    TextContent,
    ToolResult,
)
from pecia.kernel.tool.validate import input_schema, secret_fields
from pecia.kernel.tool.view import full_name, prefixed_name

API = "/api/v1"


def tool_paths(app: App, keeper: HttpAuthenticator) -> dict[str, HttpEndpoint]:
    """One endpoint per tool that is not hidden."""
    return {
        tool_path(tool): HttpEndpoint(ToolHandlers(app, keeper, tool).handlers())
        for tool in app.full_view.tools.values()
    }


def tool_path(tool: AnyTool) -> str:
    """Where a tool is called."""
    return f"{API}/{tool.feature}/{tool.name}"


def may_get(tool: AnyTool) -> bool:
    """Whether a GET may call it. Never with a secret among the arguments: URLs are written down."""
    return tool.read_only and not secret_fields(tool)


@dataclass(frozen=True, slots=True)
class ToolHandlers:
    """The handlers of one tool's path."""

    app: App
    authenticator: HttpAuthenticator
    tool: AnyTool

    def handlers(self) -> Mapping[str, Handler]:
        return {"POST": self.post} | ({"GET": self.get} if may_get(self.tool) else {})

    def handler(self, method: str) -> Handler | None:
        return self.handlers().get(method)

    async def post(self, request: Request) -> Response:
        return await self._call(request, arguments_from_body)

    async def get(self, request: Request) -> Response:
        async def read(request: Request) -> dict[str, Json]:
            await request.body()
            return arguments_from_query(raw_query(request), input_schema(self.tool))

        return await self._call(request, read)

    async def _call(
        self, request: Request, read: Callable[[Request], Awaitable[dict[str, Json]]]
    ) -> Response:
        visit = self.authenticator.request_context(request)
        who = await self.authenticator.authenticate(request, visit, scope=self.tool.scope.value)
        try:
            arguments = await read(request)
        except (PeciaError, HttpStatusError) as failure:
            raise self._audit_refusal(who, failure, visit) from None

        async def work() -> ToolResult:
            return await self.app.call(who, prefixed_name(self.tool), arguments, visit)

        return tool_response(await cancel_on_disconnect(request.receive, work), self.tool)

    def _audit_refusal(
        self, who: Caller | Operator, failure: PeciaError | HttpStatusError, visit: RequestContext
    ) -> PeciaError | HttpStatusError:
        """The failure to read the arguments, written down as the call that it was meant to be."""
        found = failure.error if isinstance(failure, HttpStatusError) else failure
        told = self.app.dispatcher.record_refusal(who, full_name(self.tool), found, visit)
        return failure if told is found else told


def dynamic_tool_endpoint(app: App, keeper: HttpAuthenticator) -> HttpEndpoint:
    """The answer for a path below a room that was no tool at the start.

    A guest is called; anything else is refused and audited like any call.
    """

    async def call(request: Request) -> Response:
        visit = keeper.request_context(request)
        who = await keeper.authenticate(request, visit)
        room, tool = request.path_params["room"], request.path_params["tool"]
        guest = (await app.view_for(who)).aliases.get(f"{room}__{tool}")
        if guest is not None and (
            handler := ToolHandlers(app, keeper, guest).handler(request.method)
        ):
            return await handler(request)
        # The slash keeps it from being the name of anything.
        return json_response((await app.call(who, f"{room}/{tool}", {}, visit)).structured)

    return HttpEndpoint({"GET": call, "POST": call})


def tool_response(result: ToolResult, tool: AnyTool) -> Response:
    """The structured answer as it is; without one, the content."""
    content: list[Json] = [_content_json(it) for it in result.content]
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
    return json_response(
        result.structured if result.structured is not None else {"content": content}
    )


def _with_answer(failure: PeciaError, structured: Json, content: list[Json]) -> PeciaError:
    failure.fields = {**failure.fields, "result": structured, "content": content}
    return failure


def _content_json(it: Content) -> Json:
    match it:
        case ForeignContent(block):
            return dict(block)
        case TextContent(text):
            return {"type": "text", "text": text}
        case ResourceLink():
            return {"type": "resource_link", "uri": it.uri, "name": it.name, "title": it.title}
        case EmbeddedResource():
            return {
                "type": "resource",
                "uri": it.uri,
                "mime_type": it.mime_type,
                **_body_json(it.body),
            }
        case MediaContent():
            return {"type": "media", "mime_type": it.mime_type, **_body_json(it.body)}


def _body_json(body: str | bytes) -> dict[str, Json]:
    if isinstance(body, str):
        return {"text": body}
    return {"blob": b64encode(body).decode()}
