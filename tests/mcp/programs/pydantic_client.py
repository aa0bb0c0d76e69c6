"""pydantic-ai with a model that follows a script: the toolset is listed, and called."""

# The package is in an environment of its own, which the type checker does not see.
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

import asyncio
import json
import sys
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

names: list[str] = []


def scripted(messages: Any, info: Any) -> Any:
    names[:] = [it.name for it in info.function_tools]
    if len(messages) == 1:
        return ModelResponse(parts=[ToolCallPart("find_tools", {"query": "make a token"})])
    return ModelResponse(parts=[TextPart("done")])


async def main() -> None:
    kind, target, *args = sys.argv[1:]
    if kind == "stdio":
        from fastmcp.client.transports import StdioTransport

        toolset = MCPToolset(StdioTransport(command=target, args=args))
    else:
        toolset = MCPToolset(target)
    agent = Agent(FunctionModel(scripted), toolsets=[toolset])
    async with agent:
        result = await agent.run("What makes a token?")
    sys.stdout.write(json.dumps({"tools": names, "called": str(result.all_messages())}) + "\n")


asyncio.run(main())
