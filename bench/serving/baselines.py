"""The apps that are compared: the bare SDK in its two ways of answering, and Pecia."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import mcp_types as types
import orjson
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.types import ASGIApp

from bench.dispatcher import Sum, Two, add, no_fetch
from pecia.app.app import SETTINGS, App, open_app
from pecia.interfaces.http.app import build_http_app
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.mcp.mount import mount_mcp
from pecia.kernel.feature import Feature
from pecia.kernel.identity.caller import Scope
from pecia.kernel.settings.load import load_settings
from pecia.kernel.tool.model import Tool
from pecia.kernel.tool.validate import input_schema
from pecia.kernel.tool.view import combine_tools

OURS, THEIRS = "/mcp/bench", "/mcp"


@asynccontextmanager
async def opened(home: Path) -> AsyncGenerator[App]:
    """A Pecia without limits that a bench would meet."""
    flags = {
        "home": str(home),
        "log_level": "error",
        "principal_rate_per_s": "1000000",
        "principal_burst": "1000000",
    }
    settings = load_settings(SETTINGS, flags=flags, environ={}, project_file=None, user_file=None)
    async with open_app(settings, fetch=no_fetch, report=lambda _: None) as app:
        yield app


def with_tools(app: App, tools: list[Tool[Any, Any]]) -> App:
    """The same Pecia with one feature, that of the bench."""
    return replace(
        app, features=(Feature("bench", tools=tuple(tools)),), full_view=combine_tools(tools)
    )


async def ours(app: App, tools: list[Tool[Any, Any]], stack: AsyncExitStack) -> ASGIApp:
    """Pecia with HTTP, MCP, dispatcher and audit."""
    served = with_tools(app, tools)
    authenticator = HttpAuthenticator(served)
    mount = mount_mcp(served, authenticator)
    assert mount.lifespan is not None
    await stack.enter_async_context(mount.lifespan())
    return build_http_app(served, authenticator, [mount])


async def bare(
    tools: list[Tool[Any, Any]], stack: AsyncExitStack, *, only_json: bool, stateless: bool = True
) -> ASGIApp:
    """The SDK with one handler. Answering JSON alone is cheaper and fails the older revisions."""
    server = _server(tools)
    manager = StreamableHTTPSessionManager(server, stateless=stateless, json_response=only_json)
    await stack.enter_async_context(manager.run())
    return StreamableHTTPASGIApp(manager)


def _server(tools: list[Tool[Any, Any]]) -> Server[Any]:
    listed = [
        types.Tool(name=it.name, description=it.description, input_schema=dict(input_schema(it)))
        for it in tools
    ]
    schemas = {it.name: it.input_schema for it in listed}

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed, ttl_ms=0, cache_scope="private")

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        asked = Two.model_validate(params.arguments)
        total = {"sum": asked.a + asked.b}
        text = types.TextContent(text=orjson.dumps(total).decode())
        return types.CallToolResult(content=[text], structured_content=total)

    return Server(
        "bare",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=schemas.get,
    )


def bench_tools(count: int) -> list[Tool[Any, Any]]:
    names = ["add", *(f"add{number}" for number in range(1, count))]
    return [Tool("bench", name, Scope.READ, Two, Sum, add) for name in names]
