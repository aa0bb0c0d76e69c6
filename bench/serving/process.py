"""A compared server in a process of its own: start, CPU and memory, stop."""

import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.serving.fastmcp_venv import ROOT

START_LIMIT_S = 120.0


@dataclass(frozen=True, slots=True)
class RunningServer:
    """One listening server."""

    port: int
    pid: int

    def cpu_s(self) -> float:
        """CPU of the server itself; the database is another process."""
        times = psutil.Process(self.pid).cpu_times()
        return times.user + times.system

    def memory_mb(self) -> float:
        return round(psutil.Process(self.pid).memory_info().rss / 1e6, 1)


@contextmanager
def running(name: str, tools: int, python: Path | None = None) -> Generator[RunningServer]:
    """The server of that name with so many tools. FastMCP runs by the Python that has it."""
    port = _free_port()
    if python is None:
        words = [sys.executable, "-m", "bench.serving.serve", name, str(port), str(tools)]
    else:
        words = [str(python), "-m", "bench.serving.fastmcp_app", "serve", str(port), str(tools)]
    process = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE)
    try:
        _wait(port, process)
        yield RunningServer(port, process.pid)
    finally:
        if process.stdin is not None:
            process.stdin.close()
        if python is not None:
            process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(30)
        process.kill()


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_LIMIT_S
    while time.monotonic() < until:
        assert process.poll() is None, "the server ended before it listened"
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise TimeoutError("the server does not listen")


def _free_port() -> int:
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]
