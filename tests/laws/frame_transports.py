"""The transports that frames are sent to: HTTP and SSE in this process, sockets, and the shim.

Each says what was wrong with the answer, and whether its server still answers a ping.
"""

import json
import sys
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, cast

import anyio
from anyio.abc import TaskGroup
from anyio.streams.buffered import BufferedByteReceiveStream
from starlette.types import ASGIApp, Message

from pecia.app.app import App
from pecia.interfaces.http.app import build_http_app
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.mcp.mount import mount_mcp
from tests.laws.frames import Frame, complaint, envelope_complaint, frame

HANG_S = 60.0
"""Far more than any answer takes, even on a machine that is busy with something else."""
WAITS_S = 0.3
"""How long a client listens to a stream before it hangs up; some have no end."""
MOST_SESSIONS = 8
PING = b'{"jsonrpc":"2.0","id":"are you there","method":"ping"}'
HELLO = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {
        "protocolVersion": "2024-11-05",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
JSON = [(b"content-type", b"application/json"), (b"accept", b"application/json")]


class Unsound(AssertionError):
    """An answer that breaks the law, with the frame that brought it about."""

    def __init__(self, said: str, sent: Frame) -> None:
        super().__init__(f"{said}\n{sent.method} {sent.path} {sent.headers}\n{sent.body[:2000]!r}")


@dataclass(slots=True)
class Received:
    """What an app sent back so far."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytearray = field(default_factory=bytearray)
    news: anyio.Event = field(default_factory=anyio.Event)
    is_whole: bool = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): it.decode() for name, it in message["headers"]}
        else:
            self.body += message.get("body", b"")
            self.is_whole = not message.get("more_body", False)
        self.news.set()
        self.news = anyio.Event()

    @property
    def is_stream(self) -> bool:
        return self.headers.get("content-type", "").startswith("text/event-stream")

    def complaint(self, sent: Frame) -> str | None:
        """What is wrong with it. A stream that the client hung up on may end anywhere."""
        if sent.method == "HEAD" or (self.is_stream and not self.is_whole):
            return None
        return complaint(self.status, self.headers, bytes(self.body))


@dataclass(slots=True)
class HttpTransport:
    """Streamable HTTP, handed to the app as a server would."""

    asgi: ASGIApp
    sessions: list[str] = field(default_factory=list[str])
    statuses: Counter[int] = field(default_factory=Counter[int])

    async def throw(self, chance: Random) -> None:
        sent = frame(chance, self.sessions)
        heard = await asked(self.asgi, sent)
        self.statuses[heard.status] += 1
        if heard.status == 0:
            raise Unsound("no answer", sent)
        if said := heard.complaint(sent):
            raise Unsound(said, sent)
        await self._keep(sent.path, heard.headers.get("mcp-session-id"))

    async def ping(self) -> None:
        heard = await asked(self.asgi, Frame("ping", "/mcp", "POST", JSON, PING))
        assert json.loads(bytes(heard.body))["result"] == {}

    async def _keep(self, path: str, session: str | None) -> None:
        """Frames of a session find one; but nobody opens sessions without end."""
        if session is None or session in self.sessions:
            return
        self.sessions.append(session)
        if len(self.sessions) > MOST_SESSIONS:
            old = [(b"mcp-session-id", self.sessions.pop(0).encode())]
            for where in {path, "/mcp", "/mcp/all", "/mcp/conformance", "/mcp/readonly"}:
                await asked(self.asgi, Frame("end", where, "DELETE", old, b""))


@dataclass(slots=True)
class SseTransport:
    """The older transport: frames are posted, and answered on a stream that stays open."""

    asgi: ASGIApp
    tasks: TaskGroup
    stream: Received | None = None
    where: str = ""
    seen: int = 0
    statuses: Counter[int] = field(default_factory=Counter[int])

    async def throw(self, chance: Random) -> None:
        if self.stream is None:
            await self._open()
        sent = frame(chance)
        path, query = self.where.split("?")
        if chance.random() < 0.05:
            query = chance.choice(("", "session_id=x", f"session_id={'0' * 32}", "session_id=%ff"))
        heard = await asked(
            self.asgi, Frame(sent.kind, path, "POST", sent.headers, sent.body), query
        )
        self.statuses[heard.status] += 1
        accepted = heard.status == 202
        said = complaint(heard.status, heard.headers, b"" if accepted else bytes(heard.body))
        if said is None:
            said = self._told()
        if said is not None:
            raise Unsound(said, sent)

    async def ping(self) -> None:
        if self.stream is None:
            await self._open()
        assert self.stream is not None
        path, query = self.where.split("?")
        await asked(self.asgi, Frame("ping", path, "POST", JSON, PING), query)
        with anyio.fail_after(HANG_S):
            while b'"are you there"' not in self.stream.body[self.seen :]:
                await self.stream.news.wait()
        assert self._told() is None

    def _told(self) -> str | None:
        """What is wrong with what came on the stream since we last looked."""
        assert self.stream is not None
        whole = self.stream.body.rfind(b"\r\n\r\n") + 4
        fresh = bytes(self.stream.body[self.seen : whole])
        self.seen = max(self.seen, whole)
        if len(self.stream.body) > 1_000_000:
            del self.stream.body[: self.seen]
            self.seen = 0
        lines = (it[5:].strip() for it in fresh.splitlines() if it.startswith(b"data:"))
        found = (envelope_complaint(json.loads(it)) for it in lines if it.startswith(b"{"))
        return next((it for it in found if it is not None), None)

    async def _open(self) -> None:
        self.stream = heard = Received()
        self.tasks.start_soon(_listen, self.asgi, heard)
        with anyio.fail_after(HANG_S):
            while b"\r\n\r\n" not in heard.body:
                await heard.news.wait()
        lines = bytes(heard.body).splitlines()
        self.where = next(it[5:].strip().decode() for it in lines if it.startswith(b"data:"))
        self.seen = len(heard.body)
        path, query = self.where.split("?")
        hello = json.dumps(HELLO).encode()
        await asked(self.asgi, Frame("hello", path, "POST", JSON, hello), query)


@dataclass(slots=True)
class SocketTransport:
    """A server on a port: what is torn, too long or too short is torn on a real connection."""

    port: int
    statuses: Counter[int] = field(default_factory=Counter[int])

    async def throw(self, chance: Random) -> None:
        sent = frame(chance)
        length = len(sent.body) + (chance.choice((-3, 3, 10**12)) if chance.random() < 0.1 else 0)
        heard = await self._told(sent, max(0, length), hangs_up=length > len(sent.body))
        if heard is None:
            self.statuses[0] += 1
            return
        self.statuses[heard.status] += 1
        if said := heard.complaint(sent):
            raise Unsound(said, sent)

    async def ping(self) -> None:
        heard = await self._told(Frame("ping", "/mcp", "POST", JSON, PING), len(PING))
        assert heard is not None
        assert json.loads(bytes(heard.body))["result"] == {}

    async def _told(self, sent: Frame, length: int, *, hangs_up: bool = False) -> Received | None:
        """The answer; None where the client hung up before there could be one."""
        lines = [f"{sent.method} {sent.path} HTTP/1.1".encode(), b"Host: 127.0.0.1"]
        lines += [b": ".join(it) for it in sent.headers]
        lines += [b"Connection: close", b"Content-Length: %d" % length]
        data = b"\r\n".join(lines) + b"\r\n\r\n" + sent.body
        heard = bytearray()
        async with await anyio.connect_tcp("127.0.0.1", self.port) as stream:
            await stream.send(data)
            if hangs_up and length < 10**12:
                return None
            with anyio.move_on_after(WAITS_S if sent.method == "GET" else HANG_S) as late:
                try:
                    while True:
                        heard += await stream.receive()
                except (anyio.EndOfStream, anyio.BrokenResourceError):
                    pass
        return _read(bytes(heard), is_whole=not late.cancelled_caught)


@dataclass(slots=True)
class StdioTransport:
    """The shim as a process: every line that it writes is a frame."""

    process: anyio.abc.Process
    lines: BufferedByteReceiveStream
    pings: int = 0
    statuses: Counter[int] = field(default_factory=Counter[int])

    async def throw(self, chance: Random) -> None:
        sent = frame(chance)
        line = sent.body.replace(b"\n", b" ").replace(b"\r", b" ")
        assert self.process.stdin is not None
        await self.process.stdin.send(line + b"\n")
        self.statuses[-1] += 1

    async def ping(self) -> None:
        """All that was said until the answer, each line looked at."""
        self.pings += 1
        name = f"ping {self.pings}"
        asked = {"jsonrpc": "2.0", "id": name, "method": "ping"}
        assert self.process.stdin is not None
        await self.process.stdin.send(json.dumps(asked).encode() + b"\n")
        with anyio.fail_after(HANG_S):
            while True:
                found = json.loads(await self.lines.receive_until(b"\n", 10_000_000))
                members = cast(list[Any], found) if isinstance(found, list) else [found]
                for it in members:
                    assert envelope_complaint(it) is None, it
                if isinstance(found, dict) and cast(Any, found).get("id") == name:
                    return


@asynccontextmanager
async def in_process(app: App) -> AsyncGenerator[ASGIApp]:
    """Everything that is served, without a socket."""
    keeper = HttpAuthenticator(app)
    mount = mount_mcp(app, keeper)
    assert mount.lifespan is not None
    async with mount.lifespan():
        yield build_http_app(app, keeper, [mount])


@asynccontextmanager
async def shim(port: int, folder: Path, **more: str) -> AsyncGenerator[StdioTransport]:
    words = [sys.executable, "-m", "pecia", "mcp", "--port", str(port), "--host", "127.0.0.1"]
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "PECIA_HOME": str(folder / "none")}
    environ |= more
    async with await anyio.open_process(words, stderr=None, cwd=folder, env=environ) as process:
        assert process.stdout is not None
        yield StdioTransport(process, BufferedByteReceiveStream(process.stdout))
        assert process.stdin is not None
        await process.stdin.aclose()
        with anyio.fail_after(HANG_S):
            assert await process.wait() == 0


async def asked(asgi: ASGIApp, sent: Frame, query: str = "") -> Received:
    """The answer to a frame. Of a stream the client hears a while, and hangs up."""
    heard, pieces = Received(), _pieces(sent.body)

    async def receive() -> Message:
        if pieces:
            body = pieces.pop(0)
            return {"type": "http.request", "body": body, "more_body": bool(pieces)}
        while not heard.is_stream and not heard.is_whole:
            await heard.news.wait()
        with anyio.move_on_after(WAITS_S):
            while not heard.is_whole:
                await heard.news.wait()
        return {"type": "http.disconnect"}

    with anyio.fail_after(HANG_S):
        await asgi(_scope(sent, query), receive, heard.send)
    return heard


async def _listen(asgi: ASGIApp, heard: Received) -> None:
    waiting = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        if waiting:
            return waiting.pop()
        await anyio.sleep_forever()
        raise AssertionError

    stream = Frame("stream", "/sse/conformance", "GET", [], b"")
    await asgi(_scope(stream, ""), receive, heard.send)


def _pieces(body: bytes) -> list[bytes]:
    middle = len(body) // 2
    return [body[:middle], body[middle:]] if len(body) % 7 == 0 and middle else [body]


# In process there is no socket by which the owner could be told, so the frames show a token.
OWNER: list[tuple[bytes, bytes]] = []


def show_owner(token: str) -> None:
    """Every frame in process is the owner's from here on."""
    OWNER[:] = [(b"authorization", f"Bearer {token}".encode())]


def _scope(sent: Frame, query: str) -> dict[str, Any]:
    has_own = any(name.lower() == b"authorization" for name, _ in sent.headers)
    owner_header = [] if has_own else OWNER
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": sent.method,
        "scheme": "http",
        "path": sent.path,
        "raw_path": sent.path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 80),
        "headers": [(b"host", b"127.0.0.1"), *owner_header, *sent.headers],
    }


def _read(data: bytes, *, is_whole: bool) -> Received:
    head, _, body = data.partition(b"\r\n\r\n")
    first, *rest = head.split(b"\r\n")
    headers = dict(it.decode("latin-1").lower().split(": ", 1) for it in rest)
    if headers.get("transfer-encoding") == "chunked":
        body = _joined(body)
    status = int(first.split()[1]) if first else 0
    return Received(status, headers, bytearray(body), is_whole=is_whole)


def _joined(body: bytes) -> bytes:
    found = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        count = int(size or b"0", 16)
        found, body = found + rest[:count], rest[count + 2 :] if count else b""
    return found
