"""Memory of 500 idle sessions of the older protocol with open streams, here and in the SDK."""

import json
from pathlib import Path
from typing import Any

import anyio
import httpx

from bench import result
from bench.serving.asgi import scaled
from bench.serving.baselines import OURS, THEIRS
from bench.serving.process import RunningServer, running

SESSIONS = scaled(500)
SETTLE_S = 2.0
HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


async def measured(server: RunningServer, path: str) -> dict[str, Any]:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
    url = f"http://127.0.0.1:{server.port}"
    async with httpx.AsyncClient(base_url=url, limits=limits, timeout=60, trust_env=False) as http:
        await _ended(http, path, [await _begun(http, path) for _ in range(20)])
        before = server.memory_mb()
        sessions = [await _begun(http, path) for _ in range(SESSIONS)]
        idle = server.memory_mb()
        streaming = await _with_streams(http, path, sessions, server)
        await _ended(http, path, sessions)
        await anyio.sleep(SETTLE_S)
        after = server.memory_mb()
    return {
        "sessions": SESSIONS,
        "before_mb": before,
        "idle_mb": idle,
        "streaming_mb": streaming,
        "ended_mb": after,
        "kb_a_session": round((idle - before) * 1000 / SESSIONS, 1),
        "kb_a_session_with_stream": round((streaming - before) * 1000 / SESSIONS, 1),
    }


async def _begun(http: httpx.AsyncClient, path: str) -> str:
    answer = await http.post(path, content=json.dumps(HELLO), headers=ACCEPT)
    assert answer.status_code == 200, answer.text
    return answer.headers["mcp-session-id"]


async def _with_streams(
    http: httpx.AsyncClient, path: str, sessions: list[str], server: RunningServer
) -> float:
    """Memory while every session listens."""
    weight = 0.0
    async with anyio.create_task_group() as tasks:
        for session in sessions:
            await tasks.start(_listen, http, path, session)
        await anyio.sleep(SETTLE_S)
        weight = server.memory_mb()
        tasks.cancel_scope.cancel()
    return weight


async def _listen(
    http: httpx.AsyncClient, path: str, session: str, *, task_status: anyio.abc.TaskStatus[None]
) -> None:
    headers = {"accept": "text/event-stream", "mcp-session-id": session}
    async with http.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200
        task_status.started()
        async for _ in answer.aiter_bytes():
            pass


async def _ended(http: httpx.AsyncClient, path: str, sessions: list[str]) -> None:
    for session in sessions:
        await http.delete(path, headers={"mcp-session-id": session})


def main() -> Path:
    figures: dict[str, Any] = {}
    for name, path in (("pecia", OURS), ("bare", THEIRS)):
        with running(name, 60) as server:
            figures[name] = anyio.run(measured, server, path)
    return result.write("mcp_sessions", figures)
