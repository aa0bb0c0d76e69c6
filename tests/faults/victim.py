"""A Pecia that is about to be killed: it makes acknowledged writes until a named point is reached.

Run as `python -m tests.faults.victim POINT HIT`, with the three logins and the home on stdin. It
says `begun NAME` before each call and `acked NAME` after; at the HIT-th time it passes POINT it
dies by signal 9, in mid-step. The points stand around steps that could lose or double something.
"""

import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import orjson
from psycopg import AsyncConnection

from pecia.app.app import SETTINGS, open_app, run_maintenance
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.audit.log import AuditLog
from pecia.kernel.store.audit.spool import AuditSpool, SpoolSegment
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT, house_flags, no_fetch

POINTS = (
    "before_begin",
    "after_begin",
    "before_commit",
    "after_commit",
    "after_end",
    "before_settle",
    "after_settle",
    "before_discard",
)


def say(*words: str) -> None:
    """To the one who counts, at once: a dead process flushes nothing."""
    os.write(1, " ".join(words).encode() + b"\n")


class Trap:
    """Counts how often each point is passed, and springs at one of them."""

    def __init__(self, point: str, hit: int) -> None:
        self._point = point
        self._left = hit

    def passed(self, point: str) -> None:
        if point == self._point:
            self._left -= 1
            if self._left == 0:
                say("hit", point)
                os.kill(os.getpid(), signal.SIGKILL)


def lay(trap: Trap) -> None:
    """Stand traps around the steps of a write, of the spool and of the drain."""
    around(AuditSpool, "begin", trap, before="before_begin", after="after_begin")
    around(AuditSpool, "end", trap, after="after_end")
    around(SpoolSegment, "discard", trap, before="before_discard")
    around_async(AuditLog, "_insert_batches", trap, before="before_settle", after="after_settle")
    execute = AsyncConnection[Any].execute

    async def trapped(self: Any, query: Any, *more: Any, **named: Any) -> Any:
        if query != "COMMIT":
            return await execute(self, query, *more, **named)
        trap.passed("before_commit")
        done = await execute(self, query, *more, **named)
        trap.passed("after_commit")
        return done

    AsyncConnection.execute = trapped  # pyright: ignore[reportAttributeAccessIssue] - a trap


def around(kind: type, name: str, trap: Trap, *, before: str = "", after: str = "") -> None:
    """Stand a trap before and after a step of that kind."""
    step: Callable[..., Any] = getattr(kind, name)

    def trapped(*args: Any) -> Any:
        trap.passed(before)
        done = step(*args)
        trap.passed(after)
        return done

    setattr(kind, name, trapped)


def around_async(kind: type, name: str, trap: Trap, *, before: str = "", after: str = "") -> None:
    """The same around one that is awaited."""
    step: Callable[..., Awaitable[Any]] = getattr(kind, name)

    async def trapped(*args: Any, **named: Any) -> Any:
        trap.passed(before)
        done = await step(*args, **named)
        trap.passed(after)
        return done

    setattr(kind, name, trapped)


async def write_until_killed(logins: DatabaseLogins, home: Path, start: int) -> None:
    flags = house_flags(logins, home)
    settings = load_settings(SETTINGS, flags=flags, environ={}, project_file=None, user_file=None)
    opened = open_app(settings, fetch=no_fetch, report=lambda _: None)
    async with opened as app, anyio.create_task_group() as group:
        group.start_soon(run_maintenance, app)
        owner = await app.authenticate(None, CONTEXT)
        for count in range(start, start + 10_000):
            say("begun", f"g{count}")
            await app.call(owner, "add_group", {"name": f"g{count}"}, CONTEXT)
            say("acked", f"g{count}")
            if count % 5 == 0:
                await app.audit_log.drain()


def main() -> None:
    given = orjson.loads(sys.stdin.buffer.read())
    logins = DatabaseLogins(given["owner"], given["app"], given["system"])
    lay(Trap(sys.argv[1], int(sys.argv[2])))
    anyio.run(write_until_killed, logins, Path(given["home"]), int(given["start"]))


if __name__ == "__main__":
    main()
