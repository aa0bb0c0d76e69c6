"""A client for MCP servers that hold a graph of nodes: started, asked everything once, ended.

A program of its own, by argv and never a shell, with little environment. Whatever it does, it does
for a bounded time and with a bounded number of bytes.
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

VERSION = "2025-06-18"
HELLO = {
    "protocolVersion": VERSION,
    "capabilities": {},
    "clientInfo": {"name": "pecia", "version": "1"},
}


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long one request may take, how long a line may be, how much all of it may be."""

    request_s: float = 5.0
    line_bytes: int = 10_000_000
    total_bytes: int = 100_000_000
    nodes: int = 50_000
    end_s: float = 0.3


@dataclass(frozen=True, slots=True)
class NodePrograms:
    """Starts the programs that trusted manifests name."""

    path: str = "/usr/local/bin:/usr/bin:/bin"
    bounds: Bounds = field(default_factory=Bounds)

    async def nodes(self, argv: Sequence[str], folder: Path) -> Sequence[Mapping[str, Any]]:
        """Every node that the server lists, as it gives them."""
        async with _running(argv, folder, self.path, self.bounds) as talk:
            await talk.ask("initialize", HELLO)
            await talk.tell("notifications/initialized")
            listed = await talk.call("list_nodes", {})
            names = _names(listed)[: self.bounds.nodes]
            found = [await talk.call("get_node", {"id": it}) for it in names]
        return [cast(Mapping[str, Any], it) for it in found if isinstance(it, dict)]


@dataclass(slots=True)
class _Talk:
    """One conversation in lines of JSON."""

    process: Process
    lines: BufferedByteReceiveStream
    bounds: Bounds
    ids: "count[int]" = field(default_factory=lambda: count(1))
    left: int = 0

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """What a tool gives: the JSON in its first block of text."""
        result = await self.ask("tools/call", {"name": tool, "arguments": arguments})
        try:
            return orjson.loads(result["content"][0]["text"])
        except (KeyError, IndexError, TypeError, ValueError):
            raise UpstreamError(f"{tool} gave something that is not JSON") from None

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        number = next(self.ids)
        frame = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        try:
            with anyio.fail_after(self.bounds.request_s):
                await self._send(frame)
                return await self._answer(number, method)
        except TimeoutError:
            limit = self.bounds.request_s
            raise Timeout(f"no answer to {method} in {limit:g} s", timeout_s=limit) from None

    async def tell(self, method: str) -> None:
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
                raise UpstreamError(f"{method} was refused: {str(frame['error'])[:200]}")
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
        self.left -= len(line)
        if self.left < 0:
            raise PayloadTooLarge(
                "the program says too much", field="output", max=self.bounds.total_bytes
            )
        return line


@asynccontextmanager
async def _running(
    argv: Sequence[str], folder: Path, path: str, bounds: Bounds
) -> AsyncGenerator[_Talk]:
    try:
        process = await anyio.open_process(
            [*argv], cwd=folder, env={"PATH": path}, stderr=subprocess.DEVNULL
        )
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UpstreamError(f"{argv[0]} cannot be started: {reason}") from None
    assert process.stdout is not None
    try:
        yield _Talk(
            process, BufferedByteReceiveStream(process.stdout), bounds, left=bounds.total_bytes
        )
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process, bounds.end_s)


async def _end(process: Process, wait_s: float) -> None:
    """Ask it to end, then make it."""
    with suppress(ProcessLookupError):
        process.terminate()
    with anyio.move_on_after(wait_s):
        await process.wait()
    with suppress(ProcessLookupError):
        process.kill()
    await process.aclose()


def _frame(line: bytes) -> dict[str, Any] | None:
    """A line that is no frame is passed over: programs print all sorts of things."""
    try:
        found: object = orjson.loads(line)
    except ValueError:
        return None
    return cast(dict[str, Any], found) if isinstance(found, dict) else None


def _names(listed: Any) -> list[str]:
    found = cast(Any, listed).get("nodes") if isinstance(listed, dict) else None
    if not isinstance(found, list):
        raise UpstreamError("list_nodes gave no list of nodes")
    return [it for it in cast(list[object], found) if isinstance(it, str)]
