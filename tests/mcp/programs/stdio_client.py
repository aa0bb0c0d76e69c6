"""The Python SDK over stdio, of either major version: what `initialize` and a list come to.

It sets no time limit: a server that leaves a request without an answer keeps it for ever.
"""

# The package is in an environment of its own, which the type checker does not see.
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

import asyncio
import json
import os
import sys
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    command, *args = sys.argv[1:]
    where = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    said: dict[str, Any] = {}
    async with stdio_client(where) as streams, ClientSession(*streams) as session:
        try:
            await session.initialize()
            said["tools"] = [it.name for it in (await session.list_tools()).tools]
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what the test looks at.
            said["error"] = str(error)
    sys.stdout.write(json.dumps(said) + "\n")


asyncio.run(main())
