"""A follower that is about to be killed: it keeps an index until a named point is reached.

Run as `python -m tests.faults.index_victim POINT HIT`, with the system login and the folder of the
index on stdin. At the HIT-th time it passes POINT it dies by signal 9, in mid-step. As `full` it
follows on a disk that takes no more, says so, gets room, and ends.
"""

import random
import resource
import sys
import threading
from pathlib import Path
from uuid import UUID

import anyio
import orjson

from pecia.kernel.corpus.keyword.directory import IndexDirectory, load_node_name
from pecia.kernel.corpus.keyword.follower import FollowerIntervals, IndexFollower
from pecia.kernel.corpus.keyword.index import KeywordIndex
from pecia.kernel.corpus.keyword.writer import IndexWriter
from pecia.kernel.errors import PeciaError
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.store.store import PoolSize, Store
from tests.faults.victim import Trap, around, around_async, say

DURING = "during_commit"
LONGEST_COMMIT_S = 0.03
FOLLOWING = (
    "read_not_staged",
    "staged_not_committed",
    "committed_not_recorded",
    "recorded",
    DURING,
)
BUILDING = (
    "pinned_not_built",
    "partly_built",
    "built_not_shown",
    "shown_not_tidied",
    "tidied",
)
QUICK = FollowerIntervals(poll_s=0.05, idle_s=0.1, maintenance_s=0.2, retry_s=0.05)
LITTLE_BYTES = 2_000


def lay_within_commit(trap: Trap) -> None:
    """Spring at any moment of a commit, or shortly after: the engine has no points of ours."""
    commit = KeywordIndex.commit

    def trapped(self: KeywordIndex, cursor: int | None = None) -> None:
        wait_s = random.uniform(0, LONGEST_COMMIT_S)
        threading.Timer(wait_s, trap.passed, [DURING]).start()
        commit(self, cursor)

    KeywordIndex.commit = trapped


def lay(trap: Trap) -> None:
    """Stand traps around the steps of following and of building."""
    around(KeywordIndex, "stage", trap, before="read_not_staged", after="staged_not_committed")
    around_async(
        IndexWriter, "record_position", trap, before="committed_not_recorded", after="recorded"
    )
    around_async(IndexWriter, "_fill", trap, before="pinned_not_built")
    around(KeywordIndex, "commit", trap, before="partly_built")
    around(IndexDirectory, "publish", trap, before="built_not_shown", after="shown_not_tidied")
    around(IndexDirectory, "remove_old_generations", trap, after="tidied")


async def follow_until_killed(store: Store, root: Path) -> None:
    await IndexFollower(store, root, QUICK).run()


async def meet_a_full_disk(store: Store, root: Path, tenant_id: UUID) -> None:
    """Follow without room, then with room. A limit on files is the disk of one process."""
    keeper = await IndexWriter.acquire(store, load_node_name(root), root, tenant_id)
    assert keeper is not None
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for room in (LITTLE_BYTES, hard):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
        try:
            while await keeper.catch_up() is None:
                await keeper.rebuild()
            say("caught_up")
        except PeciaError as error:
            say("refused", error.code.name)
    await keeper.close()


async def main() -> None:
    given = orjson.loads(sys.stdin.buffer.read())
    store = Store(
        DatabaseLogins(given["system"], given["system"], given["system"]), app=PoolSize(min_size=0)
    )
    await store.open()
    root = Path(given["root"])
    point, hit = sys.argv[1:]
    try:
        if point == "full":
            await meet_a_full_disk(store, root, UUID(given["tenant_id"]))
        else:
            trap = Trap(point, int(hit))
            (lay_within_commit if point == DURING else lay)(trap)
            await follow_until_killed(store, root)
    finally:
        await store.close()


if __name__ == "__main__":
    anyio.run(main)
