"""One compute worker from the server's side: started, given a job, ended. Kills what is late."""

import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from pecia.kernel.compute.wire import (
    HEAD,
    ComputeAnswer,
    ComputeCrashed,
    ComputeDone,
    ComputeImport,
    ComputeJob,
    ComputeOutOfMemory,
    ComputeProgress,
    ComputeRefused,
    pack,
    unpack_answer,
)
from pecia.kernel.errors import PayloadTooLarge, Unavailable

ReportComputeProgress: TypeAlias = Callable[[int, int], Awaitable[None]]

MB = 1_000_000
_MODULE = "pecia.kernel.compute.child"
# Nothing of the server's own environment: its keys are none of a worker's business.
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "MALLOC_ARENA_MAX": "2"}


@dataclass(frozen=True, slots=True)
class ComputeLimits:
    """What all workers of a process may take, and one job of them. `share` is one tenant's part."""

    workers: int = (os.cpu_count() or 1) + 1
    share: int = os.cpu_count() or 1
    waiting: int = 64
    memory_bytes: int = 1_500 * MB
    cpu_s: int = 900
    start_s: float = 30.0
    jobs: int = 1_000
    grown_bytes: int = 400 * MB


class WorkerCrashed(Exception):
    """A fault of ours in a worker; its traceback is the message."""


async def start_worker(limits: ComputeLimits) -> "ComputeWorker":
    """A worker without any module of a job yet."""
    process = await anyio.open_process(
        [sys.executable, "-I", "-m", _MODULE, str(limits.memory_bytes), str(limits.cpu_s)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env=_ENVIRONMENT,
        start_new_session=True,
    )
    return ComputeWorker(process, limits)


class ComputeWorker:
    def __init__(self, process: Process, limits: ComputeLimits) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._input = process.stdin
        self._output = BufferedByteReceiveStream(process.stdout)
        self._limits = limits
        self._modules: set[str] = set()
        self._jobs = 0
        self._sound = True

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_reusable(self) -> bool:
        """Whether the next job may go to this worker, or is safer in a new one."""
        return (
            self._sound
            and self._process.returncode is None
            and self._jobs < self._limits.jobs
            and _resident_bytes(self.pid) < self._limits.grown_bytes
        )

    async def prepare(self, module: str) -> None:
        """Wait until it has started and has that module; Unavailable after `start_s`."""
        if module in self._modules:
            return
        try:
            with anyio.fail_after(self._limits.start_s):
                await self._exchange(ComputeImport(module), None)
        except TimeoutError:
            raise Unavailable("a compute worker did not start in time") from None
        self._modules.add(module)

    async def run(self, job: ComputeJob, report: ReportComputeProgress | None) -> Any:
        """The job's value or its error. If cancelled, the worker must be killed."""
        self._jobs += 1
        return await self._exchange(job, report)

    async def _exchange(
        self, message: ComputeImport | ComputeJob, report: ReportComputeProgress | None
    ) -> Any:
        self._sound = False
        request = pack(message)
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._input.send(request)
        while isinstance(answer := await self._receive(), ComputeProgress):
            if report:
                await report(answer.done, answer.total)
        self._sound = isinstance(answer, ComputeDone | ComputeRefused)
        return _value(answer, self._limits)

    async def kill(self) -> None:
        """Kill it, and wait until it is gone."""
        with anyio.CancelScope(shield=True):
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            await self._process.aclose()

    async def _receive(self) -> ComputeAnswer:
        try:
            (size,) = HEAD.unpack(await self._output.receive_exactly(HEAD.size))
            return unpack_answer(await self._output.receive_exactly(size))
        except (anyio.IncompleteRead, anyio.EndOfStream, anyio.BrokenResourceError):
            code = await self._process.wait()
            raise Unavailable(
                "the compute worker ended before it had a result",
                exit_code=code,
                hint="Try again; if it happens again, give a smaller document.",
            ) from None


def _value(
    answer: ComputeDone | ComputeRefused | ComputeOutOfMemory | ComputeCrashed,
    limits: ComputeLimits,
) -> Any:
    match answer:
        case ComputeDone(value):
            return value
        case ComputeRefused(kind, message, fields):
            raise kind(message, **fields)
        case ComputeOutOfMemory():
            most = limits.memory_bytes // MB
            raise PayloadTooLarge(
                f"this document needs more than {most:,} MB of memory to process",
                field="document",
                max=limits.memory_bytes,
                hint="Give a smaller one.",
            )
        case ComputeCrashed(trace):
            raise WorkerCrashed(trace)


def _resident_bytes(pid: int) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_bytes().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
