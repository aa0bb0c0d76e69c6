"""Bytes to a server and bytes back, for what no HTTP client would send."""

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import anyio
import pytest
from anyio.abc import SocketStream


class ListeningServer(Protocol):
    """A server on a port of the loopback."""

    @property
    def port(self) -> int: ...


@dataclass(frozen=True, slots=True)
class RawReply:
    """Everything that came back before the server hung up, or fell silent."""

    data: bytes

    @property
    def statuses(self) -> list[int]:
        """The status of every response, in order."""
        return [int(it) for it in re.findall(rb"HTTP/1\.1 (\d{3}) ", self.data)]


def request(
    pecia: ListeningServer,
    target: str = "/healthz",
    *headers: str,
    method: str = "GET",
    body: bytes = b"",
    host: str | None = None,
) -> bytes:
    """A request to the letter. It asks the server to hang up afterwards."""
    own = f"127.0.0.1:{pecia.port}" if host is None else host
    lines = (f"{method} {target} HTTP/1.1", f"Host: {own}", "Connection: close", *headers)
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


async def tell(pecia: ListeningServer, *pieces: bytes, silent_s: float = 10) -> RawReply:
    """Send the pieces, then listen until the server hangs up."""
    async with await anyio.connect_tcp("127.0.0.1", pecia.port) as stream:
        return await _exchange(stream, pieces, silent_s)


async def _exchange(stream: SocketStream, pieces: Iterable[bytes], silent_s: float) -> RawReply:
    data = b""
    async with anyio.create_task_group() as tasks:

        async def send() -> None:
            try:
                for piece in pieces:
                    await stream.send(piece)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                # It hung up on us, which is what some tests are about.
                return

        tasks.start_soon(send)
        with anyio.fail_after(silent_s):
            try:
                while True:
                    data += await stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                tasks.cancel_scope.cancel()
    return RawReply(data)


def requests(caplog: pytest.LogCaptureFixture, path: str) -> list[logging.LogRecord]:
    """The lines of the log about requests for that path."""
    lines = [it for it in caplog.records if it.name == "pecia.request"]
    return [it for it in lines if it.__dict__["fields"].get("path") == path]
