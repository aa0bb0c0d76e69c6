"""A writer that is about to be killed: it puts, changes, moves and removes texts, and embeds them.

Run as `python -m tests.faults.change_log_victim POINT HIT`, with the logins, the caller and a seed
on stdin. It says `acked KEY TEXT` after each commit, with an empty text for a file that went; at
the HIT-th time it passes POINT it dies by signal 9.
"""

import os
import sys
import traceback
from collections.abc import Sequence
from random import Random
from typing import Any, LiteralString
from uuid import UUID, uuid4

import anyio
import numpy as np
import orjson
from psycopg import AsyncConnection

from pecia.kernel.corpus.catalog import texts
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.vectors import embed_job
from pecia.kernel.corpus.vectors.embedder import Vectors
from pecia.kernel.identity.caller import EVERY_SCOPE, Caller, CredentialKind
from pecia.kernel.jobs import NoArguments, defer_as_system
from pecia.kernel.jobs.worker import run_worker
from pecia.kernel.jobs.worker_loop import WorkerIntervals
from pecia.kernel.store.audit.record import AuditRecord
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.store.store import Store, Transaction
from tests.faults.victim import Trap, say
from tests.unit.kernel.corpus.corpus_fixture import SOURCE, plain

POINTS = (
    "before_put",
    "after_put",
    "before_commit",
    "after_commit",
    "before_vectors",
    "after_vectors",
)
PACE = WorkerIntervals(heartbeat_s=0.2, stalled_s=1, poll_s=0.02, grace_s=5)


class Counting:
    """The cheapest embedder there is: how often each of four letters comes."""

    name = "counting"
    language = ""

    async def dimension(self) -> int:
        return 4

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return np.array([[it.count(c) + 1 for c in "aeio"] for it in texts], dtype=np.float32)


def lay(trap: Trap) -> None:
    """Stand traps around what is written, and around every commit."""
    execute, all_as, run = (
        AsyncConnection[Any].execute,
        Transaction.fetch_all_as,
        Transaction.execute,
    )

    async def committing(self: Any, query: Any, *more: Any, **named: Any) -> Any:
        trap.passed("before_commit" if query == "COMMIT" else "")
        done = await execute(self, query, *more, **named)
        trap.passed("after_commit" if query == "COMMIT" else "")
        return done

    async def putting(self: Transaction, kind: Any, sql: LiteralString, **values: Any) -> Any:
        trap.passed("before_put" if sql == texts.SQL["put_files"] else "")
        done = await all_as(self, kind, sql, **values)
        trap.passed("after_put" if sql == texts.SQL["put_files"] else "")
        return done

    async def embedding(self: Transaction, sql: LiteralString, **values: Any) -> int:
        trap.passed("before_vectors" if sql == embed_job.SQL["add_vectors"] else "")
        done = await run(self, sql, **values)
        trap.passed("after_vectors" if sql == embed_job.SQL["add_vectors"] else "")
        return done

    AsyncConnection.execute = committing  # pyright: ignore[reportAttributeAccessIssue] - a trap
    Transaction.fetch_all_as = putting  # pyright: ignore[reportAttributeAccessIssue] - a trap
    Transaction.execute = embedding


async def write_until_killed(store: Store, ana: Caller, chance: Random) -> None:
    keys: set[str] = set()
    while True:
        key = f"{chance.randrange(8)}.md"
        words = [f"word{chance.randrange(5)}" for _ in range(chance.randint(1, 3))]
        trace = AuditRecord(uuid4(), "test", "test", ana.tenant_id, ana.user_id, ana.credential_id)
        async with store.writing(ana, trace) as tx:
            gone = key in keys and chance.random() < 0.2
            if gone:
                await texts.remove(tx, SOURCE, key)
            else:
                await texts.put(tx, FileMetadata(SOURCE, key), plain(*words))
        keys = keys - {key} if gone else keys | {key}
        say("acked", key, "" if gone else "+".join(words))


async def run(store: Store, ana: Caller, chance: Random) -> None:
    await store.open()
    async with store.system() as tx:
        for (key,) in [(it["key"],) for it in await tx.fetch_all("SELECT key FROM kernel.file")]:
            await texts.remove(tx, SOURCE, key, tenant_id=ana.tenant_id)
        await defer_as_system(tx, JOB, NoArguments(), tenant_id=ana.tenant_id)
    say("cleared")
    async with anyio.create_task_group() as group:
        group.start_soon(write_until_killed, store, ana, chance)
        group.start_soon(embed_for_ever, store, ana)


async def embed_for_ever(store: Store, ana: Caller) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: run_worker(store, [JOB], stop=anyio.Event(), pace=PACE))
        while True:
            await anyio.sleep(0.02)
            async with store.system() as tx:
                await defer_as_system(tx, JOB, NoArguments(), tenant_id=ana.tenant_id)


# It would wait for a writer as busy as this one.
embed_job.MAX_YIELD_S = 0
JOB = embed_job.embed_job(Counting(), schedule=None)


def main() -> None:
    given = orjson.loads(sys.stdin.buffer.read())
    store = Store(DatabaseLogins(given["owner"], given["app"], given["system"]))
    ids = [UUID(given[it]) for it in ("credential", "tenant", "user")]
    kind = CredentialKind.LOCAL
    ana = Caller(ids[0], kind, ids[1], "home", ids[2], "ana", EVERY_SCOPE, is_admin=True)
    lay(Trap(sys.argv[1], int(sys.argv[2])))
    try:
        anyio.run(run, store, ana, Random(given["seed"]))
    finally:
        # It was to be killed: whatever ends it otherwise is told, and not waited for.
        traceback.print_exc()
        os._exit(1)


if __name__ == "__main__":
    main()
