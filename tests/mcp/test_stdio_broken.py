"""The shim in front of a peer that breaks off, answers nonsense or forgets sessions: every request
is answered under its own id, and those after it are served."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from tests.mcp.conftest import Serve, Served
from tests.mcp.test_stdio import HELLO, LIST, READY, at, heard, pecia

pytestmark = pytest.mark.anyio

PING = {"jsonrpc": "2.0", "id": "after", "method": "ping"}

BROKEN: dict[str, bytes] = {
    "hangs up": b"",
    "half a head": b"HTTP/1.1 200 OK\r\ncontent-",
    "half a body": b'HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{"jsonrpc":"2.0","id":2,',
    "no body": b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
    "accepted, as if it were a notification": b"HTTP/1.1 202 Accepted\r\n\r\n",
    "no JSON": b"HTTP/1.1 200 OK\r\n\r\n<html>",
    "deep JSON": b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 50_000,
    "JSON of somebody else": b'HTTP/1.1 200 OK\r\n\r\n{"ok":true}',
    "an answer to another": b'HTTP/1.1 200 OK\r\n\r\n{"jsonrpc":"2.0","id":77,"result":{}}',
    "a page": b"HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\n\r\n<html>",
    "an empty failure": b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n",
    "an error of HTTP": b'HTTP/1.1 413 No\r\n\r\n{"error":{"code":"PAYLOAD_TOO_LARGE",'
    b'"message":"too large"}}',
    "an error of nobody": b'HTTP/1.1 401 No\r\n\r\n{"jsonrpc":"2.0","id":null,'
    b'"error":{"code":-32001,"message":"no"}}',
    "a stream without an answer": b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
    b": ping\r\n\r\n",
    "a stream that is cut": b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
    b'transfer-encoding: chunked\r\n\r\nff\r\ndata: {"jsonrpc":',
    "an event that is no JSON": b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
    b"data: {\r\n\r\n",
}


@dataclass(slots=True)
class Peer:
    """A server that knows as much of MCP as these tests need, and answers lists as it is told."""

    lists: bytes
    forgets: int = 0
    """So many requests are answered as if their session had ended."""
    forget_after: str = ""
    """The session ends, once, after a frame of this method."""
    sessions: int = 0
    seen: list[str] = field(default_factory=list[str])
    port: int = 0

    async def serve(self, stream: SocketStream) -> None:
        async with stream:
            buffered = BufferedByteReceiveStream(stream)
            head = (await buffered.receive_until(b"\r\n\r\n", 65_536)).decode().lower()
            lines = dict(it.split(": ", 1) for it in head.split("\r\n")[1:])
            body = await buffered.receive_exactly(int(lines.get("content-length", "0")))
            await stream.send(self.answer(head, lines, body) or b"")

    def answer(self, head: str, lines: dict[str, str], body: bytes) -> bytes:
        if head.startswith("get /.well-known"):
            return b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
        if not head.startswith("post"):
            return b"HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n"
        frame = json.loads(body)
        self.seen.append(frame["method"])
        if frame["method"] == "initialize":
            self.sessions += 1
            more = f"mcp-session-id: s{self.sessions}\r\n".encode()
            return _whole(frame["id"], {"protocolVersion": "2025-11-25"}, more)
        if lines.get("mcp-session-id") != f"s{self.sessions}" or self._forgets(frame):
            return b"HTTP/1.1 404 Gone\r\n\r\n" + _GONE
        if frame["method"] == self.forget_after and self.sessions == 1:
            self.forgets = 1
        if frame["method"] == "tools/list":
            return self.lists
        return _whole(frame["id"], {}) if "id" in frame else b"HTTP/1.1 202 OK\r\n\r\n"

    def _forgets(self, frame: dict[str, Any]) -> bool:
        if not self.forgets or "id" not in frame:
            return False
        self.forgets -= 1
        return True


_GONE = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Session not found"}}'


def _whole(request_id: object, result: dict[str, Any], more: bytes = b"") -> bytes:
    body = json.dumps({"jsonrpc": "2.0", "id": request_id, "result": result}).encode()
    return b"HTTP/1.1 200 OK\r\n" + more + b"content-type: application/json\r\n\r\n" + body


@asynccontextmanager
async def peer(lists: bytes = b"", *, forgets: int = 0) -> AsyncGenerator[Peer]:
    found = Peer(lists, forgets)
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    found.port = listener.extra(SocketAttribute.local_port)
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, found.serve)
        yield found
        group.cancel_scope.cancel()


async def said(to: Peer, frames: list[Any], cwd: Path) -> dict[object, Any]:
    """The answers by id, of which there is one each."""
    words = ("mcp", "--port", str(to.port), "--host", "127.0.0.1")
    done = await pecia(*words, frames=frames, cwd=cwd)
    assert done.returncode == 0, done.stderr
    answers = heard(done)
    assert len({it["id"] for it in answers}) == len(answers)
    return {it["id"]: it for it in answers}


@pytest.mark.parametrize("how", BROKEN)
async def test_a_broken_answer_is_an_error_under_the_id_of_its_request(
    tmp_path: Path, how: str
) -> None:
    async with peer(BROKEN[how]) as to:
        found = await said(to, [HELLO, READY, LIST, PING], tmp_path)
    assert found[LIST["id"]]["error"]["message"]
    assert found["after"]["result"] == {}


async def test_every_request_of_a_batch_is_answered_when_the_batch_is_refused(
    served: Served, tmp_path: Path
) -> None:
    batch = [{**PING, "id": "a"}, {**PING, "id": 7}, READY]
    env = {"PECIA_TOKEN": "peciapat_wrong"}
    done = await pecia("mcp", *at(served), frames=[batch], cwd=tmp_path, env=env)
    assert {it["id"] for it in heard(done) if "error" in it} == {"a", 7}
    assert done.returncode == 1


async def test_a_request_that_is_too_large_is_refused_under_its_id(
    serve: Serve, tmp_path: Path
) -> None:
    large = {**PING, "id": "large", "params": {"_meta": {"x": "y" * 3_000_000}}}
    async with serve(body_limit_bytes="1048576") as served:
        done = await pecia("mcp", *at(served), frames=[HELLO, READY, large, PING], cwd=tmp_path)
    found = {it["id"]: it for it in heard(done)}
    assert found["large"]["error"]["message"]
    assert found["after"]["result"] == {}


async def test_a_session_that_the_server_ended_is_begun_anew_unnoticed(tmp_path: Path) -> None:
    level = {"jsonrpc": "2.0", "id": 5, "method": "logging/setLevel", "params": {"level": "info"}}
    async with peer() as to:
        to.forget_after = "notifications/initialized"
        found = await said(to, [HELLO, level, READY, PING], tmp_path)
    assert found["after"]["result"] == {}
    assert to.sessions == 2
    # The new session knows what the client wished for in the old one.
    assert to.seen.count("logging/setLevel") >= 2
    assert to.seen.count("notifications/initialized") == 2


async def test_a_server_that_will_not_begin_another_session_is_no_reason_to_wait(
    tmp_path: Path,
) -> None:
    async with peer(forgets=1_000) as to:
        found = await said(to, [HELLO, READY, PING], tmp_path)
    assert found["after"]["error"]["message"] == "Session not found"
