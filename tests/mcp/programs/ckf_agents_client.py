"""The OpenAI Agents SDK on the ckf endpoint, from its URL alone."""

# The package is in an environment of its own, which the type checker does not see.
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

import asyncio
import json
import sys

from agents.mcp import MCPServerStreamableHttp

TEXT = "A refund is money returned to a buyer. Refunds must be paid within 14 days."


async def main() -> None:
    async with MCPServerStreamableHttp(params={"url": sys.argv[1]}) as server:
        tools = await server.list_tools()
        called = await server.call_tool("ckf.compile", {"text": TEXT, "format": "markdown"})
    said = {"tools": [it.name for it in tools], "called": called.content[0].text}
    sys.stdout.write(json.dumps(said) + "\n")


asyncio.run(main())
