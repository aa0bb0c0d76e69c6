"""Uvicorn's HTTP parser with two limits that it lacks: size and read timeout of a request head."""

import asyncio
from typing import cast

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from pecia.adapters.http.peer_credentials import PeerProcess
from pecia.interfaces.http.middleware.edge import DEFAULT_HEADERS
from pecia.interfaces.http.request_info import PEER_KEY
from pecia.kernel.errors import InvalidRequest

MAX_HEAD_BYTES = 64 * 1024
HEAD_TIMEOUT_S = 10.0


class GuardedProtocol(HttpToolsProtocol):
    """One connection. A head that is too long or too slow is rejected before it is parsed."""

    max_head_bytes = MAX_HEAD_BYTES
    head_s = HEAD_TIMEOUT_S

    _awaits_head = True
    _head_bytes = 0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - as uvicorn has it
        super().connection_made(transport)
        # Copied into the scope of every request, and kept on a websocket upgrade.
        self.app_state = {**self.app_state, PEER_KEY: PeerProcess(transport)}
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._awaits_head:
            self._head_bytes += len(data)
            if self._head_bytes > self.max_head_bytes:
                self._refuse(431, f"the head is longer than {self.max_head_bytes} bytes")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        # What follows the body are trailers. No proxy vouches for them: they are not headers.
        if self._awaits_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._awaits_head = False
        self._stop_timer()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "the request is not valid HTTP/1.1")

    def _expect_head(self) -> None:
        self._awaits_head = True
        self._head_bytes = 0
        self._stop_timer()
        self._timer = self.loop.call_later(self.head_s, self._on_head_timeout)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_head_timeout(self) -> None:
        if self._is_answering():
            # The next request may wait for the answer to this one.
            self._timer = self.loop.call_later(self.head_s, self._on_head_timeout)
        else:
            self._refuse(408, "the head came too slowly")

    def _is_answering(self) -> bool:
        """Whether a request that was read whole, or its head, has no whole answer yet."""
        # Uvicorn declares it as always there; before the first request it is None.
        cycle = cast(RequestResponseCycle | None, self.cycle)
        return cycle is not None and not cycle.response_complete

    def _may_answer(self) -> bool:
        """Whether a response sent now would be read as the answer to the faulty request."""
        if not self._is_answering():
            return True
        return not (self._awaits_head or self.pipeline or self.cycle.response_started)

    def _refuse(self, status: int, message: str) -> None:
        """Send the error in the common JSON shape, and close the connection."""
        self._stop_timer()
        if self.transport.is_closing():
            return
        if self._may_answer():
            self.transport.write(_refusal(status, message))
        self.transport.close()


def _refusal(status: int, message: str) -> bytes:
    body = orjson.dumps({"error": InvalidRequest(message).payload()})
    own = (
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    )
    lines = (b": ".join(it) for it in (*own, *DEFAULT_HEADERS))
    head = b"\r\n".join((b"HTTP/1.1 %d Refused" % status, *lines))
    return head + b"\r\n\r\n" + body
