"""Lists of tools, written once for each offer, set of scopes and revision. It calls nothing."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson
from mcp_types import SERVER_INFO_META_KEY
from mcp_types.methods import serialize_server_result

from pecia import __version__
from pecia.doors.mcp.content import COMPLETE, present
from pecia.doors.mcp.endpoints import Endpoint
from pecia.doors.mcp.era import is_modern
from pecia.doors.mcp.lean import lean
from pecia.doors.mcp.offer import Offer
from pecia.kernel.errors import InvalidFormat
from pecia.kernel.identity.caller import Caller, Operator
from pecia.kernel.tool.model import AnyTool
from pecia.kernel.tool.validate import input_schema, output_schema
from pecia.kernel.tool.view import may_call

TTL_MS = 60_000
PAGE = 1_000
"""Tools in one page: most clients read the first page only."""
KEPT = 2_000

VERSION_KEY = "pecia/version"
ROOM_KEY = "pecia/room"

Wire: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Page:
    """One page of tools, as an object and as the bytes that go out."""

    wire: Wire
    body: bytes


class Listings:
    """The pages of one endpoint."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._info = {"name": endpoint.server_name, "version": endpoint.server_version}
        self._pages: OrderedDict[tuple[object, ...], Page] = OrderedDict()

    def page(
        self, offer: Offer, who: Caller | Operator, version: str, cursor: str | None = None
    ) -> Page:
        """What this caller may call, from the cursor on."""
        start = _position(cursor)
        key = (offer, _reach(who), version, start)
        if key not in self._pages:
            self._pages[key] = self._made(offer, who, version, start)
        self._pages.move_to_end(key)
        while len(self._pages) > KEPT:
            self._pages.popitem(last=False)
        return self._pages[key]

    def _made(self, offer: Offer, who: Caller | Operator, version: str, start: int) -> Page:
        mine = [
            (name, tool)
            for name, tool in offer.view.tools.items()
            if isinstance(who, Caller) and may_call(who, tool)
        ]
        wire: Wire = {
            **COMPLETE,
            "tools": [
                described(name, it, is_lean=offer.is_lean) for name, it in mine[start:][:PAGE]
            ],
            "_meta": {VERSION_KEY: __version__},
            **freshness(offer),
        }
        if len(mine) > start + PAGE:
            wire["nextCursor"] = cursor_at(start + PAGE)
        wire = serialize_server_result("tools/list", version, wire)
        if is_modern(version):
            wire["_meta"][SERVER_INFO_META_KEY] = self._info
        return Page(wire, orjson.dumps(wire))


def described(name: str, tool: AnyTool, *, is_lean: bool) -> Wire:
    """A tool as clients see it. At the front desk only what a model needs to call it."""
    wire = {
        "name": name,
        "description": tool.description,
        "inputSchema": input_schema(tool),
        "annotations": _hints(tool),
    }
    if is_lean:
        usual = {**_USUAL, "idempotentHint": tool.read_only}
        hints = {key: it for key, it in _hints(tool).items() if it is not usual[key]}
        return {**wire, "inputSchema": lean(input_schema(tool)), "annotations": hints}
    schema = output_schema(tool)
    return present(
        {
            **wire,
            "title": tool.title or None,
            "outputSchema": schema if schema and schema.get("type") == "object" else None,
            "_meta": {ROOM_KEY: tool.room},
        }
    )


def freshness(offer: Offer) -> Wire:
    """How long a client may keep a list. The spec's key knows no headers of ours."""
    return {"ttlMs": 0 if offer.is_narrowed else TTL_MS, "cacheScope": "private"}


def cursor_at(position: int) -> str:
    return urlsafe_b64encode(b"at:%d" % position).decode()


def paged(items: Sequence[Wire], cursor: str | None) -> tuple[Sequence[Wire], str | None]:
    """A page of a list that is known whole, and the cursor of the next one."""
    start = _position(cursor)
    return items[start : start + PAGE], cursor_at(start + PAGE) if len(
        items
    ) > start + PAGE else None


def _position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    try:
        word, _, number = urlsafe_b64decode(cursor).decode().partition(":")
        position = int(number)
    except ValueError:
        word, position = "", 0
    if word != "at" or position < 0:
        raise InvalidFormat("this cursor is none of ours", field="cursor", got=cursor[:100])
    return position


def _hints(tool: AnyTool) -> Wire:
    if tool.read_only:
        # What changes nothing changes nothing the second time either.
        return {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": tool.open_world}
    return {
        "readOnlyHint": False,
        "destructiveHint": tool.destructive,
        "idempotentHint": tool.idempotent,
        "openWorldHint": tool.open_world,
    }


# What the protocol holds a tool to be of which nothing is said.
_USUAL = {
    "readOnlyHint": False,
    "destructiveHint": True,
    "idempotentHint": False,
    "openWorldHint": True,
}


def _reach(who: Caller | Operator) -> object:
    return (who.scopes, who.is_anonymous) if isinstance(who, Caller) else None
