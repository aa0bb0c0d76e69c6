"""A minimal MCP client over stdio, in lines of JSON.

By argv and never a shell, with little environment. Whatever the program does, it does for a bounded
time and with a bounded number of bytes.
"""

import subprocess
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, cast

import anyio
import orjson
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from pecia.kernel.errors import PayloadTooLarge, Timeout, UpstreamError


@dataclass(frozen=True, slots=True)
class StdioClientLimits:
    """How long one request and all of them may take, how much a line and all of it may be."""

    request_s: float = 5.0
    total_s: float = 30.0
    line_bytes: int = 10_000_000
    total_bytes: int = 100_000_000
    max_items: int = 50_000
    terminate_timeout_s: float = 0.3


class StdioRequestRefused(UpstreamError):
    """The program answered with an error: it may still answer the next request."""


@dataclass(slots=True)
class StdioClient:
    """One connection. Unsolicited answers are ignored."""

    process: Process
    lines: BufferedByteReceiveStream
    bounds: StdioClientLimits
    ids: "count[int]" = field(default_factory=lambda: count(1))
    bytes_left: int = 0

    async def call_tool(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """A tool's result: the JSON in its first text block."""
        result = await self.request("tools/call", {"name": tool, "arguments": arguments})
        try:
            text = result["content"][0]["text"]
            if result.get("isError"):
                raise StdioRequestRefused(f"{tool} was refused: {text[:200]}")
            return orjson.loads(text)
        except (KeyError, IndexError, TypeError, AttributeError, ValueError):
            raise StdioRequestRefused(f"{tool} returned something that is not JSON") from None

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        number = next(self.ids)
        frame = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        try:
            with anyio.fail_after(self.bounds.request_s):
                await self._send(frame)
                return await self._answer(number, method)
        except TimeoutError:
            limit = self.bounds.request_s
            raise Timeout(f"no answer to {method} in {limit:g} s", timeout_s=limit) from None

    async def notify(self, method: str) -> None:
        await self._send({"jsonrpc": "2.0", "method": method})

    async def _send(self, frame: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        try:
            await self.process.stdin.send(orjson.dumps(frame) + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            raise UpstreamError("the program has ended") from None

    async def _answer(self, number: int, method: str) -> Any:
        while True:
            frame = _frame(await self._line())
            if frame is None or frame.get("id") != number or "method" in frame:
                continue
            if "error" in frame:
                raise StdioRequestRefused(f"{method} was refused: {str(frame['error'])[:200]}")
            return frame.get("result")

    async def _line(self) -> bytes:
        try:
            line = await self.lines.receive_until(b"\n", self.bounds.line_bytes)
        except anyio.DelimiterNotFound:
            raise PayloadTooLarge(
                "a line is too long", field="line", max=self.bounds.line_bytes
            ) from None
        except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
            raise UpstreamError("the program has ended") from None
        self.bytes_left -= len(line)
        if self.bytes_left < 0:
            raise PayloadTooLarge(
                "the program's output is over its limit",
                field="output",
                max=self.bounds.total_bytes,
            )
        return line


@asynccontextmanager
async def open_stdio_client(
    argv: Sequence[str], folder: Path, path: str, bounds: StdioClientLimits
) -> AsyncGenerator[StdioClient]:
    """Start the program in that folder, stop it afterwards."""
    try:
        process = await anyio.open_process(
            [*argv], cwd=folder, env={"PATH": path}, stderr=subprocess.DEVNULL
        )
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UpstreamError(f"{argv[0]} cannot be started: {reason}") from None
    assert process.stdout is not None
    try:
        with anyio.fail_after(bounds.total_s):
            yield StdioClient(
                process,
                BufferedByteReceiveStream(process.stdout),
                bounds,
                bytes_left=bounds.total_bytes,
            )
    except TimeoutError:
        limit = bounds.total_s
        raise Timeout(f"not read to the end in {limit:g} s", timeout_s=limit) from None
    finally:
        with anyio.CancelScope(shield=True):
            await _terminate(process, bounds.terminate_timeout_s)


async def _terminate(process: Process, wait_s: float) -> None:
    """SIGTERM, then SIGKILL."""
    with suppress(ProcessLookupError):
        process.terminate()
    with anyio.move_on_after(wait_s):
        await process.wait()
    with suppress(ProcessLookupError):
        process.kill()
    await process.aclose()


def _frame(line: bytes) -> dict[str, Any] | None:
    """A line that is no frame is skipped: programs print all sorts of things."""
    try:
        found: object = orjson.loads(line)
    except ValueError:
        return None
    return cast(dict[str, Any], found) if isinstance(found, dict) else None
