"""The OpenAI Agents SDK: lists and calls over HTTP and stdio."""

# The package is in an environment of its own, which the type checker does not see.
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

import asyncio
import json
import sys

from agents.mcp import MCPServerStdio, MCPServerStreamableHttp


async def main() -> None:
    kind, target, *args = sys.argv[1:]
    server = (
        MCPServerStdio(params={"command": target, "args": args}, client_session_timeout_seconds=30)
        if kind == "stdio"
        else MCPServerStreamableHttp(params={"url": target}, client_session_timeout_seconds=30)
    )
    async with server:
        tools = await server.list_tools()
        called = await server.call_tool("find_tools", {"query": "make a token"})
    sys.stdout.write(json.dumps({"tools": [it.name for it in tools], "called": str(called)}) + "\n")


asyncio.run(main())
