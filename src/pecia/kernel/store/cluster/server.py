"""Starts a server through its keeper and waits until it answers. Never stops one."""

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import psycopg
from anyio.from_thread import check_cancelled

from pecia.kernel.errors import Unavailable
from pecia.kernel.store.cluster.failure import explain
from pecia.kernel.store.cluster.files import text_after
from pecia.kernel.store.cluster.locks import growing_waits, is_taken
from pecia.kernel.store.cluster.places import Places
from pecia.kernel.store.cluster.programs import Programs

KEEPER = Path(__file__).with_name("keeper.py")
KEEPER_START_LIMIT_S = 30
CONNECT_LIMIT_S = 5
QUIET_START_S = 1.0
ATTEMPTS = 5

Answer: TypeAlias = Literal["ready", "starting", "absent"]

# How a keeper ended, or None while it lives. The argument is how long to wait for that.
Ended: TypeAlias = Callable[[float], str | None]


@dataclass(frozen=True, slots=True)
class Start:
    """All it takes to start one server."""

    places: Places
    programs: Programs
    login: str
    grace_s: float
    report: Callable[[str], None]


def ensure_running(start: Start) -> None:
    """Return when the server answers, starting it if nobody keeps it. Call with start.lock taken.

    A keeper may be killed, or be on its way out, while we look: then we look again.
    """
    log_start = _size(start.places.log)
    ended: str | None = ""
    for _ in range(ATTEMPTS):
        if is_taken(start.places.keeper_lock):
            ended = _await_answer(start, _lock_dropped(start.places), log_start)
        else:
            with _keeper(start) as keeper_ended:
                ended = _await_answer(start, keeper_ended, log_start)
        if ended is None:
            return
        if ended.startswith("failed"):
            break
    said = text_after(start.places.log, log_start) + ended
    raise explain("PostgreSQL did not start", said, start.places.log)


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
    for wait_s in growing_waits():
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
    return None


def _progress(log: Path, log_start: int) -> str:
    """How far crash recovery is, in PostgreSQL's own words."""
    for line in reversed(text_after(log, log_start).splitlines()):
        if "elapsed time" in line:
            return "The database is recovering: " + line.partition("LOG:")[2].strip()
    return "The database is starting."


def _lock_dropped(places: Places) -> Ended:
    def ended(wait_s: float) -> str | None:
        time.sleep(wait_s)
        return None if is_taken(places.keeper_lock) else ""

    return ended


@contextmanager
def _keeper(start: Start) -> Generator[Ended]:
    """Start a keeper. It holds one end of a pipe for as long as it lives."""
    ours, theirs = os.pipe()
    try:
        try:
            _spawn(start, theirs)
        finally:
            os.close(theirs)

        def ended(wait_s: float) -> str | None:
            readable, _, _ = select.select([ours], [], [], wait_s)
            return os.read(ours, 4096).decode() if readable else None

        yield ended
    finally:
        os.close(ours)


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


def _size(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0
