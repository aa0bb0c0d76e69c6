"""The shim: frames from stdin to a running server over HTTP, and its frames back to stdout.

It understands as little as it can, answers no call itself, and imports nothing but the standard
library: an editor waits for it at every start. Stdout carries frames and nothing else.
"""

import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from socket import SHUT_RDWR
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from pecia.kernel.errors import InvalidRequest, ParseError, PeciaError, Unavailable

VERSION_META = "io.modelcontextprotocol/protocolVersion"
CONNECT_LIMIT_S = 10.0
FINISH_LIMIT_S = 60.0

# It has no answer to wait for: the stream ends with whoever listens.
ENDLESS = "subscriptions/listen"

# Says that nobody wrote the headers which mirror the body: the door does it.
STDIO = {"x-pecia-stdio": "1"}


@dataclass(frozen=True, slots=True)
class Upstream:
    """The endpoint that frames go to, and what goes with each of them."""

    url: str
    headers: Mapping[str, str]

    @property
    def path(self) -> str:
        return urlsplit(self.url).path

    def connection(self) -> HTTPConnection:
        where = urlsplit(self.url)
        kind = HTTPSConnection if where.scheme == "https" else HTTPConnection
        return kind(where.hostname or "", where.port, timeout=CONNECT_LIMIT_S)


@dataclass(slots=True)
class Relay:
    """One client at stdio, and its session at the server if the client speaks the older era."""

    upstream: Upstream
    out: BinaryIO
    session: str | None = None
    version: str | None = None
    flying: dict[Any, HTTPConnection] = field(default_factory=dict[Any, HTTPConnection])
    cancelled: set[Any] = field(default_factory=set[Any])
    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: list[threading.Thread] = field(default_factory=list[threading.Thread])

    def run(self, lines: Iterable[bytes]) -> None:
        """Every frame until stdin ends; then whatever is still to be answered."""
        for line in lines:
            if line.strip():
                self._take(line)
        end = time.monotonic() + FINISH_LIMIT_S
        for thread in self.waiting:
            thread.join(max(0.0, end - time.monotonic()))
        self._end_session()
        # What nobody read is complained of here, and not by the interpreter at its end.
        self.out.flush()

    def _take(self, line: bytes) -> None:
        try:
            frame = json.loads(line)
        except (ValueError, RecursionError) as error:
            self._refuse(None, ParseError(f"the frame is not JSON: {error}"))
            return
        if _method(frame) == "notifications/cancelled" and self._cancel(frame):
            return
        self._forward(frame, line)

    def _forward(self, frame: Any, line: bytes) -> None:
        """Send in the order of the frames; the answers may come in any."""
        request_id = _request_id(frame)
        if request_id is not None and request_id in self.flying:
            # Of two under one id a session can answer the later alone; the other would wait.
            taken = InvalidRequest(
                f"the request {request_id!r} is not answered yet: use another id"
            )
            self._refuse(request_id, taken)
            return
        connection = self.upstream.connection()
        try:
            connection.request("POST", self.upstream.path, line.strip(), self._headers(frame))
        except OSError as error:
            self._unreachable(request_id, error)
            return
        if _method(frame) == "initialize" or request_id is None:
            self._answer(connection, frame)
            return
        self.flying[request_id] = connection
        thread = threading.Thread(target=self._answer, args=(connection, frame), daemon=True)
        self.waiting = [it for it in self.waiting if it.is_alive()]
        if _method(frame) != ENDLESS:
            self.waiting.append(thread)
        thread.start()

    def _answer(self, connection: HTTPConnection, frame: Any) -> None:
        request_id = _request_id(frame)
        try:
            # A call may take as long as the server lets it.
            if connection.sock is not None:
                connection.sock.settimeout(None)
            response = connection.getresponse()
            self._remember(frame, response)
            for body in frames(response):
                self._note_version(frame, body)
                self._write(body)
            if response.status >= 400 and request_id is None:
                raise OSError(f"the server answered {response.status}")
        except (OSError, HTTPException, ValueError) as error:
            # A body that is no JSON is not from our server, and nothing for our client.
            self._unreachable(request_id, error)
        finally:
            self.flying.pop(request_id, None)
            connection.close()

    def _remember(self, frame: Any, response: HTTPResponse) -> None:
        """A session begins with the answer to `initialize`; then its own stream is opened."""
        session = response.getheader("mcp-session-id")
        if _method(frame) != "initialize" or session is None or response.status >= 400:
            return
        self.session = session
        threading.Thread(target=self._listen, daemon=True).start()

    def _note_version(self, frame: Any, body: bytes) -> None:
        if _method(frame) == "initialize":
            with suppress(ValueError, KeyError, TypeError):
                self.version = json.loads(body)["result"]["protocolVersion"]

    def _listen(self) -> None:
        """What the server says of its own accord."""
        connection = self.upstream.connection()
        headers = {**self._headers(None), "accept": "text/event-stream"}
        with suppress(OSError, HTTPException):
            connection.request("GET", self.upstream.path, headers=headers)
            if connection.sock is not None:
                connection.sock.settimeout(None)
            response = connection.getresponse()
            if response.status == 200:
                for body in frames(response):
                    self._write(body)

    def _cancel(self, frame: Any) -> bool:
        """The newer era cancels by hanging up. Whether that was it."""
        params = frame.get("params")
        request_id = _id(cast(Any, params).get("requestId")) if isinstance(params, dict) else None
        connection = self.flying.get(request_id)
        if connection is None:
            return False
        self.cancelled.add(request_id)
        if self.session is not None:
            return False
        with suppress(OSError):
            if connection.sock is not None:
                connection.sock.shutdown(SHUT_RDWR)
        return True

    def _end_session(self) -> None:
        if self.session is None:
            return
        connection = self.upstream.connection()
        with suppress(OSError, HTTPException):
            connection.request("DELETE", self.upstream.path, headers=self._headers(None))
            connection.getresponse().read()
        connection.close()

    def _headers(self, frame: Any) -> dict[str, str]:
        version = _modern_version(frame) or self.version
        own = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": version if _method(frame) != "initialize" else None,
            "mcp-session-id": self.session,
        }
        known = {name: value for name, value in own.items() if value is not None}
        return {**known, **STDIO, **self.upstream.headers}

    def _write(self, body: bytes) -> None:
        """One frame, one line. A cancelled request gets no answer, nor does who reads no more."""
        frame = json.loads(body)
        if _is_answer(frame) and _id(frame.get("id")) in self.cancelled:
            return
        with self.lock, suppress(BrokenPipeError):
            self.out.write(body.replace(b"\n", b" ").replace(b"\r", b" ") + b"\n")
            self.out.flush()

    def _unreachable(self, request_id: Any, error: Exception) -> None:
        if request_id is not None and request_id not in self.cancelled:
            self._refuse(request_id, Unavailable(f"no answer from the server: {error}"))

    def _refuse(self, request_id: Any, error: PeciaError) -> None:
        self._write(refusal(request_id, error))


