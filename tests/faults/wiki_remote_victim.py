"""A Pecia that is killed in the middle of a sync with a git remote.

Run as `python -m tests.faults.wiki_remote_victim POINT HIT`, with the three logins, the home and
the space on stdin. The HIT-th time it passes POINT it dies by signal 9; `mid_push` dies a moment
after the push has begun, whose own process goes on. If it lives, it says `done`.
"""

import os
import signal
import sys
from pathlib import Path
from random import Random
from threading import Timer
from typing import Any

import anyio
import orjson

from pecia.adapters.git.remote import RemoteBranch
from pecia.features.wiki.history.history import SpaceHistory
from pecia.features.wiki.remote.reconcile import SpaceReconciler
from pecia.features.wiki.remote.store import RemoteRows
from pecia.features.wiki.space_recovery import SpaceRecovery
from pecia.kernel.errors import PeciaError
from pecia.kernel.feature import find_service
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import VISIT
from tests.faults.victim import Trap, around_async, say
from tests.faults.wiki_live_victim import open_here

POINTS = (
    "after_fetch",
    "before_base",
    "after_base",
    "after_journal",
    "before_history",
    "after_history",
    "after_commit",
    "after_intent",
    "before_push",
    "mid_push",
    "after_push",
    "after_promotion",
)


def lay(trap: Trap, delay_s: float) -> None:
    """Stand traps around every step of a sync."""
    around_async(RemoteBranch, "fetch", trap, after="after_fetch")
    around_async(RemoteRows, "set_bases", trap, before="before_base", after="after_base")
    around_async(SpaceRecovery, "begin", trap, after="after_journal")
    around_async(SpaceHistory, "advance", trap, before="before_history", after="after_history")
    around_async(RemoteBranch, "commit", trap, after="after_commit")
    around_async(RemoteRows, "add_push", trap, after="after_intent")
    around_async(RemoteBranch, "push", trap, before="before_push", after="after_push")
    around_async(RemoteRows, "drop_push", trap, after="after_promotion")
    push = RemoteBranch.push

    async def begun(*args: Any) -> bool:
        if sys.argv[1] == "mid_push":
            say("hit", "mid_push")
            Timer(delay_s, os.kill, (os.getpid(), signal.SIGKILL)).start()
        return await push(*args)

    RemoteBranch.push = begun  # pyright: ignore[reportAttributeAccessIssue] - a trap


async def sync(given: dict[str, Any]) -> None:
    logins = DatabaseLogins(given["owner"], given["app"], given["system"])
    async with open_here(logins, Path(given["home"])) as app:
        ana = await app.authenticate(None, VISIT)
        assert isinstance(ana, Caller)
        reconciler = find_service(app.features, SpaceReconciler)
        try:
            await reconciler.sync(ana.tenant_id, given["source_id"], no_progress)
        except PeciaError as error:
            say("refused", error.code.name)
        else:
            say("done")


async def no_progress(done: float, total: float | None, message: str | None) -> None:
    del done, total, message


def main() -> None:
    given = orjson.loads(sys.stdin.buffer.read())
    lay(Trap(sys.argv[1], int(sys.argv[2])), Random(given["seed"]).uniform(0, 0.6))
    anyio.run(sync, given)


if __name__ == "__main__":
    main()
