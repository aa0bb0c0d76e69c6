"""Every tool as a path: POST with a JSON object, and GET too for read-only tools."""

import json
from base64 import b64encode
from dataclasses import dataclass
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from pecia.app.app import App
from pecia.app.dispatch import RequestContext
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.http.disconnect import cancel_on_disconnect
from pecia.interfaces.http.endpoint import HttpEndpoint
from pecia.interfaces.http.errors import HttpStatusError, json_response
from pecia.interfaces.http.routes.arguments import (
    arguments_from_body,
    arguments_from_query,
    raw_query,
)
from pecia.interfaces.http.routes.tool_stream import EventResponse, wants_events
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
from pecia.kernel.tool.on_demand import load_tools
from pecia.kernel.tool.validate import input_schema, secret_fields
from pecia.kernel.tool.view import ToolView, full_name, prefixed_name

API = "/api/v1"


def tool_paths(app: App, authenticator: HttpAuthenticator) -> dict[str, HttpEndpoint]:
    """One endpoint per tool that is not hidden, under its path, its short and its former ones."""
    served = {
        tool: _tool_endpoint(ToolHandler(app, authenticator, tool), tool)
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


def _tool_endpoint(handler: "ToolHandler", tool: AnyTool) -> HttpEndpoint:
    methods = ("GET", "POST") if may_get(tool) else ("POST",)
    return HttpEndpoint(dict.fromkeys(methods, handler.handle))


def may_get(tool: AnyTool) -> bool:
    """Whether a GET may call it. Never with a secret among the arguments: URLs are logged."""
    return tool.read_only and not secret_fields(tool)


@dataclass(frozen=True, slots=True)
class ToolHandler:
    """Calls the tool of one path, or a dynamic one that the path names."""

    app: App
    authenticator: HttpAuthenticator
    tool: AnyTool | None = None

    async def handle(self, request: Request) -> Response:
        """Every stage of a tool call over HTTP, in order. Each one may refuse it.

        Before: the edge middleware checked host, origin and headers, and bounds the body.
        """
        context = self.authenticator.request_context(request)
        scope = self.tool.scope.value if self.tool else None
        who = await self.authenticator.authenticate(request, context, scope=scope)
        name, tool, view = await self._find(request, who)
        arguments = await self._read_arguments(request, who, tool, context)
        # Check the scope. Then, audited: rate limit, arguments, a slot, the tool.
        admitted = await self.app.dispatcher.admit(who, view, name, arguments, context)

        async def run(context: RequestContext) -> Response:
            result = await self.app.dispatcher.run_call(admitted, context)
            assert tool is not None  # The dispatcher refused any other name.
            return tool_response(result, tool)

        if wants_events(request):
            # With the first event the status is sent: what refuses the call must come before.
            admitted = self.app.dispatcher.prepare(admitted, context)
            return EventResponse(run, context)
        return await cancel_on_disconnect(request.receive, partial(run, context))

    async def _find(
        self, request: Request, who: Caller | Operator
    ) -> tuple[str, AnyTool | None, ToolView]:
        """The tool, the name that reaches it, and the view that it is called in."""
        if self.tool is not None:
            return prefixed_name(self.tool), self.tool, self.app.full_view
        view = await self.app.view_for(who)
        feature, name = request.path_params["toolset"], request.path_params["tool"]
        tool = view.lookup(f"{feature}__{name}")
        if tool is None and f"{feature}__{name}" in view.withheld:
            return f"{feature}__{name}", None, view
        if tool is None or (request.method != "POST" and not may_get(tool)):
            # No tool has a slash in its name: the call is refused and audited like any other.
            return f"{feature}/{name}", None, view
        return prefixed_name(tool), tool, view

    async def _read_arguments(
        self,
        request: Request,
        who: Caller | Operator,
        tool: AnyTool | None,
        context: RequestContext,
    ) -> dict[str, Json]:
        """The arguments. What cannot be parsed is audited as the call it was meant for."""
        if tool is None:
            return {}
        try:
            if request.method == "POST":
                return await arguments_from_body(request)
            await request.body()
            await load_tools([tool])
            return arguments_from_query(raw_query(request), input_schema(tool))
        except (PeciaError, HttpStatusError) as failure:
            error = failure.error if isinstance(failure, HttpStatusError) else failure
            refusal = self.app.dispatcher.record_refusal(who, full_name(tool), error, context)
            raise (failure if refusal is error else refusal) from None


def dynamic_tool_endpoint(app: App, authenticator: HttpAuthenticator) -> HttpEndpoint:
    """The endpoint for paths below a feature that were no tool at startup."""
    handler = ToolHandler(app, authenticator)
    return HttpEndpoint({"GET": handler.handle, "POST": handler.handle})


def tool_response(result: ToolResult, tool: AnyTool) -> Response:
    """The structured answer as it is; without one, the content. `_meta` is beside either. Where
    another server gave both, and they differ, both come as MCP writes them."""
    content: list[Json] = [_content_json(it) for it in result.content]
    meta: dict[str, Json] = {"_meta": dict(result.meta)} if result.meta else {}
    if result.failure is not None:
        raise _with_answer(result.failure, result.structured, content, meta)
    if result.is_error:
        raise UpstreamError(
            f"{full_name(tool)} reported a failure",
            result=result.structured,
            content=content,
            # It ran: only a read-only or idempotent tool may be retried.
            retryable=tool.read_only or tool.idempotent,
            **meta,
        )
    if result.structured is not None and result.is_foreign and not _repeats(result):
        return json_response({"content": content, "structuredContent": result.structured, **meta})
    return json_response(_answer_json(result.structured, content, meta))


def _repeats(result: ToolResult) -> bool:
    """Whether the content is the structured answer again, written as text, or nothing."""
    match result.content:
        case ():
            return True
        case (TextContent(text=text),):
            try:
                return bool(json.loads(text) == result.structured)
            except ValueError:
                return False
        case _:
            return False


def _answer_json(structured: Json, content: list[Json], meta: dict[str, Json]) -> Json:
    if structured is None:
        return {"content": content, **meta}
    if not meta:
        return structured
    if isinstance(structured, dict) and not structured.keys() & meta.keys():
        return {**structured, **meta}
    # No object, or one with a `_meta` of its own: then all of it as MCP writes it.
    return {"content": content, "structuredContent": structured, **meta}


def _with_answer(
    failure: PeciaError, structured: Json, content: list[Json], meta: dict[str, Json]
) -> PeciaError:
    failure.fields = {**failure.fields, "result": structured, "content": content, **meta}
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
