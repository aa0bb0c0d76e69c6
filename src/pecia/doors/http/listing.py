"""The tools that a caller may use, with their schemas, page by page."""

from typing import Any

from pydantic import Field, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from pecia.app.app import App
from pecia.doors.http.arguments import from_query, query_of
from pecia.doors.http.endpoint import Handler
from pecia.doors.http.errors import as_json
from pecia.doors.http.tools import path_of, takes_get
from pecia.doors.http.visit import Doorkeeper
from pecia.kernel.errors import Forbidden, Json
from pecia.kernel.identity.caller import Operator
from pecia.kernel.tool.complaints import bad_argument
from pecia.kernel.tool.model import AnyTool, Input
from pecia.kernel.tool.validate import input_schema, output_schema
from pecia.kernel.tool.view import full_name


class ListTools(Input):
    cursor: str = Field(default="", max_length=300, description="From `next_cursor`.")
    limit: int = Field(default=100, ge=1, le=500)


def list_tools(app: App, keeper: Doorkeeper) -> Handler:
    """Lists by full name, which is also the cursor: a page neither repeats nor skips a tool."""

    async def answer(request: Request) -> Response:
        who = await keeper.admit(request, keeper.visit(request))
        if isinstance(who, Operator):
            raise Forbidden("MCP tools are tenant-scoped")
        ask = _asked(query_of(request))
        view = await app.view_for(who)
        held = {full_name(it): it for it in view.for_caller(who).tools.values()}
        names = [name for name in sorted(held) if name > ask.cursor]
        page = names[: ask.limit]
        more = len(names) > ask.limit
        return as_json(
            {
                "tools": [described(held[name]) for name in page],
                "next_cursor": page[-1] if more else None,
            }
        )

    return answer


def described(tool: AnyTool) -> dict[str, Any]:
    """A tool as data: what it is for, how it is called, and what it does to the world."""
    methods: list[Json] = ["GET", "POST"] if takes_get(tool) else ["POST"]
    return {
        "name": full_name(tool),
        "room": tool.room,
        "path": path_of(tool),
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


def _asked(query: str) -> ListTools:
    try:
        return ListTools.model_validate(from_query(query, ListTools.model_json_schema()))
    except ValidationError as error:
        raise bad_argument(error, ListTools) from None
