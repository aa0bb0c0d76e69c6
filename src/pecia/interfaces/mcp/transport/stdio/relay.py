"""The stdio relay: messages from stdin to a running server over HTTP, and its messages to stdout.

It understands as little as it can, answers no call itself, and imports nothing but the standard
library: an editor waits for it at every start. Stdout has messages and nothing else. Every
request is answered under its own id, by the server or by an error of the relay: clients have no
timeout, and one without an answer would hang.
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
from pecia.kernel.errors import (
    SESSION_SOURCE,
    InvalidRequest,
    ParseError,
    PeciaError,
    Unavailable,
)

CONNECT_TIMEOUT_S = 10.0
DRAIN_TIMEOUT_S = 60.0

# No answer to wait for: the stream ends with its client.
STREAM_METHOD = "subscriptions/listen"

# Marks requests without mirrored headers: the server adds them.
STDIO_HEADER = {"x-pecia-stdio": "1"}

# Every transport failure, invalid JSON in the answer included.
CONNECTION_ERRORS = (OSError, HTTPException, ValueError, RecursionError)


@dataclass(frozen=True, slots=True)
class RelayTarget:
    """The endpoint that messages go to, and the headers of each."""

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
    """A message in flight, and its session."""

    connection: HTTPConnection
    session: str | None
    frame: Any
    line: bytes


@dataclass(slots=True)
class RelayHandshake:
    """The client's handshake messages, to replay them when the session is lost."""

    initialize: bytes = b""
    initialized: bytes = b""
    replayable: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """The log level, and subscriptions by URI: a new session at the server lacks them."""

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
    """One stdio client, and its session at the server if the client is legacy."""

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
    """Why the server did not begin a session, or its only answer so far."""

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
        # Flush errors are raised here, not by the interpreter at exit.
        self.out.flush()
        return self.refusal_reason

    def _handle_line(self, line: bytes) -> str | None:
        """Forward one frame, and return its method."""
        try:
            frame = json.loads(line)
        except ValueError as error:
            self._write(error_frame(None, ParseError(f"the frame is not JSON: {error}")))
            return None
        except RecursionError:
            # Nested too deeply to parse here. The server rejects and audits it.
            frame = None
        if get_method(frame) == "notifications/cancelled" and self._cancel(frame):
            return None
        self._forward(frame, line)
        return get_method(frame)

    def _forward(self, frame: Any, line: bytes) -> None:
        """Send in order; the answers may come in any order."""
        ids = request_ids(frame)
        if taken := [it for it in ids if it in self.in_flight]:
            # With a duplicate id a session answers only the later request; the other would hang.
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
            # A server may reject a large body and disconnect before it has all of it.
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
                raise HTTPException("the connection closed before the answer was complete")
        except CONNECTION_ERRORS as error:
            self._fail_requests(waiting, error)
        finally:
            for it in ids:
                self.in_flight.pop(it, None)
            sent.connection.close()

    def _relay_response(self, sent: SentFrame, waiting: set[RequestId]) -> None:
        """Forward the server's answers to the client; removes the answered ids from `waiting`."""
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
        """Whether the server serves this client at all: decides the exit code."""
        if status < 400 or _is_malformed(body):
            # For a malformed message the client gets an error, and may send another one.
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
        """Begin a new session after the server ended one, and whether that worked: stdio has no
        sessions, so the client could not do it."""
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
                # The client already has the answer to its own handshake.
                response.read()
            if self.session is None:
                return

    def _listen(self, session: str) -> None:
        """The session's stream of server-initiated messages."""
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
        """Modern requests are cancelled by disconnecting. Whether that was done."""
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
        """One message per line. A cancelled request gets no answer, nor does a closed stdout."""
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
    """Answer every request with an error, without a server, until the handshake is answered.

    Clients that speak legacy and modern revisions probe with another request first, and take its
    error as the sign of a legacy server: the handshake that follows must be answered too.
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
    """Every message of a response: one in JSON, any number in a stream."""
    kind = (response.getheader("content-type") or "").partition(";")[0]
    if kind != "text/event-stream":
        body = response.read().strip()
        if body:
            yield body
        return
    lines: list[bytes] = []
    for line in response:
        text = line.rstrip(b"\r\n")
        if text.startswith(b"data:"):
            lines.append(text[5:].removeprefix(b" "))
        elif not text and lines:
            if body := b"\n".join(lines).strip():
                yield body
            lines = []


def _response(connection: HTTPConnection) -> HTTPResponse:
    # No timeout here: the server limits how long a call takes.
    if connection.sock is not None:
        connection.sock.settimeout(None)
    return connection.getresponse()


MALFORMED_CODES = (-32700, -32600, -32602)
"""Parse error, invalid request or invalid params: the message was at fault, not the client."""


def _is_malformed(body: bytes) -> bool:
    try:
        error: Any = json.loads(body)["error"]
        data: Any = error.get("data") or {}
        # A setting of the session is refused with every message: the client cannot mend it.
        return error["code"] in MALFORMED_CODES and data.get("source") != SESSION_SOURCE
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return False
