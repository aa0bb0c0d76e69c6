"""A Pecia that fails in the middle of a wiki write.

Run as `python -m tests.faults.wiki_write_victim POINT HIT FAULT`, with the three logins, the home,
the tool and its arguments on stdin. The HIT-th time it passes POINT it is killed by signal 9
(`kill`), gets an error of a full disk (`full`), loses its database connections (`lost`), or finds
the history locked by another program (`locked`). If it lives on, it says how the call ended.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import orjson
import psycopg
from psycopg import AsyncConnection

from pecia.features.wiki.history.history import SpaceHistory, VersionDraft
from pecia.features.wiki.live.copies import DocumentFiles
from pecia.features.wiki.space_recovery import SpaceRecovery
from pecia.features.wiki.storage import disk, journal
from pecia.kernel.errors import PeciaError, StorageFull
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT
from tests.faults.victim import Trap, around_async, say
from tests.faults.wiki_live_victim import open_here

BEFORE_COMMIT = ("after_prepare", "after_journal", "before_commit")
AFTER_COMMIT = ("after_commit", "before_advance", "after_advance", "before_delete")
ON_DISK = ("after_move", "after_write", "after_remove", "after_swap")

HISTORY_LOCK = ".pecia/history/refs/heads/main.lock"

CUT = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()"
)


class Fault(Trap):
    """Fails in another way than by a kill."""

    def __init__(self, point: str, hit: int, fail: Callable[[], None]) -> None:
        super().__init__(point, hit)
        self._fail = fail

    def passed(self, point: str) -> None:
        if point == self._point:
            self._left -= 1
            if self._left == 0:
                say("hit", point)
                self._fail()


def make_fault(point: str, hit: int, kind: str, given: dict[str, Any]) -> Trap:
    logins = logins_of(given)

    def full() -> None:
        raise StorageFull("the disk of this space is full")

    def lost() -> None:
        with psycopg.connect(logins.app, autocommit=True) as connection:
            connection.execute(CUT)
        if point == "after_commit":
            # The answer to COMMIT was on its way.
            raise psycopg.OperationalError("server closed the connection unexpectedly")

    def locked() -> None:
        hold_history_lock(Path(given["home"]).parent / given["arguments"]["space"])

    if kind == "kill":
        return Trap(point, hit)
    return Fault(point, hit, {"full": full, "lost": lost, "locked": locked}[kind])


def hold_history_lock(folder: Path) -> Path:
    """As a git that keeps its lock: it never grows so old that it counts as left behind."""
    lock = folder / HISTORY_LOCK
    lock.touch()
    an_hour_on = time.time() + 3600
    os.utime(lock, (an_hour_on, an_hour_on))
    return lock


def lay(trap: Trap) -> None:
    """Stand traps behind every step of a write, and around COMMIT."""
    for name in ("record", "checkpoint"):
        around_async(VersionDraft, name, trap, before="", after="after_prepare")
    around_async(SpaceHistory, "advance", trap, before="before_advance", after="after_advance")
    around_async(DocumentFiles, "swap", trap, before="", after="after_swap")
    begin, execute = SpaceRecovery.begin, AsyncConnection[Any].execute
    has_begun = False

    async def begun(*args: Any) -> str:
        nonlocal has_begun
        transaction = await begin(*args)
        has_begun = True
        trap.passed("after_journal")
        return transaction

    async def executed(self: Any, query: Any, *more: Any, **named: Any) -> Any:
        if query != "COMMIT" or not has_begun:
            return await execute(self, query, *more, **named)
        trap.passed("before_commit")
        done = await execute(self, query, *more, **named)
        trap.passed("after_commit")
        return done

    def behind(step: Callable[..., Any], point: str) -> Callable[..., Any]:
        def trapped(*args: Any) -> Any:
            done = step(*args)
            if has_begun:
                trap.passed(point)
            return done

        return trapped

    delete = journal.delete_journal

    def deleted(project: Path) -> None:
        trap.passed("before_delete")
        delete(project)

    disk.move = behind(disk.move, "after_move")
    disk.replace = behind(disk.replace, "after_write")
    disk.remove_known = behind(disk.remove_known, "after_remove")
    journal.delete_journal = deleted
    SpaceRecovery.begin = begun  # pyright: ignore[reportAttributeAccessIssue] - a trap
    AsyncConnection.execute = executed  # pyright: ignore[reportAttributeAccessIssue] - a trap


def logins_of(given: dict[str, Any]) -> DatabaseLogins:
    return DatabaseLogins(given["owner"], given["app"], given["system"])


async def write(given: dict[str, Any]) -> None:
    async with open_here(logins_of(given), Path(given["home"])) as app:
        ana = await app.authenticate(None, CONTEXT)
        try:
            await app.call(ana, given["tool"], given["arguments"], CONTEXT)
        except PeciaError as error:
            say("refused", error.code.name)
        else:
            say("done")


def main() -> None:
    given = orjson.loads(sys.stdin.buffer.read())
    point, hit, kind = sys.argv[1:]
    lay(make_fault(point, int(hit), kind, given))
    anyio.run(write, given)


if __name__ == "__main__":
    main()
