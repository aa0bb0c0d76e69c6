"""Every tool as a path: POST with a JSON object, and GET too for read-only tools."""

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
from pecia.kernel.tool.former_names import former_toolsets
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


def tool_paths(app: App, authenticator: HttpAuthenticator) -> dict[str, HttpEndpoint]:
    """One endpoint per tool that is not hidden, under its path, its short and its former ones."""
    served = {
        tool: HttpEndpoint(ToolHandlers(app, authenticator, tool).handlers())
        for tool in app.full_view.tools.values()
    }
    other = {path: it for tool, it in served.items() for path in _other_paths(tool)}
    return {**other, **{tool_path(tool): it for tool, it in served.items()}}


def tool_path(tool: AnyTool) -> str:
    """Where a tool is called."""
    return f"{API}/{tool.feature}/{tool.name}"


def _other_paths(tool: AnyTool) -> list[str]:
    """`ckf.compile` is also `compile` below `ckf`; admin tools also answer below `office`."""
    short = tool.name.removeprefix(f"{tool.feature}.")
    former = [f"{API}/{toolset}/{tool.name}" for toolset in former_toolsets(tool.feature)]
    return [f"{API}/{tool.feature}/{short}", *former]


def may_get(tool: AnyTool) -> bool:
    """Whether a GET may call it. Never with a secret among the arguments: URLs are logged."""
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
        context = self.authenticator.request_context(request)
        who = await self.authenticator.authenticate(request, context, scope=self.tool.scope.value)
        try:
            arguments = await read(request)
        except (PeciaError, HttpStatusError) as failure:
            raise self._audit_refusal(who, failure, context) from None

        async def work() -> ToolResult:
            return await self.app.call(who, prefixed_name(self.tool), arguments, context)

        return tool_response(await cancel_on_disconnect(request.receive, work), self.tool)

    def _audit_refusal(
        self, who: Caller | Operator, failure: PeciaError | HttpStatusError, context: RequestContext
    ) -> PeciaError | HttpStatusError:
        """Audit arguments that could not be parsed, as the call they were meant for."""
        error = failure.error if isinstance(failure, HttpStatusError) else failure
        refusal = self.app.dispatcher.record_refusal(who, full_name(self.tool), error, context)
        return failure if refusal is error else refusal


def dynamic_tool_endpoint(app: App, authenticator: HttpAuthenticator) -> HttpEndpoint:
    """The endpoint for paths below a feature that were no tool at startup.

    A dynamic tool is called; anything else is refused and audited like any call.
    """

    async def call(request: Request) -> Response:
        context = authenticator.request_context(request)
        who = await authenticator.authenticate(request, context)
        feature, tool = request.path_params["room"], request.path_params["tool"]
        dynamic_tool = (await app.view_for(who)).aliases.get(f"{feature}__{tool}")
        if dynamic_tool is not None and (
            handler := ToolHandlers(app, authenticator, dynamic_tool).handler(request.method)
        ):
            return await handler(request)
        # No tool name has a slash, so this is never found.
        return json_response((await app.call(who, f"{feature}/{tool}", {}, context)).structured)

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
            # It ran: only a read-only or idempotent tool may be retried.
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
