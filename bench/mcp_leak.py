"""Leaks after 100,000 calls, many of them cancelled or disconnected.

Memory, tasks, sessions and the spool, before and after: what grows with the calls is a leak.
"""

import asyncio
import gc
import json
import tempfile
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import anyio
import psutil
from mcp.server.streamable_http import StreamableHTTPServerTransport
from starlette.types import ASGIApp, Message

from bench import result
from bench.dispatcher import Sum, Two
from bench.serving.asgi import CALL, request, scaled, scoped
from bench.serving.baselines import OURS, bench_tools, opened, ours
from pecia.app.app import App
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import Tool

CALLS = scaled(100_000)
WARM_UP = scaled(5_000)
AT_ONCE = 16
WAIT = ("tools/call", {"name": "wait", "arguments": {"a": 1, "b": 2}})
LISTEN = ("subscriptions/listen", {"notifications": {"toolsListChanged": True}})


async def wait(call: Call, ask: Two) -> Sum:
    """Wait for ever."""
    await call.progress(0)
    await anyio.sleep_forever()
    raise AssertionError


@dataclass(slots=True)
class Line:
    """One request, by a client that may disconnect at the first byte, or after a while."""

    asgi: ASGIApp
    hangs_up: bool = False
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict[str, str])
    done: anyio.Event = field(default_factory=anyio.Event)

    async def ask(self, method: str, headers: Mapping[str, str], body: bytes = b"") -> None:
        waiting = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Message:
            if waiting:
                return waiting.pop()
            if not self.hangs_up:
                await self.done.wait()
            return {"type": "http.disconnect"}

        await self.asgi(scoped(method, OURS, headers), receive, self._send)

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): it.decode() for name, it in message["headers"]}
        elif not message.get("more_body", False):
            self.done.set()


@dataclass(slots=True)
class Crowd:
    """Clients of every kind. Each way to behave is counted."""

    asgi: ASGIApp
    chance: Random = field(default_factory=lambda: Random(1))
    done: Counter[str] = field(default_factory=Counter[str])

    async def work(self, count: int) -> None:
        left = iter(range(count))

        async def some() -> None:
            for _ in left:
                await self._one()

        async with anyio.create_task_group() as tasks:
            for _ in range(AT_ONCE):
                tasks.start_soon(some)

    async def _one(self) -> None:
        ways = (self.call, self.hang_up, self.listen, self.session, self.cancel)
        (way,) = self.chance.choices(ways, weights=(80, 8, 2, 5, 5))
        self.done[way.__name__] += 1
        await way()

    async def call(self) -> None:
        headers, body = request(*CALL, self.chance.choice(("modern", "legacy")))
        line = Line(self.asgi)
        await line.ask("POST", headers, body)
        assert line.status == 200

    async def hang_up(self) -> None:
        """A call that takes for ever, and a client that does not wait for ever."""
        headers, body = request(*WAIT, self.chance.choice(("modern", "legacy")))
        await Line(self.asgi, hangs_up=True).ask("POST", headers, body)

    async def listen(self) -> None:
        headers, body = request(*LISTEN, "modern")
        await Line(self.asgi, hangs_up=True).ask("POST", headers, body)

    async def session(self) -> None:
        """A handshake, a call, and the end of the session."""
        session = await self._begun()
        await self._in(session, *CALL, request_id=2)
        await self._ended(session)

    async def cancel(self) -> None:
        """A call in a session, taken back by the client while it runs."""
        session = await self._begun()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._in, session, *WAIT, 7)
            await anyio.sleep(0.005)
            about = {"requestId": 7, "reason": "enough"}
            await self._in(session, "notifications/cancelled", about, None)
            await anyio.sleep(0.005)
            tasks.cancel_scope.cancel()
        await self._ended(session)

    async def _begun(self) -> str:
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        }
        headers, body = request("initialize", hello, "legacy")
        line = Line(self.asgi)
        await line.ask("POST", headers, body)
        session = line.headers["mcp-session-id"]
        await self._in(session, "notifications/initialized", {}, None)
        return session

    async def _in(
        self, session: str, method: str, params: Mapping[str, Any], request_id: int | None
    ) -> None:
        headers, _ = request(method, params, "legacy")
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        body = message if request_id is None else {**message, "id": request_id}
        own = {"mcp-session-id": session, "mcp-protocol-version": "2025-11-25"}
        await Line(self.asgi).ask("POST", {**headers, **own}, json.dumps(body).encode())

    async def _ended(self, session: str) -> None:
        headers, _ = request(*CALL, "legacy")
        await Line(self.asgi).ask("DELETE", {**headers, "mcp-session-id": session})


async def left(app: App) -> dict[str, float]:
    """Memory, tasks and sessions when idle."""
    await anyio.sleep(0.5)
    await app.audit_log.drain()
    gc.collect()
    transports = [it for it in gc.get_objects() if type(it) is StreamableHTTPServerTransport]
    return {
        "memory_mb": round(psutil.Process().memory_info().rss / 1e6, 1),
        "tasks": len(asyncio.all_tasks()),
        "sessions": len(transports),
        "objects": len(gc.get_objects()),
        "spool_bytes": app.audit_log.backlog_bytes(),
    }


async def run(home: Path) -> dict[str, Any]:
    async with opened(home) as app, AsyncExitStack() as stack:
        waiting = Tool("bench", "wait", Scope.READ, Two, Sum, wait)
        crowd = Crowd(await ours(app, [*bench_tools(20), waiting], stack))
        await crowd.work(WARM_UP)
        before = await left(app)
        crowd.done.clear()
        halves = [await _half(app, crowd) for _ in range(2)]
    return {
        "calls": CALLS,
        "ways": dict(crowd.done),
        "before": before,
        "half_way": halves[0],
        "after": halves[1],
    }


async def _half(app: App, crowd: Crowd) -> dict[str, float]:
    for _ in range(10):
        await crowd.work(CALLS // 20)
        await app.audit_log.drain()
    return await left(app)


def main() -> Path:
    with tempfile.TemporaryDirectory() as folder:
        return result.write("mcp_leak", anyio.run(run, Path(folder)))
