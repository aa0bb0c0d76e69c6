"""Who a change is put down to: an id of ours, never a name. Pure."""

from pecia.kernel.tool.call import Call

AGENTS = ("mcp", "stdio")


def writer_of(call: Call) -> str:
    """An agent where the call came over MCP, else a person; the user that both act for."""
    kind = "agent" if call.trace.door in AGENTS else "principal"
    return f"{kind}-{call.caller.user_id}"
