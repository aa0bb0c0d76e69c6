"""FastMCP over stdio: what connecting and a list come to. It sets no time limit."""

# The package is in an environment of its own, which the type checker does not see.
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

import asyncio
import json
import os
import sys
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def main() -> None:
    command, *args = sys.argv[1:]
    said: dict[str, Any] = {}
    try:
        transport = StdioTransport(command=command, args=args, env=dict(os.environ))
        async with Client(transport, init_timeout=None) as client:
            said["tools"] = [it.name for it in await client.list_tools()]
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what the test looks at.
        said["error"] = str(error)
    sys.stdout.write(json.dumps(said) + "\n")


asyncio.run(main())
