"""Queues the embedding job on changes, so that new text has its vectors in seconds.

It runs in workers beside their jobs, and queues the job once for each tenant that is behind; what
it misses, the job's own schedule finds.
"""

from uuid import UUID

import anyio
from psycopg import Notify

from pecia.kernel.corpus import changelog
from pecia.kernel.corpus.vectors.knn import find_unavailable_reason
from pecia.kernel.errors import PeciaError
from pecia.kernel.jobs import Job, NoArguments, defer_as_system
from pecia.kernel.logs import Log
from pecia.kernel.store.listen import listen
from pecia.kernel.store.store import Store, Transaction

_log = Log(__name__)

# Many commits in a row queue the job once.
DEBOUNCE_S = 0.3


class EmbedTrigger:
    """Runs until cancelled. `node` is the job's node name in the change log."""

    def __init__(self, store: Store, job: Job, node: str) -> None:
        self._store = store
        self._job = job
        self._node = node
        self._wakeup = anyio.Event()

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen, self._store, [changelog.CHANNEL], self._wake, "embed.listen")
            while True:
                await self._wakeup.wait()
                self._wakeup = anyio.Event()
                try:
                    async with self._store.system() as tx:
                        await defer_lagging_tenants(tx, self._job, self._node)
                except PeciaError as error:
                    _log.failure("embed.trigger", error)
                await anyio.sleep(DEBOUNCE_S)

    async def _wake(self, _: Notify | None) -> None:
        self._wakeup.set()


async def defer_lagging_tenants(tx: Transaction, job: Job, node: str) -> list[UUID]:
    """Queue the job for every tenant that it is behind with. The queue deduplicates."""
    if await find_unavailable_reason(tx):
        return []
    behind = [
        tenant_id
        for tenant_id, n in (await changelog.load_positions(tx)).items()
        if await changelog.load_applied(tx, tenant_id, node) != n
    ]
    for tenant_id in behind:
        await defer_as_system(tx, job, NoArguments(), tenant_id=tenant_id)
    return behind