def refuse(lines: Iterable[bytes], out: BinaryIO, error: PeciaError) -> None:
    """Answer the first request with an error, where there is no server to ask."""
    for line in lines:
        try:
            request_id = _request_id(json.loads(line))
        except (ValueError, RecursionError):
            continue
        if request_id is not None:
            out.write(refusal(request_id, error) + b"\n")
            out.flush()
            return


def refusal(request_id: Any, error: PeciaError) -> bytes:
    """An error as the answer to a request."""
    facts = {name: it for name, it in error.payload().items() if name != "message"}
    told = {"code": error.code.rpc, "message": error.message, "data": facts}
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "error": told}).encode()


def frames(response: HTTPResponse) -> Iterator[bytes]:
    """Every frame of an answer: one in JSON, any number in a stream."""
    kind = (response.getheader("content-type") or "").partition(";")[0]
    if kind != "text/event-stream":
        body = response.read().strip()
        if body:
            yield body
        return
    said: list[bytes] = []
    for line in response:
        text = line.rstrip(b"\r\n")
        if text.startswith(b"data:"):
            said.append(text[5:].removeprefix(b" "))
        elif not text and said:
            if body := b"\n".join(said).strip():
                yield body
            said = []


def _method(frame: Any) -> str | None:
    return cast(Any, frame).get("method") if isinstance(frame, dict) else None


def _request_id(frame: Any) -> str | int | None:
    """The id to answer to: that of a request, and of nothing else."""
    return _id(frame.get("id")) if _method(frame) is not None else None


def _id(given: object) -> str | int | None:
    """An id as the protocol has it; whatever else came is none."""
    return given if isinstance(given, str | int) and not isinstance(given, bool) else None


def _is_answer(frame: Any) -> bool:
    return isinstance(frame, dict) and "method" not in frame


def _modern_version(frame: Any) -> str | None:
    params = cast(Any, frame).get("params") if isinstance(frame, dict) else None
    meta = cast(Any, params).get("_meta") if isinstance(params, dict) else None
    version = cast(dict[str, Any], meta).get(VERSION_META) if isinstance(meta, dict) else None
    # What no header can hold the server finds in the body, and refuses there.
    is_sane = isinstance(version, str) and version.isascii() and version.isprintable()
    return version if is_sane else None
