"""FastMCP with the same tools. Run by the Python of its own environment, where we are not.

`python -m bench.serving.fastmcp_app cpu`: what a call costs, as JSON.
`python -m bench.serving.fastmcp_app serve PORT TOOLS`: a server.
"""

import json
import sys
from importlib import import_module
from typing import Any

import anyio

from bench.serving.asgi import COUNTS, costs

PATH = "/mcp"


def made(tools: int) -> Any:
    server = _fastmcp().FastMCP("rival")

    def add(a: int, b: int) -> dict[str, int]:
        """Add two numbers."""
        return {"sum": a + b}

    for number in range(tools):
        server.tool(add, name="add" if number == 0 else f"add{number}")
    return server.http_app(path=PATH, stateless_http=True)


async def measured() -> dict[str, Any]:
    found: dict[str, Any] = {"version": str(_fastmcp().__version__)}
    for tools in COUNTS:
        app = made(tools)
        async with app.router.lifespan_context(app):
            found[f"{tools}_tools"] = await costs(app, PATH, tools)
    return found


def _fastmcp() -> Any:
    """By its name: where we are checked and tested it is not installed."""
    return import_module("fastmcp")


def main() -> None:
    if sys.argv[1] == "cpu":
        print(json.dumps(anyio.run(measured)))
        return
    import uvicorn

    uvicorn.run(made(int(sys.argv[3])), port=int(sys.argv[2]), log_level="error")


if __name__ == "__main__":
    main()
