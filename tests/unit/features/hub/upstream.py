"""A small MCP server of somebody else, as a program: over stdio, or on a port with HTTP and SSE.

Its tools do what upstreams do to those who trust them: they are slow, large, wrong, and they die.
"""

import os
import sys
from contextlib import AbstractAsyncContextManager
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

Context = ServerRequestContext[Any, Any]

ECHO: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "times": {"type": "integer", "minimum": 1}},
    "required": ["text"],
    "additionalProperties": False,
}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


EVERY = "echo,slow,steps,ticks,die,fail,large,env,touch,grow"


class Upstream:
    """The server. What it lists depends on the words that it was started with."""

    def __init__(self, words: list[str]) -> None:
        self.words: dict[str, str] = {it.partition("=")[0]: it.partition("=")[2] for it in words}
        self.tools = {it.name: it for it in self._tools()}
        self.bus = InMemorySubscriptionBus()
        self.begun, self.ended = anyio.Event(), anyio.Event()
        self.calls = 0

    def _tools(self) -> list[types.Tool]:
        read = types.ToolAnnotations(read_only_hint=True)
        names = self.words.get(
            "tools", "echo,slow,steps,ticks,die,fail,large,env,touch,grow"
        ).split(",")
        described = {
            "echo": types.Tool(
                name="echo", description="Say it again.", input_schema=ECHO, annotations=read
            )
        }
        known = [
            described.get(name)
            or types.Tool(name=name, description=f"{name}.", input_schema=NOTHING)
            for name in names
        ]
        for it in known:
            if it.name in self.words.get("readonly", "").split(","):
                it.annotations = read
        if path := self.words.get("described"):
            # Read at every start, so that a test can change what a tool says it does.
            known[0].description = Path(path).read_text(encoding="utf-8")
        return known

    async def list(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[*self.tools.values()])

    async def call(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await getattr(self, f"_{params.name}", self._fail)(ctx, params.arguments or {})

    async def _echo(self, ctx: Context, given: dict[str, Any]) -> types.CallToolResult:
        return _text(given["text"] * given.get("times", 1))

    async def _slow(self, ctx: Context, given: dict[str, Any]) -> types.CallToolResult:
        """Waits for ever, and notes when it is told to stop."""
        self.begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.ended.set()
        raise AssertionError

    async def _steps(self, ctx: Context, given: dict[str, Any]) -> types.CallToolResult:
        for step in (1, 2, 3):
            await ctx.session.report_progress(step, 3, f"step {step}")
        return _text("done")

    async def _die(self, ctx: Context, given: dict[str, Any]) -> types.CallToolResult:
        os._exit(3)

    async def _fail(self, ctx: Context, given: dict[str, Any]) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(text="no such luck")], is_error=True)

    async def _large(self, ctx: Context, given: dict[str, Any]) -> types.CallToolResult:
        return _text("x" * int(self.words.get("bytes", "1000")))

    async def _env(self, ctx: Context, given: dict[str, Any]) -> types.CallToolResult:
        return types.CallToolResult(
            content=[types.TextContent(text="see structured")],
            structured_content={"env": dict(os.environ), "pid": os.getpid()},
        )

    async def _grow(self, ctx: Context, given: dict[str, Any]) -> types.CallToolResult:
        """Has one more tool from now on, and says so."""
        self.tools["late"] = types.Tool(name="late", description="late.", input_schema=NOTHING)
        await self.bus.publish(ToolsListChanged())
        return _text("grown")

    async def _ticks(self, ctx: Context, given: dict[str, Any]) -> types.CallToolResult:
        """Never ends, and always says that it is at it."""
        for tick in count():
            await ctx.session.report_progress(tick)
            await anyio.sleep(0.01)
        raise AssertionError

    async def _touch(self, ctx: Context, given: dict[str, Any]) -> types.CallToolResult:
        """Notes that it was called, and dies where it is told to."""
        self.calls += 1
        _mark(self.words.get("mark"))
        if "deadly" in self.words:
            os._exit(3)
        return _text("touched")


def make_server(words: list[str]) -> "ChangingServer":
    upstream = Upstream(words)
    return ChangingServer(upstream)


class ChangingServer(Server[Any]):
    """A server that says that its list may change."""

    def __init__(self, upstream: Upstream) -> None:
        super().__init__(
            "upstream",
            version="1",
            on_list_tools=upstream.list,
            on_call_tool=upstream.call,
            on_subscriptions_listen=ListenHandler(upstream.bus),
        )
        self.upstream = upstream
        self.is_mute = False
        """Says nothing of its tools, and has them all the same."""

    def get_capabilities(self, *given: Any, **named: Any) -> types.ServerCapabilities:
        told = super().get_capabilities(*given, **named)
        return told.model_copy(update={"tools": None}) if self.is_mute else told


class Site:
    """The same behind HTTP, as an ASGI app: `/mcp`, and `/sse` for the older transport.

    It keeps the headers it was sent, and lets in only whoever has its token, where it has one.
    """

    def __init__(self, words: list[str], token: str = "") -> None:
        self.server = make_server(words)
        self.token = token
        self.is_old = "old" in self.server.upstream.words
        self.headers: list[dict[str, str]] = []
        self.queries: list[str] = []
        self._manager = StreamableHTTPSessionManager(self.server)
        self._sse = SseServerTransport("/messages/")

    def running(self) -> AbstractAsyncContextManager[None]:
        return self._manager.run()

    def become(self, other: "Site") -> None:
        """As if it had been started anew: nobody has shaken hands with it."""
        self.server, self._manager = other.server, other._manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {key.decode(): value.decode() for key, value in scope["headers"]}
        self.headers.append(headers)
        self.queries.append(scope["query_string"].decode())
        if self.token and headers.get("authorization") != f"Bearer {self.token}":
            await Response(status_code=401)(scope, receive, send)
        elif self.is_old and headers.get("mcp-protocol-version", "").startswith("2026"):
            await Response(status_code=400)(scope, receive, send)
        elif scope["path"] == "/mcp":
            await self._manager.handle_request(scope, receive, send)
        elif scope["path"] == "/sse":
            await self._stream(scope, receive, send)
        else:
            await self._sse.handle_post_message(scope, receive, send)

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._sse.connect_sse(scope, receive, send) as (read, write):
            await self.server.run(read, write, self.server.create_initialization_options())


def _mark(path: str | None) -> None:
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write("called\n")


def _text(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)])


async def _main() -> None:
    server = make_server(sys.argv[1:])
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(_main)
