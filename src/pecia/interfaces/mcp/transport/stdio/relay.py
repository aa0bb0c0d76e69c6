"""The shim: frames from stdin to a running server over HTTP, and its frames back to stdout.

It understands as little as it can, answers no call itself, and imports nothing but the standard
library: an editor waits for it at every start. Stdout carries frames and nothing else. Every
request that it takes is answered under its own id, by the server or by an error of its own: clients
have no time limit, and one without an answer waits for ever.
"""

import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from socket import SHUT_RDWR
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from pecia.interfaces.mcp.transport.stdio.frame import (
    RequestId,
    assign_ids,
    error_frame,
    error_message,
    get_method,
    is_notification,
    is_response,
    modern_version,
    parse_id,
    request_ids,
)
from pecia.kernel.errors import InvalidRequest, ParseError, PeciaError, Unavailable

CONNECT_TIMEOUT_S = 10.0
DRAIN_TIMEOUT_S = 60.0

# It has no answer to wait for: the stream ends with whoever listens.
STREAM_METHOD = "subscriptions/listen"

# Says that nobody wrote the headers which mirror the body: the door does it.
STDIO_HEADER = {"x-pecia-stdio": "1"}

# All that goes wrong on the way to a server and back, an answer that is no JSON included.
CONNECTION_ERRORS = (OSError, HTTPException, ValueError, RecursionError)


@dataclass(frozen=True, slots=True)
class RelayTarget:
    """The endpoint that frames go to, and what goes with each of them."""

    url: str
    headers: Mapping[str, str]

    @property
    def path(self) -> str:
        return urlsplit(self.url).path

    def connection(self) -> HTTPConnection:
        where = urlsplit(self.url)
        kind = HTTPSConnection if where.scheme == "https" else HTTPConnection
        return kind(where.hostname or "", where.port, timeout=CONNECT_TIMEOUT_S)


@dataclass(frozen=True, slots=True)
class SentFrame:
    """A frame on its way, and the session that it was sent in."""

    connection: HTTPConnection
    session: str | None
    frame: Any
    line: bytes


@dataclass(slots=True)
class RelayHandshake:
    """The client's own frames that began its session, to begin another when that one is gone."""

    initialize: bytes = b""
    initialized: bytes = b""
    replayable: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """The log level, and subscriptions by URI: the session at the server forgets them."""

    def record(self, frame: Any, line: bytes) -> None:
        method = get_method(frame)
        params = cast(Any, frame).get("params") if isinstance(frame, dict) else None
        uri = str(cast(Any, params).get("uri")) if isinstance(params, dict) else ""
        if method == "initialize":
            self.initialize = line
        elif method == "notifications/initialized":
            self.initialized = line
        elif method == "logging/setLevel":
            self.replayable[""] = line
        elif method == "resources/subscribe":
            self.replayable[uri] = line
        elif method == "resources/unsubscribe":
            self.replayable.pop(uri, None)


