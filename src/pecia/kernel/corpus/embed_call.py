"""The call to embed: heard from the change log, so that new text has its vectors in seconds.

It runs in workers beside their jobs. It only ever queues the job, once for each tenant that is
behind; what it misses, the job's own schedule finds.
"""

from uuid import UUID

import anyio

from pecia.kernel.corpus import changes
from pecia.kernel.corpus.hearing import hear_changes
from pecia.kernel.corpus.vectors import condition
from pecia.kernel.errors import PeciaError
from pecia.kernel.jobs import Job, NoArguments, defer_as_system
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store
from pecia.kernel.store.transaction import Transaction

_log = Log(__name__)

# Of many commits in a row the job is told once.
GATHER_S = 0.3


class EmbedCaller:
    """Follows until cancelled. `node` is how the job is known among those that follow the log."""

    def __init__(self, store: Store, job: Job, node: str) -> None:
        self._store = store
        self._job = job
        self._node = node
        self._heard = anyio.Event()

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hear_changes, self._store, self._wake, "embed.listen")
            while True:
                await self._heard.wait()
                self._heard = anyio.Event()
                try:
                    async with self._store.system() as tx:
                        await call_tenants(tx, self._job, self._node)
                except PeciaError as error:
                    _log.failure("embed.call", error)
                await anyio.sleep(GATHER_S)

    def _wake(self) -> None:
        self._heard.set()


async def call_tenants(tx: Transaction, job: Job, node: str) -> list[UUID]:
    """Queue the job for every tenant that it is behind with. The queue keeps one of each."""
    if await condition(tx):
        return []
    behind = [
        tenant_id
        for tenant_id, n in (await changes.clocks(tx)).items()
        if await changes.applied_by(tx, tenant_id, node) != n
    ]
    for tenant_id in behind:
        await defer_as_system(tx, job, NoArguments(), tenant_id=tenant_id)
    return behind
