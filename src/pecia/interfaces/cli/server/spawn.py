"""Starts a server as a detached process, and waits for it."""

import os
import stat
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.cli.server.discover import RunningServer, find_running_server
from pecia.interfaces.cli.server.lock import home_lock_path, is_claimed, read_lock
from pecia.kernel.errors import Timeout, Unavailable

LOG_NAME = "server.log"
START_TIMEOUT_S = 120.0
POLL_INTERVAL_S = 0.05
LOG_TAIL_BYTES = 4000
LOG_LIMIT_BYTES = 1_000_000
"""A log that is longer is put aside at the next start."""
OLD_LOGS = 3
STARTED = "==== started"


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
    log_handle = open_log(log)
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


def open_log(path: Path) -> int:
    """The log of a home, to append to: why a server ended can be read after the next start. A long
    one is put aside first."""
    handle = _append_to(path)
    if handle is not None and os.fstat(handle).st_size >= LOG_LIMIT_BYTES:
        os.close(handle)
        _put_aside(path)
        handle = None
    if handle is None:
        handle = _create_log(path)
    os.write(handle, f"{STARTED} {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}\n".encode())
    return handle


def _append_to(path: Path) -> int | None:
    """None unless it is a file of ours: a cloned folder may have a link there."""
    flags = os.O_WRONLY | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags)
    except OSError:
        return None
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        os.close(handle)
        return None
    if hasattr(os, "fchmod"):
        os.fchmod(handle, 0o600)
    return handle


def _create_log(path: Path) -> int:
    """A new file that replaces whatever is there."""
    fresh = path.with_name(f".{path.name}-{uuid4().hex}")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
    try:
        fresh.replace(path)
    except OSError:
        os.close(handle)
        fresh.unlink()
        raise
    return handle


def _put_aside(path: Path) -> None:
    names = [path, *(path.with_name(f"{path.name}.{n}") for n in range(1, OLD_LOGS + 1))]
    for older, newer in reversed([*zip(names[1:], names, strict=False)]):
        with suppress(FileNotFoundError):
            newer.replace(older)


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
        f"the server does not answer after {patience.answer_s:g} s; it may still come up",
        timeout_s=patience.answer_s,
        hint=f"see whether it is up: pecia status; its log is {log or home / LOG_NAME}",
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

    text = read_tail(log, 0, limit_bytes=LOG_TAIL_BYTES)
    _, _, last = text.rpartition(STARTED)
    return last.partition("\n")[2].strip() or "it logged nothing"
