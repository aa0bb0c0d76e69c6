"""Which modules of ours one MCP search passes, from the bytes of its POST to its answer.

A module counts when a function written in it runs for the request, in any task or thread.
Constructors that `dataclass` generates are written nowhere and do not count.
"""

import sys
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import anyio
import orjson
from starlette.types import ASGIApp, Message

import pecia
from pecia.app.dispatch import Dispatcher

SOURCE = Path(pecia.__file__).parent
VERSION = "2026-07-28"
META = "io.modelcontextprotocol"
# The functions between which the dispatcher runs a tool.
TOOL_BEGINS = ("app.dispatch", "_run_with_retry")
TOOL_ENDS = ("app.dispatch", "_to_result")

_is_measured: ContextVar[bool] = ContextVar("is_measured", default=False)


class ModuleRecorder:
    """A profile function that notes each module once: before the hand-over to the app, around the
    tool, in all. The hand-over is `Dispatcher.admit`, the first half of what `App.call` does."""

    def __init__(self) -> None:
        self._modules: dict[CodeType, str | None] = {}
        self._has_arrived = False
        self._is_in_tool = False
        self.calls: Counter[CodeType] = Counter()
        self.before_app: dict[str, None] = {}
        self.around_tool: dict[str, None] = {}
        self.every: dict[str, None] = {}

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        # Tasks and threads of the request have its context; those of the background do not.
        if event != "call" or not _is_measured.get():
            return
        code = frame.f_code
        if code not in self._modules:
            self._modules[code] = module_of(code)
        module = self._modules[code]
        if module is None:
            return
        self.calls[code] += 1
        self._has_arrived = self._has_arrived or code is Dispatcher.admit.__code__
        if not self._has_arrived:
            self.before_app.setdefault(module)
        if (module, code.co_name) == TOOL_ENDS:
            self._is_in_tool = False
        if not self._is_in_tool:
            self.around_tool.setdefault(module)
        if (module, code.co_name) == TOOL_BEGINS:
            self._is_in_tool = True
        self.every.setdefault(module)

    async def measure(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """The result of the work, whose modules are noted."""
        token = _is_measured.set(True)
        try:
            return await work()
        finally:
            _is_measured.reset(token)


def module_of(code: CodeType) -> str | None:
    """The module of ours in which a function is written; None for others."""
    path = Path(code.co_filename)
    if not path.is_relative_to(SOURCE):
        return None
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


@contextmanager
def module_recorder() -> Generator[ModuleRecorder]:
    """A recorder for this thread, and for threads that start while the block runs."""
    recorder = ModuleRecorder()
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    try:
        yield recorder
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


async def search(asgi: ASGIApp, token: str) -> dict[str, Any]:
    """The answer to `tools/call` of `search_content`, posted as a server hands it to the app."""
    meta: dict[str, Any] = {f"{META}/protocolVersion": VERSION, f"{META}/clientCapabilities": {}}
    params: dict[str, Any] = {
        "name": "search_content",
        "arguments": {"query": "wobble"},
        "_meta": meta,
    }
    body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    headers = {
        "host": "127.0.0.1",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "authorization": f"Bearer {token}",
        "mcp-protocol-version": VERSION,
        "mcp-method": "tools/call",
        "mcp-name": "search_content",
    }
    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST",
        "scheme": "http",
        "path": "/mcp",
        "query_string": b"",
        "client": ("127.0.0.1", 50000),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    answer: list[Message] = []

    async def receive() -> Message:
        if not waiting:
            await anyio.sleep_forever()
        return waiting.pop()

    async def send(message: Message) -> None:
        answer.append(message)

    await asgi(scope, receive, send)
    return orjson.loads(b"".join(it.get("body", b"") for it in answer))
