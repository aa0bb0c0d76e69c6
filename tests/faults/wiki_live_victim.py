"""A Pecia that is about to be killed while people edit a document together.

Run as `python -m tests.faults.wiki_live_victim POINT HIT`, with the three logins and the home on
stdin. It says `port N` when it listens; at the HIT-th time it passes POINT it says so and dies by
signal 9, in mid-step. The points stand around the steps that could lose or double words.
"""

import os
import random
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import anyio
import orjson
from psycopg import AsyncConnection

from pecia.app.app import SETTINGS, App, open_app
from pecia.features.wiki.live import copies, document
from pecia.features.wiki.live.copies import DocumentFiles
from pecia.features.wiki.live.core.debounce import FlushDebounce, FlushKind
from pecia.features.wiki.live.document import OpenDocument
from pecia.features.wiki.live.flush import LiveFlusher
from pecia.features.wiki.live.store import CallerLiveRows, SystemLiveRows
from pecia.features.wiki.suggestion.store import Suggestions
from pecia.interfaces.http.server import serve_http
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import house_flags, no_fetch
from tests.faults.victim import Trap, around_async, say

POINTS = (
    "before_store",
    "before_commit",
    "after_commit",
    "after_store",
    "before_made",
    "after_made",
    "before_intended",
    "after_intended",
    "before_swap",
    "after_swap",
    "before_settled",
    "after_settled",
    "after_filing",
    "before_added",
    "after_added",
    "before_following",
)
PROGRAM_POINTS = ("before_seen", "after_seen")
"""Passed only where a program writes the file."""
SUGGESTION_POINTS = ("before_suggested", "after_suggested", "before_decided", "after_decided")
"""Passed only where somebody suggests, and somebody decides."""


def lay(trap: Trap) -> None:
    """Stand traps around the storing of a change, the filing of a document, and a tool's write."""
    lay_at_commit(trap)
    around_async(OpenDocument, "_store", trap, before="before_store", after="after_store")
    around_async(DocumentFiles, "stage_file", trap, before="before_made", after="after_made")
    around_async(
        SystemLiveRows, "stage_copy", trap, before="before_intended", after="after_intended"
    )
    around_async(DocumentFiles, "swap", trap, before="before_swap", after="after_swap")
    around_async(
        SystemLiveRows, "complete_swap", trap, before="before_settled", after="after_settled"
    )
    around_async(SystemLiveRows, "add", trap, before="before_seen", after="after_seen")
    around_async(LiveFlusher, "flush", trap, before="", after="after_filing")
    around_async(CallerLiveRows, "add", trap, before="before_added", after="after_added")
    around_async(LiveFlusher, "flush_many", trap, before="before_following", after="")
    around_async(Suggestions, "add", trap, before="before_suggested", after="after_suggested")
    around_async(Suggestions, "decide", trap, before="before_decided", after="after_decided")
    # Files are written all the time, so that they are written when it strikes.
    document.POLL_INTERVAL_S = 0.02
    # A program that takes longer than this between its read and its write is not promised
    # anything. Five times the usual: a busy machine can stop a program of this test for seconds.
    copies.COPY_TTL_S = 10.0
    FlushDebounce.plan = always  # pyright: ignore[reportAttributeAccessIssue] - a trap


def lay_at_commit(trap: Trap) -> None:
    """Around the commit of what editors sent: by then an answer that came too early is out."""
    is_storing: ContextVar[bool] = ContextVar("is_storing", default=False)
    store, execute = OpenDocument._store, AsyncConnection[Any].execute  # pyright: ignore[reportPrivateUsage] - a trap

    async def storing(*args: Any) -> Any:
        token = is_storing.set(True)
        try:
            return await store(*args)
        finally:
            is_storing.reset(token)

    async def trapped(self: Any, query: Any, *more: Any, **named: Any) -> Any:
        if query != "COMMIT" or not is_storing.get():
            return await execute(self, query, *more, **named)
        trap.passed("before_commit")
        done = await execute(self, query, *more, **named)
        trap.passed("after_commit")
        return done

    OpenDocument._store = storing  # pyright: ignore[reportAttributeAccessIssue,reportPrivateUsage] - a trap
    AsyncConnection.execute = trapped  # pyright: ignore[reportAttributeAccessIssue] - a trap


def always(
    _: FlushDebounce, now: float, stamp: object, *, is_behind: bool, has_copies: bool
) -> FlushKind:
    if not is_behind:
        return FlushKind.READ if has_copies else FlushKind.NONE
    return random.choice((FlushKind.READ, FlushKind.WRITE, FlushKind.WRITE))


@asynccontextmanager
async def open_here(logins: DatabaseLogins, home: Path) -> AsyncGenerator[App]:
    flags = house_flags(logins, home)
    settings = load_settings(SETTINGS, flags=flags, environ={}, project_file=None, user_file=None)
    async with open_app(settings, fetch=no_fetch, report=lambda _: None) as app:
        yield app


async def serve_until_killed(logins: DatabaseLogins, home: Path, port: int) -> None:
    opened = open_here(logins, home)
    async with opened as app, serve_http(app, port=port, instance="victim") as where:
        say("port", where.url.rpartition(":")[2], str(os.getpid()))
        await anyio.sleep_forever()


def main() -> None:
    given = orjson.loads(sys.stdin.buffer.read())
    logins = DatabaseLogins(given["owner"], given["app"], given["system"])
    lay(Trap(sys.argv[1], int(sys.argv[2])))
    anyio.run(serve_until_killed, logins, Path(given["home"]), int(given["port"]))


if __name__ == "__main__":
    main()
