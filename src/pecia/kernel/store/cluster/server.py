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
from pecia.kernel.store.cluster.failure import explain
from pecia.kernel.store.cluster.files import text_after
from pecia.kernel.store.cluster.locks import growing_waits, is_taken
from pecia.kernel.store.cluster.places import Places
from pecia.kernel.store.cluster.programs import Programs

KEEPER = Path(__file__).with_name("keeper.py")
KEEPER_START_LIMIT_S = 30
CONNECT_LIMIT_S = 5
QUIET_START_S = 1.0
LONGEST_WAIT_S = 0.5
ATTEMPTS = 5

Answer: TypeAlias = Literal["ready", "starting", "absent"]

# How a keeper ended, or None while it lives. The argument is how long to wait for that.
Ended: TypeAlias = Callable[[float], str | None]


@dataclass(frozen=True, slots=True)
class Start:
    """All it takes to start one server."""

    places: Places
    programs: Programs
    login: str = field(repr=False)
    grace_s: float
    report: Callable[[str], None]


def ensure_running(start: Start) -> None:
    """Return when the server answers, starting it if nobody keeps it. Call with start.lock taken.

    A keeper may be killed, or be on its way out, while we look: then we look again.
    """
    log_start = start.places.log.stat().st_size if start.places.log.exists() else 0
    for _ in range(ATTEMPTS):
        with _keeper(start) as keeper_ended:
            ended = _await_answer(start, keeper_ended, log_start)
        if ended is None:
            return
        if ended.startswith("failed"):
            raise _failure(start, log_start, ended)
    raise _failure(start, log_start, "its keeper was killed again and again")


def ask(login: str) -> Answer:
    """Whether a server answers to our own password. Liveness is this, and never a pid."""
    try:
        psycopg.connect(login, connect_timeout=CONNECT_LIMIT_S).close()
    except psycopg.OperationalError as error:
        return understood(str(error))
    return "ready"


def understood(refusal: str) -> Answer:
    """What a refused connection says of the server. A stranger at our socket is an error."""
    if "password authentication failed" in refusal:
        raise Unavailable(
            "a PostgreSQL answers at our socket, but not to our password: restore passwords.json"
        )
    if "too many clients" in refusal or "connection slots" in refusal:
        return "ready"
    return "starting" if "FATAL" in refusal or "timeout" in refusal else "absent"


def _await_answer(start: Start, keeper_ended: Ended, log_start: int) -> str | None:
    told, patience_ends = "", time.monotonic() + QUIET_START_S
    for wait_s in growing_waits(LONGEST_WAIT_S):
        check_cancelled()
        answer = ask(start.login)
        if answer == "ready":
            return None
        if answer == "starting" and time.monotonic() > patience_ends:
            progress = _progress(start.places.log, log_start)
            if progress != told:
                start.report(progress)
            told = progress
        ended = keeper_ended(wait_s)
        if ended is not None:
            return ended
    return None  # pragma: no cover - the waits never end


def _progress(log: Path, log_start: int) -> str:
    """How far crash recovery is, in PostgreSQL's own words."""
    for line in reversed(text_after(log, log_start).splitlines()):
        if "elapsed time" in line:
            return "The database is recovering: " + line.partition("LOG:")[2].strip()
    return "The database is starting."


@contextmanager
def _keeper(start: Start) -> Generator[Ended]:
    """Watch the keeper that there is, or start one."""
    if is_taken(start.places.keeper_lock):
        yield partial(_dropped_its_lock, start.places)
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


def _dropped_its_lock(places: Places, wait_s: float) -> str | None:
    time.sleep(wait_s)
    return None if is_taken(places.keeper_lock) else ""


def _closed_its_pipe(pipe: int, wait_s: float) -> str | None:
    """The keeper holds the other end for as long as it lives, and tells how it ended."""
    # Not select, which fails where a process has more than a thousand files open.
    watched = select.poll()
    watched.register(pipe, select.POLLIN)
    return os.read(pipe, 4096).decode() if watched.poll(wait_s * 1000) else None


def _spawn(start: Start, pipe: int) -> None:
    """Run the keeper by its path: as a module, all of Pecia would be imported on its way."""
    user = start.programs.user
    subprocess.run(
        [
            *(sys.executable, "-I", "-S", KEEPER),
            *(start.places.root, start.places.sockets, start.programs.path("postgres")),
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


def _failure(start: Start, log_start: int, ended: str) -> PeciaError:
    """What the log says of this start, without the answers to our own early knocking."""
    lines = text_after(start.places.log, log_start).splitlines()
    said = [line for line in lines if "FATAL:  the database system is" not in line]
    return explain("PostgreSQL did not start", "\n".join([*said, ended]), start.places.log)
