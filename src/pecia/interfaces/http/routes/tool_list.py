"""The tools that a caller may use, with their schemas: page by page, or one by its name."""

from typing import Any

from pydantic import Field, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from pecia.app.app import App
from pecia.app.dispatch import operator_refusal
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.http.endpoint import Handler
from pecia.interfaces.http.errors import json_response
from pecia.interfaces.http.routes.arguments import arguments_from_query, raw_query
from pecia.interfaces.http.routes.tools import may_get, tool_path
from pecia.kernel.errors import Json, ToolNotFound
from pecia.kernel.identity.caller import Operator
from pecia.kernel.tool.argument_errors import argument_error
from pecia.kernel.tool.model import AnyTool, Input
from pecia.kernel.tool.on_demand import load_tools
from pecia.kernel.tool.validate import input_schema, output_schema
from pecia.kernel.tool.view import ToolView, full_name


class ListToolsQuery(Input):
    cursor: str = Field(default="", max_length=300, description="From `next_cursor`.")
    limit: int = Field(default=100, ge=1, le=500)


def tool_list_handler(app: App, authenticator: HttpAuthenticator) -> Handler:
    """Lists by full name, which is also the cursor: a page neither repeats nor skips a tool."""

    async def answer(request: Request) -> Response:
        who = await authenticator.authenticate(request, authenticator.request_context(request))
        if isinstance(who, Operator):
            raise operator_refusal()
        ask = _parse_query(raw_query(request))
        view = await app.view_for(who)
        held = {full_name(it): it for it in view.for_caller(who).tools.values()}
        names = [name for name in sorted(held) if name > ask.cursor]
        page = names[: ask.limit]
        more = len(names) > ask.limit
        await load_tools(held[name] for name in page)
        return json_response(
            {
                "tools": [describe_tool(held[name]) for name in page],
                "next_cursor": page[-1] if more else None,
            }
        )

    return answer


def tool_info_handler(app: App, authenticator: HttpAuthenticator) -> Handler:
    """Describes one tool, by any of its names, whether or not the caller's scopes suffice to call
    it: a command line parses its arguments by this, and the call itself is refused with the
    reason. Tools of upstream servers are in the caller's view or do not exist."""

    async def answer(request: Request) -> Response:
        who = await authenticator.authenticate(request, authenticator.request_context(request))
        if isinstance(who, Operator):
            raise operator_refusal()
        view = await app.view_for(who)
        tool = _find_named(view, request.path_params["name"])
        await load_tools([tool])
        return json_response(describe_tool(tool))

    return answer


def _find_named(view: ToolView, name: str) -> AnyTool:
    if (tool := view.lookup(name)) is not None:
        return tool
    holders: list[Json] = [*sorted(full_name(it) for it in view.tools.values() if it.name == name)]
    if not holders:
        raise view.not_found(name)
    raise ToolNotFound(
        f"{name} is ambiguous: {len(holders)} tools have that name", tool=name, expected=holders
    )


def describe_tool(tool: AnyTool) -> dict[str, Any]:
    """A tool as data: description, schemas, scope and annotations."""
    methods: list[Json] = ["GET", "POST"] if may_get(tool) else ["POST"]
    return {
        "name": full_name(tool),
        "toolset": tool.feature,
        "path": tool_path(tool),
        "methods": methods,
        "title": tool.title or None,
        "description": tool.description,
        "scope": tool.scope.value,
        "read_only": tool.read_only,
        "destructive": tool.destructive,
        "idempotent": tool.idempotent,
        "open_world": tool.open_world,
        "input_schema": input_schema(tool),
        "output_schema": output_schema(tool),
    }


def _parse_query(query: str) -> ListToolsQuery:
    try:
        return ListToolsQuery.model_validate(
            arguments_from_query(query, ListToolsQuery.model_json_schema())
        )
    except ValidationError as error:
        raise argument_error(error, ListToolsQuery) from None
