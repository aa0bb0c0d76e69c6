"""One child process from the server's side: start, send files, watch, kill.

Nothing that the child does is trusted: not its words, not its size, not its speed.
"""

import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import anyio
import psutil
from anyio.abc import Process

from pecia.adapters.extraction.model import MB, ExtractionLimits
from pecia.adapters.extraction.status import Confinement, ExtractionStatus
from pecia.adapters.extraction.wire import (
    About,
    Ending,
    FrameDecoder,
    MalformedFrame,
    Message,
    OutputLimitExceeded,
    ReadRequest,
    Ready,
    pack_requests,
)
from pecia.kernel.errors import Unavailable
from pecia.kernel.text.canonical import RawUnit

TakeMessage: TypeAlias = Callable[[About | RawUnit], None]


@dataclass(frozen=True, slots=True)
class ExtractionJob:
    """An order with its open file, and who takes what comes."""

    order: ReadRequest
    descriptor: int
    take: TakeMessage


_MODULE = "pecia.adapters.extraction.child"
_POLL_INTERVAL_S = 0.2
_GREETING_BYTES = 10_000
_PAGE_BYTES = resource.getpagesize()
# The most that UTF-8 needs for a character, and metadata beside the text.
_CHAR_BYTES = 4
_ABOUT_BYTES = 4 * MB
# Threads cost address space, and the child reads one file at a time.
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "MALLOC_ARENA_MAX": "2",
    "RAYON_NUM_THREADS": "1",
    "TOKIO_WORKER_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


async def start_child(limits: ExtractionLimits) -> "ExtractorProcess":
    """A child that has said it is ready. Raises `Unavailable` when none can be had."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with theirs:
        process = await anyio.open_process(
            [sys.executable, "-I", "-m", _MODULE, str(limits.memory_bytes), str(limits.idle_s)],
            stdin=theirs.fileno(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=_ENVIRONMENT,
            # One signal ends the child and whatever it may have started.
            start_new_session=True,
        )
    child = ExtractorProcess(process, ours, limits)
    try:
        await child.wait_ready()
    except BaseException:
        await child.kill()
        raise
    return child


class ExtractorProcess:
    def __init__(self, process: Process, line: socket.socket, limits: ExtractionLimits) -> None:
        self._process = process
        self._line = line
        self._limits = limits
        self._uses = 0
        self._sound = True
        self._coming: Iterator[Message] = iter(())
        # Kept, because finding a process anew costs more than reading a small file.
        self._seen: psutil.Process | None = None
        self.confinement = Confinement(memory=False, network=False, files=False)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_new(self) -> bool:
        return self._uses == 0

    @property
    def is_reusable(self) -> bool:
        """Whether the next file may go to this child, or is safer and cheaper in a new one."""
        return (
            self._sound
            and self._process.returncode is None
            and self._uses < self._limits.max_uses
            and self.rss_bytes() < self._limits.max_growth_bytes
        )

    def rss_bytes(self) -> int:
        try:
            # Read after every file: on Linux one line of /proc is enough.
            statm = Path(f"/proc/{self.pid}/statm").read_bytes()
            return int(statm.split()[1]) * _PAGE_BYTES
        except OSError:
            return self._counted_bytes()

    def _counted_bytes(self) -> int:
        try:
            self._seen = self._seen or psutil.Process(self.pid)
            return self._seen.memory_info().rss
        except psutil.Error:
            return 0

    async def wait_ready(self) -> None:
        frames = FrameDecoder(_GREETING_BYTES)
        with anyio.move_on_after(self._limits.start_s):
            while (piece := await self._receive()) is not None:
                for message in frames.feed(piece):
                    if isinstance(message, Ready):
                        self.confinement = message.confinement
                        return
        raise Unavailable(
            "the process that reads files did not start", exit_code=self._process.returncode
        )

    async def read(self, wanted: Sequence[ExtractionJob], letters: int) -> list[Ending]:
        """What the orders ask for, piece by piece to those who take it; then how each ended.

        Fewer endings than orders: the last of them is that of the child, and the rest is unread.
        """
        self._uses += len(wanted)
        # Only an answer that came to its end leaves the child fit for another file.
        self._sound = False
        orders, descriptors = [it.order for it in wanted], [it.descriptor for it in wanted]
        try:
            socket.send_fds(self._line, [pack_requests(orders)], descriptors)
        except OSError:
            return [await self._exit_reason()]
        frames, endings = FrameDecoder(0), list[Ending]()
        self._coming = iter(())
        for it in wanted:
            self._sound = False
            frames.allow(_CHAR_BYTES * letters + _ABOUT_BYTES)
            endings.append(await self._receive_messages(frames, it.take))
            if not self._sound:
                break
        return endings

    async def _receive_messages(self, frames: FrameDecoder, take: TakeMessage) -> Ending:
        try:
            return await self._listen(frames, take)
        except OutputLimitExceeded:
            most = self._limits.text_chars
            return Ending(ExtractionStatus.TOO_LARGE, f"More than {most:,} letters came out of it.")
        except MalformedFrame:
            return Ending(
                ExtractionStatus.CRASHED, "The reader of this file sent an invalid answer."
            )

    async def kill(self) -> None:
        """Kill it, and wait until it is gone."""
        with anyio.CancelScope(shield=True):
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self._line.close()
            await self._process.aclose()

    async def _listen(self, frames: FrameDecoder, take: TakeMessage) -> Ending:
        deadline = anyio.current_time() + self._limits.wall_s
        while anyio.current_time() < deadline:
            # First what came together with the end of the file before.
            for message in self._coming:
                if isinstance(message, Ending):
                    self._sound = True
                    return message
                take(_content(message))
            piece = b""
            with anyio.move_on_after(_POLL_INTERVAL_S):
                piece = await self._receive()
            if piece is None:
                return await self._exit_reason()
            self._coming = frames.feed(piece)
            if not piece and self.rss_bytes() > self._limits.memory_bytes:
                return Ending(ExtractionStatus.TOO_LARGE, _too_much_memory(self._limits))
        return Ending(
            ExtractionStatus.TIMEOUT, f"It was not read within {self._limits.wall_s:g} seconds."
        )

    async def _receive(self) -> bytes | None:
        stream = self._process.stdout
        if stream is None:
            return None
        try:
            return await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return None

    async def _exit_reason(self) -> Ending:
        """Why the child is dead, in words; its output has ended, so it is, or is about to be."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        code = await self._process.wait()
        match -code:
            case signal.SIGXCPU:
                seconds = self._limits.cpu_s
                return Ending(
                    ExtractionStatus.TIMEOUT, f"It took more than {seconds} seconds of CPU time."
                )
            case signal.SIGBUS:
                return Ending(ExtractionStatus.CRASHED, "The file shrank while it was read.")
            case signal.SIGABRT:
                return Ending(
                    ExtractionStatus.CRASHED,
                    "The reader gave up, as it does for want of memory: "
                    f"it may use {_size(self._limits.memory_bytes)}.",
                )
            case number if number > 0:
                return Ending(
                    ExtractionStatus.CRASHED,
                    f"The reader was killed by {signal.Signals(number).name}.",
                )
            case _:
                return Ending(ExtractionStatus.CRASHED, f"The reader ended with code {code}.")


def _content(message: Message) -> About | RawUnit:
    if isinstance(message, About | RawUnit):
        return message
    raise MalformedFrame


def _too_much_memory(limits: ExtractionLimits) -> str:
    return f"Reading it takes more than {_size(limits.memory_bytes)} of memory."


def _size(size_bytes: int) -> str:
    return f"{size_bytes / MB:,.0f} MB"
