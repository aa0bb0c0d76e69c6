"""A worker that crawls, and at a named point kills somebody: itself, or the process it is told.

Run as `python -m tests.faults.crawl_victim`, with its order on stdin: the logins, a home, the
point, how often to pass it, and whom to kill (0: itself). Without a point it is a plain worker. It
says `hit POINT` when it kills, and goes on if it can; if it `tells`, `stored` for every batch.
"""

import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import orjson

from pecia.app.app import SETTINGS, open_app
from pecia.features.lake.crawl import crawler, ingest
from pecia.kernel.corpus.catalog import texts
from pecia.kernel.jobs.worker import run_worker, stop_on_signal
from pecia.kernel.jobs.worker_loop import WorkerIntervals
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import house_flags, no_fetch
from tests.faults.victim import say

PACE = WorkerIntervals(heartbeat_s=0.1, stalled_s=1, poll_s=0.1, grace_s=0)

POINTS = (
    "listed_not_noted",
    "noted",
    "missed_not_removed",
    "removed",
    "listed",
    "read_not_stored",
    "stored_not_committed",
    "stored",
    "all_read_not_ended",
    "ended",
)


class Trap:
    """Springs once, at the HIT-th time that its point is passed."""

    def __init__(self, point: str, hit: int, whom: int) -> None:
        self._point = point
        self._left = hit
        self._whom = whom or os.getpid()

    def passed(self, point: str) -> None:
        if point == self._point:
            self._left -= 1
            if self._left == 0:
                say("hit", point)
                os.kill(self._whom, signal.SIGKILL)


class NoTrap(Trap):
    """Kills nobody."""

    def __init__(self) -> None:
        super().__init__("stored", 0, 0)

    def passed(self, point: str) -> None:
        if point:
            say(point)


def lay(trap: Trap) -> None:
    """Stand traps around the steps of listing and of reading."""
    listing, reading = crawler._CrawlRun, ingest._IngestRun  # pyright: ignore[reportPrivateUsage] - traps
    _around(listing, "_enqueue_changed", trap, before="listed_not_noted", after="noted")
    _around(listing, "_remove", trap, before="missed_not_removed", after="removed")
    _around(listing, "run", trap, after="listed")
    _around(reading, "_store", trap, before="read_not_stored", after="stored")
    _around(texts, "put_many", trap, after="stored_not_committed")
    _around(ingest, "_end", trap, before="all_read_not_ended", after="ended")


def tell() -> None:
    """Say of every batch of files that it was stored, for who wants to know who worked."""
    _around(ingest._IngestRun, "_store", NoTrap(), after="stored")  # pyright: ignore[reportPrivateUsage] - traps


def _around(holder: Any, name: str, trap: Trap, *, before: str = "", after: str = "") -> None:
    step: Callable[..., Awaitable[Any]] = getattr(holder, name)

    async def trapped(*args: Any, **named: Any) -> Any:
        trap.passed(before)
        done = await step(*args, **named)
        trap.passed(after)
        return done

    setattr(holder, name, trapped)


async def main() -> None:
    given = orjson.loads(sys.stdin.buffer.read())
    logins = DatabaseLogins(given["owner"], given["app"], given["system"])
    flags = {**house_flags(logins, Path(given["home"])), "mode": "server", **given["flags"]}
    settings = load_settings(SETTINGS, flags=flags, environ={}, project_file=None, user_file=None)
    if given["tells"]:
        tell()
    if given["point"]:
        lay(Trap(given["point"], given["hit"], given["whom"]))
    stop = anyio.Event()
    opened = open_app(settings, fetch=no_fetch, report=lambda _: None, is_worker=True)
    async with opened as app, anyio.create_task_group() as tasks:
        tasks.start_soon(stop_on_signal, stop)
        jobs = [it for it in app.jobs if it.feature == "lake"]
        say("ready")
        await run_worker(app.store, jobs, stop=stop, pace=PACE)
        tasks.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main)
