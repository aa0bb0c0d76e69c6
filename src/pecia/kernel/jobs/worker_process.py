"""The one worker of local mode: a child of the server, of lower priority, that dies with it."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import anyio
from anyio.abc import Process

NICENESS = 10

_PR_SET_PDEATHSIG = 1


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
) -> NoReturn:
    """Keep one child running until cancelled; then stop it, gently first.

    Await it in the main thread: on Linux a child dies with the thread that started it.
    """
    rest = pauses or RestartBackoff()
    pause_s = rest.first_s
    while True:
        began = anyio.current_time()
        code = await _run_child(command, env, rest.grace_s)
        if anyio.current_time() - began >= rest.reset_after_s:
            pause_s = rest.first_s
        report(f"The worker ended with {code}; it restarts in {pause_s:g} s.")
        await anyio.sleep(pause_s)
        pause_s = min(pause_s * 2, rest.max_s)


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
