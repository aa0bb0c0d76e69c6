"""A Pecia that is about to be killed in the middle of a rename.

Run as `python -m tests.faults.wiki_rename_victim POINT HIT`, with the three logins, the home, the
tool and its arguments on stdin. At the HIT-th time it passes POINT it dies by signal 9.
"""

import sys
from pathlib import Path
from typing import Any

import anyio
import orjson
from psycopg import AsyncConnection

from pecia.features.wiki.space_write import SpaceWrite
from pecia.features.wiki.storage import disk
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import VISIT
from tests.faults.victim import Trap, around_async
from tests.faults.wiki_live_victim import open_here

# Named points with how often each is passed in one rename.
POINTS = (
    *(("after_plan", 1), ("after_move", 1), ("after_write", 1), ("after_write", 2)),
    *(("after_record", 1), ("before_commit", 1), ("after_commit", 1), ("before_end", 1)),
)
COMMITTED = ("after_commit", "before_end")


def lay(trap: Trap) -> None:
    """Stand traps behind the journal, the move, every file, the version and the commit."""
    around_async(SpaceWrite, "plan", trap, before="", after="after_plan")
    around_async(SpaceWrite, "record", trap, before="", after="after_record")
    around_async(SpaceWrite, "finish", trap, before="before_end", after="")
    move, replace, execute = disk.move, disk.replace, AsyncConnection[Any].execute
    planned = False

    def moved(root: Path, path: str, to: str) -> None:
        nonlocal planned
        move(root, path, to)
        planned = True
        trap.passed("after_move")

    def replaced(root: Path, path: str, body: bytes, known: bytes | None) -> Any:
        made = replace(root, path, body, known)
        if planned:
            trap.passed("after_write")
        return made

    async def executed(self: Any, query: Any, *more: Any, **named: Any) -> Any:
        if query != "COMMIT" or not planned:
            return await execute(self, query, *more, **named)
        trap.passed("before_commit")
        done = await execute(self, query, *more, **named)
        trap.passed("after_commit")
        return done

    disk.move, disk.replace = moved, replaced
    AsyncConnection.execute = executed  # pyright: ignore[reportAttributeAccessIssue] - a trap


async def rename(given: dict[str, Any]) -> None:
    logins = DatabaseLogins(given["owner"], given["app"], given["system"])
    async with open_here(logins, Path(given["home"])) as app:
        ana = await app.authenticate(None, VISIT)
        await app.call(ana, given["tool"], given["arguments"], VISIT)


def main() -> None:
    lay(Trap(sys.argv[1], int(sys.argv[2])))
    anyio.run(rename, orjson.loads(sys.stdin.buffer.read()))


if __name__ == "__main__":
    main()
