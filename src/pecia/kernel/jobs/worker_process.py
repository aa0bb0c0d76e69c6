"""The one worker of local mode: a child of the server, of lower priority, that dies with it."""

import ctypes
import gc
import math
import os
import resource
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

import anyio
from anyio.abc import Process

NICENESS = 10

_PR_SET_PDEATHSIG = 1
_M_ARENA_MAX = -8


@dataclass(frozen=True, slots=True)
class RestartBackoff:
    """Restart backoff of the child: reset if it lived long, growing if not."""

    first_s: float = 0.5
    max_s: float = 30.0
    reset_after_s: float = 60.0
    grace_s: float = 20.0


def worker_command(executable: str) -> list[str]:
    """The command line of the child, given the Python that runs Pecia."""
    # -P: ignore a package of our name in the working directory.
    return [executable, "-P", "-m", "pecia", "worker", "--child"]


async def supervise_worker(
    command: Sequence[str],
    env: Mapping[str, str],
    report: Callable[[str], None],
    *,
    pauses: RestartBackoff | None = None,
    first: "ForkedWorker | None" = None,
) -> NoReturn:
    """Keep one child running until cancelled; then stop it, gently first. The first may have been
    forked already; every later one is started by the command.

    Await it in the main thread: on Linux a child dies with the thread that started it.
    """
    rest = pauses or RestartBackoff()
    pause_s = rest.first_s
    while True:
        began = anyio.current_time()
        if first is not None:
            code = await first.run(rest.grace_s)
            first = None
        else:
            code = await _run_child(command, env, rest.grace_s)
        if anyio.current_time() - began >= rest.reset_after_s:
            pause_s = rest.first_s
        report(f"The worker ended with {code}; it restarts in {pause_s:g} s.")
        await anyio.sleep(pause_s)
        pause_s = min(pause_s * 2, rest.max_s)


class ForkedWorker:
    """A child that was forked and waits for its turn."""

    def __init__(self, pid: int, start_pipe: int) -> None:
        self._pid = pid
        self._handle = os.pidfd_open(pid)
        # The end of a pipe: a byte lets the child begin, its closing ends the child.
        self._start_pipe: int | None = start_pipe

    async def run(self, grace_s: float) -> int:
        """Let it begin; its exit code when it has ended."""
        try:
            if self._start_pipe is not None:
                os.write(self._start_pipe, b"g")
            await anyio.wait_readable(self._handle)
        finally:
            with anyio.CancelScope(shield=True):
                await self._end(signal.SIGTERM, grace_s)
                await self._end(signal.SIGKILL, math.inf)
        return self._reap()

    def discard(self) -> None:
        """End it, if it never began."""
        if self._start_pipe is not None:
            os.close(self._start_pipe)
            self._start_pipe = None
            self._reap()

    async def _end(self, number: signal.Signals, limit_s: float) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, number)
        with anyio.move_on_after(limit_s):
            await anyio.wait_readable(self._handle)

    def _reap(self) -> int:
        _, status = os.waitpid(self._pid, 0)
        os.close(self._handle)
        if self._start_pipe is not None:
            os.close(self._start_pipe)
            self._start_pipe = None
        return os.waitstatus_to_exitcode(status)


def fork_worker(work: Callable[[], None]) -> ForkedWorker | None:
    """Fork this process, before it has an event loop, into a child that does the work when its
    turn comes. It has imported everything already, and shares the memory of that.

    None where forking is not safe: elsewhere than on Linux, or beside other threads.
    """
    if sys.platform != "linux" or threading.active_count() > 1:
        return None
    waits, start_pipe = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    # The collector would write to the pages that are to be shared.
    gc.freeze()
    pid = os.fork()
    if pid == 0:
        _run_forked(waits, work)
    os.close(waits)
    return ForkedWorker(pid, start_pipe)


def _run_forked(start_pipe: int, work: Callable[[], None]) -> NoReturn:
    """Everything that the child does. It never returns into the frames of its parent."""
    code = 1
    try:
        # Ctrl-C in the terminal is for the parent, which then stops the child.
        os.setsid()
        os.dup2(start_pipe, 0)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        # Sockets and locks are the parent's.
        os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        if os.read(0, 1) == b"g":
            # The parent may have switched it off while it imported.
            gc.enable()
            _limit_arenas()
            become_child()
            work()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001 - the outermost handler of this process.
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _limit_arenas() -> None:
    """As MALLOC_ARENA_MAX, for a process that runs already; the C library may have no such."""
    with suppress(AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)


def become_child() -> None:
    """First thing in the child: lower its priority, and arrange to die with the parent.

    Linux sends the signal. Elsewhere, and when the parent died before that was set, EOF on stdin
    does it. Both kill: a job survives its worker's death, and nothing else is lost.
    """
    os.nice(NICENESS)
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_die_with_pipe, name="parent-watch", daemon=True).start()


async def _run_child(command: Sequence[str], env: Mapping[str, str], grace_s: float) -> int:
    """One child from start to end; its exit code."""
    process = await anyio.open_process(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=None,
        # Its threads would each keep what they once needed: a crawl grew to half as much again.
        env={"MALLOC_ARENA_MAX": "2", **env},
        # Ctrl-C in the terminal is for the parent, which then stops the child.
        start_new_session=True,
    )
    try:
        return await process.wait()
    finally:
        with anyio.CancelScope(shield=True):
            await _terminate(process, grace_s)


async def _terminate(process: Process, grace_s: float) -> None:
    if process.returncode is None:
        process.terminate()
        with anyio.move_on_after(grace_s):
            await process.wait()
    if process.returncode is None:
        process.kill()
    await process.aclose()


def _die_with_pipe() -> None:
    while os.read(0, 64):
        pass
    os.kill(os.getpid(), signal.SIGKILL)
