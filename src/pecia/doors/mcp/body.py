"""A request's body as frames. A call that cannot be read leaves its audit row here, as any other:
what is refused further on, by the SDK, is refused without one.
"""

from typing import Any, cast

from pecia.app.corridor import Corridor
from pecia.doors.mcp.frame import Message, is_request, parsed
from pecia.doors.mcp.standing import Standing
from pecia.kernel.errors import InvalidInput, PeciaError, RateLimited
from pecia.kernel.redaction.values import depth_of
from pecia.kernel.store.arguments import MAX_DEPTH
from pecia.kernel.tool.view import full_name

UNREADABLE = "mcp.unreadable"
"""The tool of the audit row, where nobody can say which one was meant."""

AROUND = 8
"""Levels around the arguments: the frame, its params, and those of a tool that calls tools."""


def read_frames(corridor: Corridor, here: Standing, body: bytes) -> Message | list[Any]:
    """The message, or the batch."""
    try:
        found = parsed(body)
        if _is_deep(body, found):
            raise InvalidInput(
                f"the frame is nested too deeply: at most {MAX_DEPTH} levels; flatten it",
                field="params",
                max=MAX_DEPTH,
            )
    except PeciaError as error:
        raise corridor.refused(here.who, UNREADABLE, error, here.visit) from None
    return found


def audit_malformed(corridor: Corridor, here: Standing, found: Message) -> None:
    """Write down a call whose name or arguments have the wrong type: the SDK will refuse it."""
    if found.get("method") != "tools/call" or not is_request(found):
        return
    params = cast(dict[str, Any], found.get("params") or {})
    name, arguments = params.get("name"), params.get("arguments")
    if isinstance(name, str) and (arguments is None or isinstance(arguments, dict)):
        return
    tool = here.offer.find(name) if isinstance(name, str) else None
    wrong = InvalidInput("the arguments of a call are an object", field="params.arguments")
    told = corridor.refused(here.who, full_name(tool) if tool else UNREADABLE, wrong, here.visit)
    if isinstance(told, RateLimited):
        raise told


def _is_deep(body: bytes, found: Message | list[Any]) -> bool:
    most = MAX_DEPTH + AROUND
    # Fewer brackets than levels: true of nearly every frame, and told without looking inside.
    if body.count(b"[") + body.count(b"{") <= most:
        return False
    return depth_of(found, most) > most
