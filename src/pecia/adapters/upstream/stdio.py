"""An MCP server as a child process, over stdio.

By argv and never a shell, with the environment it is given and no other. No line is longer than
allowed, and nothing it started outlives the block.
"""

import os
import signal
import subprocess
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import anyio
from anyio.abc import ByteReceiveStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from pecia.kernel.errors import UpstreamError

STDERR_TAIL_BYTES = 2_000
TERMINATE_TIMEOUT_S = 2.0
FLUSH_TIMEOUT_S = 0.5


@dataclass(frozen=True, slots=True)
class StdioProgram:
    """What is started, where, and with what around it."""

    argv: Sequence[str]
    folder: str | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


class StderrTail:
    """The end of what a program wrote to stderr: why it would not start, mostly."""

    def __init__(self) -> None:
        self._kept: deque[int] = deque(maxlen=STDERR_TAIL_BYTES)

    def add(self, data: bytes) -> None:
        self._kept.extend(data[-STDERR_TAIL_BYTES:])

    def __str__(self) -> str:
        text = bytes(self._kept).decode("utf-8", "replace")
        return "".join(it for it in text if it.isprintable() or it == "\n").strip()


@dataclass(slots=True)
class ClosedReason:
    """Why a connection is closed, as far as it is known."""

    message: str = "the connection is closed"


@asynccontextmanager
async def open_stdio(
    program: StdioProgram,
    words: StderrTail,
    over: anyio.Event,
    reason: ClosedReason,
    *,
    line_bytes: int,
) -> AsyncGenerator[TransportStreams]:
    """The program, with its pipes as message streams. Its exit sets `over`."""
    process = await _start(program)
    incoming, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outbox, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    assert process.stdout is not None
    assert process.stderr is not None
    async with incoming, inbox, outbox, outgoing, anyio.create_task_group() as tasks:
        tasks.start_soon(_read_stdout, process.stdout, incoming, reason, line_bytes, over)
        tasks.start_soon(_write_stdin, process, outgoing, incoming)
        tasks.start_soon(_read_stderr, process.stderr, words)
        try:
            yield inbox, outbox
        finally:
            with anyio.CancelScope(shield=True):
                await _terminate(process)
            tasks.cancel_scope.cancel()


async def _start(program: StdioProgram) -> Process:
    try:
        return await anyio.open_process(
            [*program.argv],
            cwd=program.folder,
            env=dict(program.env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UpstreamError(f"{program.argv[0]} cannot be started: {reason.lower()}") from None


async def _read_stdout(
    stdout: ByteReceiveStream,
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
    reason: ClosedReason,
    line_bytes: int,
    over: anyio.Event,
) -> None:
    """Every line that is a frame. One that is too long closes the connection."""
    lines = BufferedByteReceiveStream(stdout)
    gone = suppress(
        anyio.EndOfStream,
        anyio.IncompleteRead,
        anyio.BrokenResourceError,
        anyio.ClosedResourceError,
    )
    with gone:
        while True:
            try:
                line = await lines.receive_until(b"\n", line_bytes)
            except anyio.DelimiterNotFound:
                reason.message = f"its answer has more than {line_bytes} bytes (hub.answer_bytes)"
                break
            # Programs print all sorts of things: a line that is no frame is skipped.
            with suppress(ValueError):
                await incoming.send(SessionMessage(jsonrpc_message_adapter.validate_json(line)))
    over.set()
    await incoming.aclose()


async def _write_stdin(
    process: Process,
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    assert process.stdin is not None
    gone = suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)
    with gone:
        async for it in outgoing:
            frame = it.message.model_dump_json(by_alias=True, exclude_unset=True)
            await process.stdin.send(frame.encode() + b"\n")
    # Nothing more can be sent, so no answer comes either.
    await incoming.aclose()


async def _read_stderr(stderr: ByteReceiveStream, words: StderrTail) -> None:
    with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
        while True:
            words.add(await stderr.receive())


async def _terminate(process: Process) -> None:
    """Close its stdin, as the protocol says; then SIGTERM; then SIGKILL to its process group."""
    assert process.stdin is not None
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        with anyio.move_on_after(FLUSH_TIMEOUT_S):
            await process.stdin.aclose()
    for sign in (None, signal.SIGTERM, signal.SIGKILL):
        if sign is not None:
            _signal(process, sign)
        with anyio.move_on_after(TERMINATE_TIMEOUT_S):
            await process.wait()
            break
    # Its orphans are still in the process group: kill them too.
    _signal(process, signal.SIGKILL)
    with suppress(ProcessLookupError):
        await process.aclose()


def _signal(process: Process, sign: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, sign)
