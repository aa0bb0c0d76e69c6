"""Background work of a worker: syncs spaces with their remotes when their time has come."""

from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from pecia.features.wiki.config.files import read_project
from pecia.features.wiki.config.merge import ConfigTexts, merge_config
from pecia.features.wiki.config.problem import InvalidConfig
from pecia.features.wiki.remote.reconcile import SpaceReconciler
from pecia.features.wiki.remote.store import SQL, SyncTakenOver
from pecia.kernel.errors import PeciaError
from pecia.kernel.jobs.call import JobCall
from pecia.kernel.jobs.defer import defer_as_system
from pecia.kernel.jobs.job import Job, JobArguments
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store

_log = Log(__name__)

INTERVAL_S = 5.0
TIMEOUT_S = 3600


class SyncArguments(JobArguments):
    source_id: str


def sync_job(reconciler: SpaceReconciler) -> Job:
    """The job that syncs one space."""

    async def run(call: JobCall, ask: SyncArguments) -> None:
        assert call.tenant_id is not None
        try:
            await reconciler.sync(call.tenant_id, ask.source_id, call.progress, call.user_id)
        except SyncTakenOver:
            return
        except (PeciaError, InvalidConfig) as error:
            # Recorded with the remote, and tried again when it is due.
            _log.warning("wiki.remote_failed", space=ask.source_id, reason=str(error))

    return Job("wiki", "sync", run, SyncArguments, key=lambda it: it.source_id, timeout_s=TIMEOUT_S)


@dataclass(frozen=True, slots=True)
class SyncSchedule:
    """Covers all spaces of all tenants. Several workers may run it: a job waits only once."""

    store: Store
    job: Job

    async def run(self) -> None:
        """Runs until cancelled."""
        while True:
            try:
                await self.run_once()
            except PeciaError as error:
                _log.failure("wiki.remote_schedule", error)
            await anyio.sleep(INTERVAL_S)

    async def run_once(self) -> None:
        """Queue the syncs that are due, but for spaces whose project switched them off."""
        async with self.store.system() as tx:
            rows = await tx.fetch_all(SQL["due"])
        for row in rows:
            where = {"tenant_id": row["tenant_id"], "source_id": row["source_id"]}
            is_on = await run_sync(is_auto_sync_on, Path(row["folder"]))
            async with self.store.system() as tx:
                await tx.execute(SQL["postpone"], **where)
                if is_on:
                    ask = SyncArguments(source_id=row["source_id"])
                    await defer_as_system(tx, self.job, ask, tenant_id=row["tenant_id"])


def is_auto_sync_on(folder: Path) -> bool:
    """Whether the remote's interval counts: it does where the project says nothing. Blocking."""
    return read_auto_sync(folder) is not False


def read_auto_sync(folder: Path) -> bool | None:
    """`autoSync.enabled` of the project; None where it is unset. Blocking."""
    try:
        return merge_config(ConfigTexts(project=read_project(folder))).config.autoSync.enabled
    except (PeciaError, InvalidConfig):
        # The sync itself says what is wrong.
        return None
