"""Tool lists, cached by view, scopes and revision. It calls nothing."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson
from mcp_types import SERVER_INFO_META_KEY
from mcp_types.methods import serialize_server_result

from pecia import __version__
from pecia.interfaces.mcp.content import COMPLETE_RESULT, drop_none
from pecia.interfaces.mcp.request_context import is_modern
from pecia.interfaces.mcp.views.endpoint_view import EndpointView
from pecia.interfaces.mcp.views.endpoints import McpEndpoint
from pecia.kernel.errors import InvalidFormat
from pecia.kernel.identity.caller import Caller, Operator
from pecia.kernel.tool.model import AnyTool
from pecia.kernel.tool.on_demand import load_tools
from pecia.kernel.tool.validate import URL_WITH_SECRETS, input_schema, output_schema
from pecia.kernel.tool.view import may_call

Schema: TypeAlias = Mapping[str, Any]

# Bounds that a call seldom exceeds; the error then names the bound.
_BOUNDS = frozenset(
    {"maxLength", "minLength", "pattern", "format", "minItems", "maxItems", "minimum", "maximum"}
)
_NULL_SCHEMA: Schema = {"type": "null"}


def compact_schema(schema: Schema) -> dict[str, Any]:
    """The same arguments by the same names, without bounds and null alternatives.

    `find_tools` returns the schemas of nested arguments: few calls need them.
    """
    known = schema.get("$defs", {})
    arguments = {name: _compact(it, known) for name, it in schema.get("properties", {}).items()}
    whole = {key: it for key, it in schema.items() if _is_shown(key, it)}
    return {**whole, "properties": arguments}


def _compact(schema: Schema, known: Mapping[str, Schema]) -> dict[str, Any]:
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        schema = {**known.get(name, {}), **{key: it for key, it in schema.items() if key != "$ref"}}
        # Each definition once per path: an upstream schema may be recursive.
        known = {key: it for key, it in known.items() if key != name}
    choices = [it for it in schema.get("anyOf", ()) if it != _NULL_SCHEMA]
    if len(choices) == 1:
        rest = {key: it for key, it in schema.items() if key != "anyOf"}
        return _compact({**choices[0], **rest}, known)
    compact = {key: it for key, it in schema.items() if _is_shown(key, it) and key != "properties"}
    if "properties" in schema:
        compact.pop("required", None)
    if "items" in compact:
        compact["items"] = _compact(compact["items"], known)
    if choices:
        compact["anyOf"] = [_compact(it, known) for it in choices]
    return compact


def _is_shown(key: str, value: Any) -> bool:
    if key in _BOUNDS or key in ("$defs", "unaudited", URL_WITH_SECRETS):
        return False
    return not (key == "default" and not value) and not (
        key == "additionalProperties" and isinstance(value, bool)
    )


TTL_MS = 60_000
PAGE_SIZE = 1_000
"""Tools in one page: most clients read the first page only."""
MAX_CACHED_PAGES = 2_000

VERSION_META_KEY = "pecia/version"
TOOLSET_META_KEY = "pecia/toolset"

Wire: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolListPage:
    """One page of tools, as an object and serialised."""

    wire: Wire
    body: bytes


class ToolListCache:
    """The pages of one endpoint."""

    def __init__(self, endpoint: McpEndpoint) -> None:
        self._info = {"name": endpoint.server_name, "version": endpoint.server_version}
        self._pages: OrderedDict[tuple[object, ...], ToolListPage] = OrderedDict()

    async def get_page(
        self, view: EndpointView, who: Caller | Operator, version: str, cursor: str | None = None
    ) -> ToolListPage:
        """The tools that this caller may call, from the cursor on."""
        start = _decode_cursor(cursor)
        idle = await view.idle_features(who) if view.is_compact else frozenset[str]()
        key = (view, _visibility_key(who), idle, version, start)
        if key not in self._pages:
            mine = [
                (name, tool)
                for name, tool in view.view.tools.items()
                if isinstance(who, Caller) and may_call(who, tool) and tool.feature not in idle
            ]
            await load_tools(tool for _, tool in mine)
            self._pages[key] = self._build_page(view, mine, version, start)
        self._pages.move_to_end(key)
        while len(self._pages) > MAX_CACHED_PAGES:
            self._pages.popitem(last=False)
        return self._pages[key]

    def _build_page(
        self, view: EndpointView, mine: Sequence[tuple[str, AnyTool]], version: str, start: int
    ) -> ToolListPage:
        wire: Wire = {
            **COMPLETE_RESULT,
            "tools": [
                describe_tool(name, it, is_lean=view.is_compact)
                for name, it in mine[start:][:PAGE_SIZE]
            ],
            "_meta": {VERSION_META_KEY: __version__},
            **cache_hints(view),
        }
        if len(mine) > start + PAGE_SIZE:
            wire["nextCursor"] = encode_cursor(start + PAGE_SIZE)
        wire = serialize_server_result("tools/list", version, wire)
        if is_modern(version):
            wire["_meta"][SERVER_INFO_META_KEY] = self._info
        return ToolListPage(wire, orjson.dumps(wire))


def describe_tool(name: str, tool: AnyTool, *, is_lean: bool) -> Wire:
    """A tool on the wire. At the discovery endpoint only what a model needs to call it."""
    wire = {
        "name": name,
        "description": tool.description,
        "inputSchema": input_schema(tool),
        "annotations": _hints(tool),
    }
    if is_lean:
        usual = {**_DEFAULT_HINTS, "idempotentHint": tool.read_only}
        hints = {key: it for key, it in _hints(tool).items() if it is not usual[key]}
        return {**wire, "inputSchema": compact_schema(input_schema(tool)), "annotations": hints}
    schema = output_schema(tool)
    return drop_none(
        {
            **wire,
            "title": tool.title or None,
            "outputSchema": schema if schema and schema.get("type") == "object" else None,
            "_meta": {TOOLSET_META_KEY: tool.feature},
        }
    )


def cache_hints(view: EndpointView) -> Wire:
    """How long a client may cache a list. Not if filtered: its cache key ignores our headers."""
    return {"ttlMs": 0 if view.is_narrowed else TTL_MS, "cacheScope": "private"}


def encode_cursor(position: int) -> str:
    return urlsafe_b64encode(b"at:%d" % position).decode()


def paginate(items: Sequence[Wire], cursor: str | None) -> tuple[Sequence[Wire], str | None]:
    """A page of a complete list, and the cursor of the next one."""
    start = _decode_cursor(cursor)
    return items[start : start + PAGE_SIZE], encode_cursor(start + PAGE_SIZE) if len(
        items
    ) > start + PAGE_SIZE else None


def _decode_cursor(cursor: str | None) -> int:
    if cursor is None:
        return 0
    try:
        word, _, number = urlsafe_b64decode(cursor).decode().partition(":")
        position = int(number)
    except ValueError:
        word, position = "", 0
    if word != "at" or position < 0:
        raise InvalidFormat(
            "invalid cursor; use the nextCursor of the previous page",
            field="cursor",
            got=cursor[:100],
        )
    return position


def _hints(tool: AnyTool) -> Wire:
    if tool.read_only:
        # Read-only implies idempotent.
        return {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": tool.open_world}
    return {
        "readOnlyHint": False,
        "destructiveHint": tool.destructive,
        "idempotentHint": tool.idempotent,
        "openWorldHint": tool.open_world,
    }


# The protocol's defaults for missing hints.
_DEFAULT_HINTS = {
    "readOnlyHint": False,
    "destructiveHint": True,
    "idempotentHint": False,
    "openWorldHint": True,
}


def _visibility_key(who: Caller | Operator) -> object:
    return (who.scopes, who.is_anonymous) if isinstance(who, Caller) else None
