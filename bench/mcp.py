"""What a call over MCP costs: CPU of one process per request, in process and without sockets.

The bare SDK with one handler, against Pecia with its front, door, corridor and audit: the same
request, at 1, 60 and 1,000 tools, in both eras.
"""

import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import orjson
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.types import ASGIApp, Message

from bench import result
from bench.corridor import Sum, Two, add, no_fetch
from pecia.app.app import SETTINGS, App, open_app
from pecia.doors.http.app import http_app
from pecia.doors.http.visit import Doorkeeper
from pecia.doors.mcp.mount import mount_mcp
from pecia.kernel.identity.caller import Scope
from pecia.kernel.room import Room
from pecia.kernel.settings.load import load
from pecia.kernel.tool.model import Tool
from pecia.kernel.tool.validate import input_schema
from pecia.kernel.tool.view import combined

CALLS = 300
ROUNDS = 5
META = "io.modelcontextprotocol"
MODERN = "2026-07-28"


async def measure(app: App) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for count in (1, 60, 1000):
        tools = _tools(count)
        async with AsyncExitStack() as stack:
            rivals = Rivals(
                bare=await _bare(tools, stack, only_json=False),
                bare_json=await _bare(tools, stack, only_json=True),
                ours=await _ours(app, tools, stack),
            )
            figures[f"{count}_tools"] = {
                f"{era}_{name}": await _compared(rivals, (method, params), era, calls)
                for era in ("modern", "legacy")
                for name, method, params, calls in (
                    ("call", "tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}, CALLS),
                    # The bare list grows with the tools; the figure needs no more of them.
                    ("list", "tools/list", {}, max(10, CALLS // count)),
                )
            }
            await app.ledger.drain()
    return figures


@dataclass(frozen=True, slots=True)
class Rivals:
    """The SDK able to stream, as the suite demands and as we are; the SDK answering JSON alone,
    which is cheaper and cannot pass the older revisions; and Pecia."""

    bare: ASGIApp
    bare_json: ASGIApp
    ours: ASGIApp


async def _compared(
    rivals: Rivals, asked: tuple[str, Mapping[str, Any]], era: str, calls: int
) -> dict[str, float]:
    found = {
        "bare_us": await _cpu_us(_sender(rivals.bare, "/mcp", *asked, era), calls),
        "bare_json_us": await _cpu_us(_sender(rivals.bare_json, "/mcp", *asked, era), calls),
        "pecia_us": await _cpu_us(_sender(rivals.ours, "/mcp/bench", *asked, era), calls),
    }
    return {
        **found,
        "over_us": round(found["pecia_us"] - found["bare_us"], 1),
        "over_json_us": round(found["pecia_us"] - found["bare_json_us"], 1),
    }


async def _cpu_us(step: Callable[[], Awaitable[None]], calls: int) -> float:
    """CPU microseconds a step, the best of some rounds: noise only ever adds."""
    best = float("inf")
    await step()
    for _ in range(ROUNDS):
        started = time.process_time()
        for _ in range(calls):
            await step()
        best = min(best, (time.process_time() - started) / calls * 1e6)
    return round(best, 1)


async def _bare(tools: list[Tool[Any, Any]], stack: AsyncExitStack, *, only_json: bool) -> ASGIApp:
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

    server: Server[Any] = Server(
        "bare",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=schemas.get,
    )
    manager = StreamableHTTPSessionManager(server, stateless=True, json_response=only_json)
    await stack.enter_async_context(manager.run())
    return StreamableHTTPASGIApp(manager)


async def _ours(app: App, tools: list[Tool[Any, Any]], stack: AsyncExitStack) -> ASGIApp:
    house = replace(app, rooms=(Room("bench", tools=tuple(tools)),), everything=combined(tools))
    keeper = Doorkeeper(house)
    annex = mount_mcp(house, keeper)
    assert annex.running is not None
    await stack.enter_async_context(annex.running())
    return http_app(house, keeper, [annex])


def _tools(count: int) -> list[Tool[Any, Any]]:
    names = ["add", *(f"add{number}" for number in range(1, count))]
    return [Tool("bench", name, Scope.READ, Two, Sum, add) for name in names]


def _sender(
    asgi: ASGIApp, path: str, method: str, params: Mapping[str, Any], era: str
) -> Callable[[], Awaitable[None]]:
    """One request, as a server would hand it to the app."""
    scope, body = _request(path, method, params, era)

    async def step() -> None:
        waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        answer: list[Message] = []

        async def receive() -> Message:
            if waiting:
                return waiting.pop()
            await anyio.sleep_forever()
            raise AssertionError

        async def send(message: Message) -> None:
            answer.append(message)

        await asgi(dict(scope), receive, send)
        assert answer[0]["status"] == 200, answer

    return step


def _request(
    path: str, method: str, params: Mapping[str, Any], era: str
) -> tuple[dict[str, Any], bytes]:
    headers = {
        "host": "127.0.0.1",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
    }
    if era == "modern":
        meta: dict[str, Any] = {f"{META}/protocolVersion": MODERN, f"{META}/clientCapabilities": {}}
        params = {**params, "_meta": meta}
        headers |= {"mcp-protocol-version": MODERN, "mcp-method": method}
        headers |= {"mcp-name": str(params["name"])} if "name" in params else {}
    body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 80),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    return scope, body


async def run(home: Path) -> dict[str, Any]:
    flags = {
        "home": str(home),
        "log_level": "error",
        "principal_rate_per_s": "1000000",
        "principal_burst": "1000000",
    }
    settings = load(SETTINGS, flags=flags, environ={}, project_file=None, user_file=None)
    async with open_app(settings, fetch=no_fetch, report=print) as app:
        return await measure(app)


def main() -> Path:
    with tempfile.TemporaryDirectory() as folder:
        return result.write("mcp", anyio.run(run, Path(folder)))
