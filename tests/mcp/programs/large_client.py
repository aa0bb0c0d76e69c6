"""The Python SDK, of either major version: a long list and a long document, read to their ends."""

# The package is in an environment of its own, which the type checker does not see.
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportAttributeAccessIssue=false, reportUnknownParameterType=false

import asyncio
import json
import os
import sys
from hashlib import sha256
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client


def connected(kind: str, target: str, args: list[str]) -> Any:
    if kind == "stdio":
        where = StdioServerParameters(command=target, args=args, env=dict(os.environ))
        return stdio_client(where)
    if kind == "sse":
        return sse_client(target)
    from mcp.client import streamable_http

    # The same function under the names of the two major versions.
    names = ("streamable_http_client", "streamablehttp_client")
    name = next(it for it in names if hasattr(streamable_http, it))
    return getattr(streamable_http, name)(target)


async def called(session: Any, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result = await session.call_tool(name, arguments)
    found = getattr(result, "structured_content", None) or result.structuredContent
    assert found, result
    return found


async def main() -> None:
    kind, target, *args = sys.argv[1:]
    async with (
        connected(kind, target, args) as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        await session.initialize()
        names: list[str] = []
        cursor: str | None = None
        while True:
            asked = {"cursor": cursor} if cursor else {}
            page = await called(session, "list_documents", asked)
            names += [it["docName"] for it in page["documents"]]
            cursor = page.get("nextCursor")
            if not cursor:
                break
        text, offset = "", 0
        while offset is not None:
            asked = {"path": "long.md", **({"offset": offset} if offset else {})}
            part = await called(session, "read_document", asked)
            text += part["content"]
            offset = part.get("nextOffset")
        # Still there?
        tools = len((await session.list_tools()).tools)
    said: dict[str, Any] = {"names": len(set(names)), "rows": len(names), "tools": tools}
    said["text"] = sha256(text.encode()).hexdigest()
    sys.stdout.write(json.dumps(said) + "\n")


asyncio.run(main())
