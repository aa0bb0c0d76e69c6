"""Starts a server through its keeper and waits until it answers. Never stops one."""

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

import psycopg
from anyio.from_thread import check_cancelled

from pecia.kernel.errors import PeciaError, Unavailable
from pecia.kernel.store.atomic_file import read_tail
from pecia.kernel.store.cluster.failure import explain_failure
from pecia.kernel.store.cluster.paths import ClusterPaths
from pecia.kernel.store.cluster.programs import PostgresPrograms
from pecia.kernel.store.file_lock import backoff_delays, is_locked

KEEPER = Path(__file__).with_name("keeper.py")
KEEPER_START_LIMIT_S = 30
CONNECT_LIMIT_S = 5
QUIET_START_S = 1.0
MAX_BACKOFF_S = 0.5
MAX_ATTEMPTS = 5

ServerState: TypeAlias = Literal["ready", "starting", "absent"]

# How a keeper ended, or None while it lives. The argument is how long to wait for that.
PollKeeperEnd: TypeAlias = Callable[[float], str | None]


@dataclass(frozen=True, slots=True)
class ServerStart:
    """All it takes to start one server."""

    paths: ClusterPaths
    programs: PostgresPrograms
    login: str = field(repr=False)
    grace_s: float
    report: Callable[[str], None]


def ensure_running(start: ServerStart) -> None:
    """Return when the server answers, starting it if nobody keeps it. Call with start.lock taken.

    A keeper may be killed, or be stopping, meanwhile: then retry.
    """
    log_start = start.paths.log.stat().st_size if start.paths.log.exists() else 0
    for _ in range(MAX_ATTEMPTS):
        with _keeper(start) as keeper_ended:
            ended = _await_answer(start, keeper_ended, log_start)
        if ended is None:
            return
        if ended.startswith("failed"):
            raise _failure(start, log_start, ended)
    raise _failure(start, log_start, "its keeper was killed again and again")


def probe_server(login: str) -> ServerState:
    """Whether a server answers to our own password. Liveness is this, and never a pid."""
    try:
        psycopg.connect(login, connect_timeout=CONNECT_LIMIT_S).close()
    except psycopg.OperationalError as error:
        return parse_refusal(str(error))
    return "ready"


def probe_kept_server(paths: ClusterPaths, login: str) -> ServerState:
    """Whether the server of a living keeper answers. Another that answers is about to stop.

    Looked at again after the answer: the lock of a killed keeper goes before its server hears of
    its end, so the server that answered meanwhile was not stopping.
    """
    if not is_locked(paths.serving_lock):
        return "absent"
    answer = probe_server(login)
    return answer if is_locked(paths.serving_lock) else "absent"


def parse_refusal(refusal: str) -> ServerState:
    """What a refused connection says of the server. A stranger at our socket is an error."""
    if "password authentication failed" in refusal:
        raise Unavailable(
            "a PostgreSQL answers at our socket, but not to our password; restore passwords.json"
        )
    if "too many clients" in refusal or "connection slots" in refusal:
        return "ready"
    return "starting" if "FATAL" in refusal or "timeout" in refusal else "absent"


def _await_answer(start: ServerStart, keeper_ended: PollKeeperEnd, log_start: int) -> str | None:
    reported, report_after = "", time.monotonic() + QUIET_START_S
    for wait_s in backoff_delays(MAX_BACKOFF_S):
        check_cancelled()
        answer = probe_kept_server(start.paths, start.login)
        if answer == "ready":
            return None
        if time.monotonic() > report_after:
            progress = _progress(start.paths, log_start)
            if progress != reported:
                start.report(progress)
            reported = progress
        ended = keeper_ended(wait_s)
        if ended is not None:
            return ended
    return None  # pragma: no cover - the waits never end


def _progress(paths: ClusterPaths, log_start: int) -> str:
    """How far the start is: of crash recovery in PostgreSQL's own words."""
    if not is_locked(paths.serving_lock):
        return "Waiting for the earlier database server to stop."
    for line in reversed(read_tail(paths.log, log_start).splitlines()):
        if "elapsed time" in line:
            return "The database is recovering: " + line.partition("LOG:")[2].strip()
    return "The database is starting."


@contextmanager
def _keeper(start: ServerStart) -> Generator[PollKeeperEnd]:
    """Watch the running keeper, or start one."""
    if is_locked(start.paths.keeper_lock):
        yield partial(_dropped_its_lock, start.paths)
        return
    ours, theirs = os.pipe()
    try:
        try:
            _spawn(start, theirs)
        finally:
            os.close(theirs)
        yield partial(_closed_its_pipe, ours)
    finally:
        os.close(ours)


def _dropped_its_lock(places: ClusterPaths, wait_s: float) -> str | None:
    time.sleep(wait_s)
    return None if is_locked(places.keeper_lock) else ""


def _closed_its_pipe(pipe: int, wait_s: float) -> str | None:
    """The keeper holds the other end while it lives, and reports how it ended."""
    # Not select, which fails where a process has more than a thousand files open.
    watched = select.poll()
    watched.register(pipe, select.POLLIN)
    return os.read(pipe, 4096).decode() if watched.poll(wait_s * 1000) else None


def _spawn(start: ServerStart, pipe: int) -> None:
    """Run the keeper by its path: as a module, all of Pecia would be imported on its way."""
    user = start.programs.user
    subprocess.run(
        [
            *(sys.executable, "-I", "-S", KEEPER),
            *(start.paths.root, start.paths.sockets, start.programs.path("postgres")),
            *(str(user.uid), str(user.gid), str(start.grace_s), str(pipe), "0"),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        pass_fds=[pipe],
        timeout=KEEPER_START_LIMIT_S,
        check=True,
    )


def _failure(start: ServerStart, log_start: int, ended: str) -> PeciaError:
    """What the log says of this start, without the answers to our own early knocking."""
    lines = read_tail(start.paths.log, log_start).splitlines()
    said = [line for line in lines if "FATAL:  the database system is" not in line]
    return explain_failure("PostgreSQL did not start", "\n".join([*said, ended]), start.paths.log)
