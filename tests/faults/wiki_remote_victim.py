"""A Pecia that is killed in the middle of a sync with a git remote.

Run as `python -m tests.faults.wiki_remote_victim`, with a line of JSON on stdin: the three logins
and the home. Each further line is a sync: the space, a point and a hit. The hit-th time it passes
the point it dies by signal 9; `mid_push` dies a moment after the push has begun, whose own process
goes on, `in_swap` behind the swap of a file, which a program wrote a word into just before. If it
lives, it says `done` and waits for the next: most of what it costs is its start.
"""

import os
import signal
import sys
from functools import partial
from pathlib import Path
from random import Random
from threading import Timer
from typing import Any

import anyio
import orjson
from anyio.to_thread import run_sync

from pecia.adapters.git.remote import RemoteBranch
from pecia.app.app import App
from pecia.features.wiki.history.history import SpaceHistory
from pecia.features.wiki.remote.reconcile import SpaceReconciler
from pecia.features.wiki.remote.store import RemoteRows
from pecia.features.wiki.space_recovery import SpaceRecovery
from pecia.features.wiki.storage import posix
from pecia.kernel.errors import PeciaError
from pecia.kernel.feature import find_service
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT
from tests.faults.victim import Trap, around_async, say
from tests.faults.wiki_live_victim import open_here

PULL_POINTS = (
    *("before_base", "after_base", "after_journal", "in_swap"),
    *("before_history", "after_history"),
)
PUSH_POINTS = ("after_commit", "after_intent", "before_push", "mid_push", "after_push")
POINTS = ("after_fetch", *PULL_POINTS, *PUSH_POINTS, "after_promotion")


class SyncTrap(Trap):
    """One that is laid again for each sync."""

    def __init__(self) -> None:
        super().__init__("", 0)
        self.delay_s: float | None = None
        self.is_doomed = False
        self.word = ""

    def lay_again(self, given: dict[str, Any]) -> None:
        super().__init__(given["point"], given["hit"])
        delay_s = Random(given["seed"]).uniform(0, 0.6)
        self.delay_s = delay_s if given["point"] == "mid_push" else None
        self.word = given["word"]

    def is_last(self, point: str) -> bool:
        """Whether the next time is the one."""
        return point == self._point and self._left == 1


def lay(trap: SyncTrap) -> None:
    """Stand traps around every step of a sync."""
    around_async(RemoteBranch, "fetch", trap, after="after_fetch")
    around_async(RemoteRows, "set_bases", trap, before="before_base", after="after_base")
    around_async(SpaceRecovery, "begin", trap, after="after_journal")
    around_async(SpaceHistory, "advance", trap, before="before_history", after="after_history")
    around_async(RemoteBranch, "commit", trap, after="after_commit")
    around_async(RemoteRows, "add_push", trap, after="after_intent")
    around_async(RemoteBranch, "push", trap, before="before_push", after="after_push")
    around_async(RemoteRows, "drop_push", trap, after="after_promotion")
    push, exchange = RemoteBranch.push, posix.exchange

    def exchanged(from_folder: int, from_leaf: str, to_folder: int, to_leaf: str) -> None:
        if trap.is_last("in_swap"):
            write_as_program(to_folder, to_leaf, trap.word)
        exchange(from_folder, from_leaf, to_folder, to_leaf)
        trap.passed("in_swap")

    async def begun(*args: Any) -> bool:
        if trap.delay_s is not None:
            trap.is_doomed = True
            Timer(trap.delay_s, os.kill, (os.getpid(), signal.SIGKILL)).start()
        return await push(*args)

    RemoteBranch.push = begun  # pyright: ignore[reportAttributeAccessIssue] - a trap
    posix.exchange = exchanged


def write_as_program(folder: int, leaf: str, word: str) -> None:
    """As an editor saves: the whole file, by a rename."""
    with open(leaf, "rb", opener=partial(os.open, dir_fd=folder)) as file:
        body = file.read()
    with open(".swp", "wb", opener=partial(os.open, dir_fd=folder)) as file:
        file.write(body + f"{word}\n".encode())
    os.replace(".swp", leaf, src_dir_fd=folder, dst_dir_fd=folder)


async def sync_until_killed(trap: SyncTrap) -> None:
    given = orjson.loads(sys.stdin.buffer.readline())
    logins = DatabaseLogins(given["owner"], given["app"], given["system"])
    async with open_here(logins, Path(given["home"])) as app:
        ana = await app.authenticate(None, CONTEXT)
        assert isinstance(ana, Caller)
        while line := await run_sync(sys.stdin.buffer.readline):
            asked = orjson.loads(line)
            trap.lay_again(asked)
            await sync(app, ana, asked["source_id"])
            if trap.is_doomed:
                await anyio.sleep_forever()
            say("done")


async def sync(app: App, ana: Caller, source_id: str) -> None:
    reconciler = find_service(app.features, SpaceReconciler)
    try:
        await reconciler.sync(ana.tenant_id, source_id, no_progress)
    except PeciaError as error:
        say("refused", error.code.name)


async def no_progress(done: float, total: float | None, message: str | None) -> None:
    del done, total, message


def main() -> None:
    trap = SyncTrap()
    lay(trap)
    anyio.run(sync_until_killed, trap)


if __name__ == "__main__":
    main()
