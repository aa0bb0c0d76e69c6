"""Starts a server as a detached process, and waits for it."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.cli.server.discover import RunningServer, find_running_server
from pecia.interfaces.cli.server.lock import home_lock_path, is_claimed, read_lock
from pecia.kernel.errors import Timeout, Unavailable

LOG_NAME = "server.log"
START_TIMEOUT_S = 120.0
POLL_INTERVAL_S = 0.05
LOG_TAIL_BYTES = 4000


@dataclass(frozen=True, slots=True)
class StartTimeouts:
    """Startup timeouts of a server: to get a port, and to answer there."""

    port_s: float = START_TIMEOUT_S
    answer_s: float = START_TIMEOUT_S


def spawn(
    terminal: Terminal,
    words: Sequence[str],
    log: Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> "subprocess.Popen[bytes]":
    """Start a server by its command line, in a session of its own. Its output goes to the log, and
    nowhere else.
    """
    config = ["--config", str(terminal.config.absolute())] if terminal.config else []
    log_handle = create_log(log)
    try:
        return subprocess.Popen(
            # -P: a package of our name in the current folder is not ours.
            [sys.executable, "-P", "-m", "pecia", *config, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log_handle,
            start_new_session=True,
            env=env,
            cwd=cwd,
        )
    finally:
        os.close(log_handle)


def create_log(path: Path) -> int:
    """A new file that replaces any existing one: a cloned folder may have a symlink there."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        Path(name).replace(path)
    except OSError:
        os.close(handle)
        Path(name).unlink()
        raise
    return handle


def wait_until_up(
    terminal: Terminal,
    home: Path,
    process: "subprocess.Popen[bytes] | None",
    patience: StartTimeouts = StartTimeouts(),
    log: Path | None = None,
) -> RunningServer:
    """The server, as soon as it answers; an error with its log, when it exits instead.

    Without a process it was started by another command, which holds the home.
    """
    terminal.info("starting the server…" if process else "waiting for a server that is starting…")
    begun = time.monotonic()
    has_port = False
    while (waited := time.monotonic() - begun) < patience.answer_s:
        has_port = has_port or _has_port(home)
        if found := find_running_server(home):
            return found
        _require_alive(home, process, log or home / LOG_NAME)
        if waited > patience.port_s and not has_port:
            raise Timeout(
                f"the server has no port after {patience.port_s:g} s; it may still come up",
                timeout_s=patience.port_s,
                hint="try again; OK_MCP_SPAWN_TIMEOUT_MS allows more time",
            )
        time.sleep(POLL_INTERVAL_S)
    raise Timeout(
        f"the server does not answer after {patience.answer_s:g} s", timeout_s=patience.answer_s
    )


def _has_port(home: Path) -> bool:
    lock = read_lock(home_lock_path(home))
    return lock is not None and lock.port > 0


def _require_alive(home: Path, process: "subprocess.Popen[bytes] | None", log: Path) -> None:
    if process is None:
        if not is_claimed(home):
            raise Unavailable("the server that was starting has ended", hint="pecia start")
    # Exit code 0: it found another server and joined that one, which will answer.
    elif process.poll():
        raise Unavailable(f"the server did not start: {_log_tail(log)}", log=str(log))


def _log_tail(log: Path) -> str:
    # Lazy import: the cluster package imports the database driver.
    from pecia.kernel.store.atomic_file import read_tail

    return read_tail(log, 0, limit_bytes=LOG_TAIL_BYTES).strip() or "it logged nothing"
