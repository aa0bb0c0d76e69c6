"""A request's body as JSON-RPC messages. A call that cannot be parsed is audited here, because the
SDK's later refusals write no audit row.
"""

from typing import Any, cast

from pecia.app.dispatch import Dispatcher
from pecia.interfaces.mcp.request_context import McpRequestContext
from pecia.interfaces.mcp.transport.jsonrpc import RpcMessage, is_request, parse_body
from pecia.kernel.errors import InvalidInput, PeciaError, RateLimited
from pecia.kernel.redaction.values import measure_depth
from pecia.kernel.store.audit.arguments import MAX_DEPTH
from pecia.kernel.tool.view import full_name

UNREADABLE_CALL = "mcp.unreadable"
"""The tool name in the audit row where the tool is not known."""

ENVELOPE_DEPTH = 8
"""Levels around the arguments: the message, its params, and those of `call_tool`."""


def read_frames(
    dispatcher: Dispatcher, here: McpRequestContext, body: bytes
) -> RpcMessage | list[Any]:
    """The message, or the batch."""
    try:
        found = parse_body(body)
        if _is_too_deep(body, found):
            raise InvalidInput(
                f"the frame is nested too deeply: at most {MAX_DEPTH} levels; flatten it",
                field="params",
                max=MAX_DEPTH,
            )
    except PeciaError as error:
        raise dispatcher.record_refusal(here.caller, UNREADABLE_CALL, error, here.context) from None
    return found


def audit_malformed(dispatcher: Dispatcher, here: McpRequestContext, found: RpcMessage) -> None:
    """Audit a call whose name or arguments have the wrong type: the SDK will refuse it."""
    if found.get("method") != "tools/call" or not is_request(found):
        return
    params = cast(dict[str, Any], found.get("params") or {})
    name, arguments = params.get("name"), params.get("arguments")
    if isinstance(name, str) and (arguments is None or isinstance(arguments, dict)):
        return
    tool = here.view.find(name) if isinstance(name, str) else None
    wrong = InvalidInput("the arguments of a call must be an object", field="params.arguments")
    refusal = dispatcher.record_refusal(
        here.caller, full_name(tool) if tool else UNREADABLE_CALL, wrong, here.context
    )
    if isinstance(refusal, RateLimited):
        raise refusal


def _is_too_deep(body: bytes, found: RpcMessage | list[Any]) -> bool:
    limit = MAX_DEPTH + ENVELOPE_DEPTH
    # Fast path for nearly every message: fewer brackets than levels.
    if body.count(b"[") + body.count(b"{") <= limit:
        return False
    return measure_depth(found, limit) > limit
