"""One request handed to an ASGI app as a server would, and the CPU that it costs.

Imports nothing of ours: the same code runs where only FastMCP is installed.
"""

import json
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio

META = "io.modelcontextprotocol"
MODERN = "2026-07-28"
CALL = ("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
LIST = ("tools/list", dict[str, Any]())
COUNTS = (1, 60, 1000)
ERAS = ("modern", "legacy")

SCALE = float(os.environ.get("PECIA_BENCH_SCALE", "1"))
"""How much of the full count is run: a figure is committed only of all of it."""

CALLS = max(10, round(300 * SCALE))
ROUNDS = 5


def scaled(count: int) -> int:
    return max(1, round(count * SCALE))


async def costs(asgi: Any, path: str, tools: int) -> dict[str, float]:
    """CPU microseconds of a call and of a list, in both eras."""
    found: dict[str, float] = {}
    for era in ERAS:
        # A bare list grows with the tools; the figure needs no more of them.
        for name, asked, calls in (
            ("call", CALL, CALLS),
            ("list", LIST, max(5, CALLS // tools)),
        ):
            found[f"{era}_{name}"] = await cpu_us(sender(asgi, path, asked, era), calls)
    return found


async def cpu_us(step: Callable[[], Awaitable[None]], calls: int) -> float:
    """CPU microseconds a step, the best of some rounds: noise only ever adds."""
    best = float("inf")
    await step()
    for _ in range(ROUNDS):
        started = time.process_time()
        for _ in range(calls):
            await step()
        best = min(best, (time.process_time() - started) / calls * 1e6)
    return round(best, 1)


def sender(
    asgi: Any, path: str, asked: tuple[str, Mapping[str, Any]], era: str
) -> Callable[[], Awaitable[None]]:
    """One request, as a server would hand it to the app."""
    headers, body = request(*asked, era)
    scope = scoped("POST", path, headers)

    async def step() -> None:
        waiting = [{"type": "http.request", "body": body, "more_body": False}]
        answer: list[Any] = []

        async def receive() -> Any:
            if waiting:
                return waiting.pop()
            await anyio.sleep_forever()
            raise AssertionError

        async def send(message: Any) -> None:
            answer.append(message)

        await asgi(dict(scope), receive, send)
        assert answer[0]["status"] == 200, answer

    return step


def request(method: str, params: Mapping[str, Any], era: str) -> tuple[dict[str, str], bytes]:
    """The headers and the body of a request of that era."""
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
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return headers, json.dumps(message).encode()


def scoped(method: str, path: str, headers: Mapping[str, str]) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 80),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