@dataclass(slots=True)
class StdioRelay:
    """One client at stdio, and its session at the server if the client speaks the older era."""

    upstream: RelayTarget
    out: BinaryIO
    session: str | None = None
    version: str | None = None
    in_flight: dict[Any, HTTPConnection] = field(default_factory=dict[Any, HTTPConnection])
    cancelled: set[Any] = field(default_factory=set[Any])
    lock: threading.Lock = field(default_factory=threading.Lock)
    threads: list[threading.Thread] = field(default_factory=list[threading.Thread])
    handshake: RelayHandshake = field(default_factory=RelayHandshake)
    renewal_lock: threading.Lock = field(default_factory=threading.Lock)
    was_served: bool = False
    refusal_reason: str | None = None
    """Why the server did not begin a session, or has answered nothing else so far."""

    def run(self, lines: Iterable[bytes]) -> str | None:
        """Every frame until stdin ends, or until the handshake is refused; then whatever is still
        to be answered. The reason of the server where it served nothing."""
        for line in lines:
            if (
                line.strip()
                and self._handle_line(line.strip()) == "initialize"
                and self.refusal_reason
            ):
                break
        end = time.monotonic() + DRAIN_TIMEOUT_S
        for thread in self.threads:
            thread.join(max(0.0, end - time.monotonic()))
        self._end_session()
        # What nobody read is complained of here, and not by the interpreter at its end.
        self.out.flush()
        return self.refusal_reason

    def _handle_line(self, line: bytes) -> str | None:
        """The method of the frame, which is on its way."""
        try:
            frame = json.loads(line)
        except ValueError as error:
            self._write(error_frame(None, ParseError(f"the frame is not JSON: {error}")))
            return None
        except RecursionError:
            # Too deep for us. The server says so, and writes it down.
            frame = None
        if get_method(frame) == "notifications/cancelled" and self._cancel(frame):
            return None
        self._forward(frame, line)
        return get_method(frame)

    def _forward(self, frame: Any, line: bytes) -> None:
        """Send in the order of the frames; the answers may come in any."""
        ids = request_ids(frame)
        if taken := [it for it in ids if it in self.in_flight]:
            # Of two under one id a session can answer the later alone; the other would wait.
            error = InvalidRequest(f"the request {taken[0]!r} is not answered yet: use another id")
            self._refuse(ids, error)
            return
        self.handshake.record(frame, line)
        try:
            sent = self._send(frame, line)
        except CONNECTION_ERRORS as error:
            self._fail_requests(ids, error)
            return
        if get_method(frame) == "initialize" or not ids:
            self._relay_answer(sent)
            return
        self.in_flight.update(dict.fromkeys(ids, sent.connection))
        thread = threading.Thread(target=self._relay_answer, args=(sent,), daemon=True)
        self.threads = [it for it in self.threads if it.is_alive()]
        if get_method(frame) != STREAM_METHOD:
            self.threads.append(thread)
        thread.start()

    def _send(self, frame: Any, line: bytes) -> SentFrame:
        connection, session = self.upstream.connection(), self.session
        try:
            # A server may refuse a large body, and hang up, before it has all of it.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.request("POST", self.upstream.path, line, self._headers(frame))
        except BaseException:
            connection.close()
            raise
        return SentFrame(connection, session, frame, line)

    def _relay_answer(self, sent: SentFrame) -> None:
        ids = request_ids(sent.frame)
        waiting = set(ids)
        try:
            self._relay_response(sent, waiting)
            if waiting:
                raise HTTPException("it ended its answer before it was complete")
        except CONNECTION_ERRORS as error:
            self._fail_requests(waiting, error)
        finally:
            for it in ids:
                self.in_flight.pop(it, None)
            sent.connection.close()

    def _relay_response(self, sent: SentFrame, waiting: set[RequestId]) -> None:
        """What the server answers to the client, and the answered ids taken from `waiting`."""
        response = _response(sent.connection)
        is_gone = response.status == 404 and sent.session is not None and bool(waiting)
        if not (is_gone and self._renew_session(sent)):
            self._relay_frames(response, sent.frame, waiting)
            return
        response.read()
        again = self._send(sent.frame, sent.line)
        with closing(again.connection):
            self.in_flight.update(dict.fromkeys(waiting, again.connection))
            self._relay_frames(_response(again.connection), sent.frame, waiting)

    def _relay_frames(self, response: HTTPResponse, frame: Any, waiting: set[RequestId]) -> None:
        self._begin_session(frame, response)
        for body in iter_frames(response):
            self._note_answer(frame, response.status, body)
            if response.status >= 400 and is_notification(frame):
                return
            try:
                for it in assign_ids(body, waiting):
                    self._note_version(frame, it)
                    self._write(it)
            except ValueError:
                if response.status < 400:
                    raise
        if response.status >= 400 and waiting:
            raise HTTPException(f"it answered with the status {response.status}")

    def _begin_session(self, frame: Any, response: HTTPResponse) -> None:
        """A session begins with the answer to `initialize`; then its own stream is opened."""
        session = response.getheader("mcp-session-id")
        if get_method(frame) != "initialize" or session is None or response.status >= 400:
            return
        self.session = session
        threading.Thread(target=self._listen, args=(session,), daemon=True).start()

    def _note_answer(self, frame: Any, status: int, body: bytes) -> None:
        """Whether the server serves this client at all: the exit code says so in the end."""
        if status < 400 or _is_malformed(body):
            # Of a frame that is none, the client is told, and may send a better one.
            self.was_served, self.refusal_reason = True, None
        elif get_method(frame) == "initialize" or not self.was_served:
            self.refusal_reason = (
                error_message(body) or f"the server answered with the status {status}"
            )

    def _note_version(self, frame: Any, body: bytes) -> None:
        if get_method(frame) == "initialize":
            with suppress(ValueError, KeyError, TypeError):
                self.version = json.loads(body)["result"]["protocolVersion"]

    def _renew_session(self, sent: SentFrame) -> bool:
        """Whether there is a session again after the server ended one: stdio knows no sessions, so
        the client could not begin another itself."""
        if get_method(sent.frame) == "initialize" or modern_version(sent.frame) is not None:
            return False
        with self.renewal_lock:
            if self.session == sent.session:
                self.session = None
                with suppress(*CONNECTION_ERRORS):
                    self._repeat_handshake()
            return self.session is not None

    def _repeat_handshake(self) -> None:
        kept = self.handshake
        for line in (kept.initialize, kept.initialized, *kept.replayable.values()):
            if not line:
                continue
            frame = json.loads(line)
            with closing(self._send(frame, line).connection) as connection:
                response = _response(connection)
                self._begin_session(frame, response)
                # The client had the answer to its own, and knows nothing of this one.
                response.read()
            if self.session is None:
                return

    def _listen(self, session: str) -> None:
        """What the server says of its own accord."""
        connection = self.upstream.connection()
        headers = {**self._headers(None), "accept": "text/event-stream", "mcp-session-id": session}
        with suppress(*CONNECTION_ERRORS):
            connection.request("GET", self.upstream.path, headers=headers)
            response = _response(connection)
            if response.status == 200:
                for body in iter_frames(response):
                    self._write(body)
        connection.close()

    def _cancel(self, frame: Any) -> bool:
        """The newer era cancels by hanging up. Whether that was it."""
        params = frame.get("params")
        request_id = (
            parse_id(cast(Any, params).get("requestId")) if isinstance(params, dict) else None
        )
        connection = self.in_flight.get(request_id)
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
        version = modern_version(frame) or self.version
        own = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": version if get_method(frame) != "initialize" else None,
            "mcp-session-id": self.session,
        }
        known = {name: value for name, value in own.items() if value is not None}
        return {**known, **STDIO_HEADER, **self.upstream.headers}

    def _write(self, body: bytes) -> None:
        """One frame, one line. A cancelled request gets no answer, nor does who reads no more."""
        frame = json.loads(body)
        if is_response(frame) and parse_id(frame.get("id")) in self.cancelled:
            return
        with self.lock, suppress(BrokenPipeError):
            self.out.write(body.replace(b"\n", b" ").replace(b"\r", b" ") + b"\n")
            self.out.flush()

    def _fail_requests(self, ids: set[RequestId], error: BaseException) -> None:
        failure = Unavailable(
            f"no answer from the server: {error}", hint="pecia status; pecia start"
        )
        if not self.was_served:
            self.refusal_reason = failure.message
        self._refuse(ids, failure)

    def _refuse(self, ids: Iterable[RequestId], error: PeciaError) -> None:
        for it in ids:
            if it not in self.cancelled:
                self._write(error_frame(it, error))


def refuse_requests(lines: Iterable[bytes], out: BinaryIO, error: PeciaError) -> None:
    """Answer with an error, where there is no server to ask, until the handshake is answered.

    Clients of both eras probe with another request first, and take its error for the sign of an
    older server: they must find somebody when they shake hands then.
    """
    for line in lines:
        try:
            frame = json.loads(line)
        except (ValueError, RecursionError):
            continue
        with suppress(BrokenPipeError):
            for it in request_ids(frame):
                out.write(error_frame(it, error) + b"\n")
            out.flush()
        if get_method(frame) == "initialize":
            return


def iter_frames(response: HTTPResponse) -> Iterator[bytes]:
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


def _response(connection: HTTPConnection) -> HTTPResponse:
    # A call may take as long as the server lets it.
    if connection.sock is not None:
        connection.sock.settimeout(None)
    return connection.getresponse()


MALFORMED_CODES = (-32700, -32600, -32602)
"""No JSON, no request, no such parameters: the frame was at fault, and not who sent it."""


def _is_malformed(body: bytes) -> bool:
    try:
        found: Any = json.loads(body)
        return found["error"]["code"] in MALFORMED_CODES
    except (ValueError, TypeError, KeyError, RecursionError):
        return False
