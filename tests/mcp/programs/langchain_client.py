"""langchain-mcp-adapters, on the first major version of the Python SDK: HTTP, SSE and stdio."""

# The package is in an environment of its own, which the type checker does not see.
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

import asyncio
import json
import sys

from langchain_mcp_adapters.client import MultiServerMCPClient


async def main() -> None:
    kind, target, *args = sys.argv[1:]
    where = (
        {"transport": "stdio", "command": target, "args": args}
        if kind == "stdio"
        else {"transport": kind, "url": target}
    )
    tools = await MultiServerMCPClient({"pecia": where}).get_tools()
    found = next(it for it in tools if it.name == "find_tools")
    called = await found.ainvoke({"query": "make a token"})
    sys.stdout.write(json.dumps({"tools": [it.name for it in tools], "called": str(called)}) + "\n")


asyncio.run(main())
