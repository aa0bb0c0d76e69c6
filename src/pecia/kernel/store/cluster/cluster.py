"""The API of the embedded cluster: open, status, close.

What blocks runs in a worker thread, which notices when it is cancelled.
"""

import os
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeAlias

from anyio import to_thread
from anyio.from_thread import check_cancelled

from pecia.kernel.store.cluster.data.initdb import read_passwords
from pecia.kernel.store.cluster.failure import explain_failures
from pecia.kernel.store.cluster.logins import DATABASE, DatabaseLogins, LoginRole
from pecia.kernel.store.cluster.paths import ClusterPaths, find_cluster_paths
from pecia.kernel.store.cluster.server import probe_kept_server
from pecia.kernel.store.cluster.startup import (
    ClusterHold,
    ClusterOptions,
    ReportSentence,
    acquire_hold,
    build_conninfo,
    restart_if_down,
)
from pecia.kernel.store.file_lock import backoff_delays, is_locked, open_lock

ClusterState: TypeAlias = Literal["absent", "stopped", "starting", "running"]


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """The status of a home's cluster. `root` is the folder of its cluster, if it has one."""

    state: ClusterState
    root: Path | None


class Cluster:
    """A hold on a running server. Closing it, or the end of the process, releases it."""

    def __init__(self, held: ClusterHold) -> None:
        self._hold = held

    @property
    def root(self) -> Path:
        """The folder of the cluster: its data, its log, its passwords."""
        return self._hold.context.paths.root

    @property
    def logins(self) -> DatabaseLogins:
        """The three logins of the database `pecia`."""
        return self.logins_to(DATABASE)

    def logins_to(self, database: str) -> DatabaseLogins:
        """The three logins of another database of this cluster."""
        return DatabaseLogins(
            owner=self.conninfo("owner", database),
            app=self.conninfo("app", database),
            system=self.conninfo("system", database),
        )

    def conninfo(self, role: LoginRole, database: str = DATABASE) -> str:
        """How one role reaches one database. The superuser is for making databases only."""
        return build_conninfo(self._hold.context.paths, self._hold.passwords, role, database)

    async def restart_if_down(self) -> None:
        """Restart the server if it died; return at once if it answers."""
        await to_thread.run_sync(restart_if_down, self._hold)

    async def close(self) -> None:
        """Release. The server stops after a grace period, unless another process holds it."""
        _release(self._hold, quiet_since_s=time.time())

    async def stop(self) -> bool:
        """Release, and wait until the server stops; False if another process holds it."""
        # An old mtime skips the grace period.
        _release(self._hold, quiet_since_s=0)
        return await to_thread.run_sync(_await_end, self._hold.context.paths)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


async def open_cluster(
    home: Path, *, report: ReportSentence, options: ClusterOptions | None = None
) -> Cluster:
    """Hold the cluster of a home, creating and starting it as needed."""
    work = partial(acquire_hold, home, options or ClusterOptions(), report)
    return Cluster(await to_thread.run_sync(work))


async def cluster_status(home: Path, *, options: ClusterOptions | None = None) -> ClusterStatus:
    """What there is in a home. Creates and starts nothing."""
    return await to_thread.run_sync(_read_status, home, options or ClusterOptions())


def _release(held: ClusterHold, *, quiet_since_s: float) -> None:
    if held.lock.handle >= 0:
        os.utime(held.lock.handle, (quiet_since_s, quiet_since_s))
        held.lock.close()


def _await_end(places: ClusterPaths) -> bool:
    """Whether the server has ended; False as soon as another holder shows."""
    for wait_s in backoff_delays():
        check_cancelled()
        if not is_locked(places.keeper_lock):
            break
        if _has_other_holder(places):
            return False
        time.sleep(wait_s)
    return True


def _has_other_holder(places: ClusterPaths) -> bool:
    """Whether the lock is shared. A keeper that stops the server has it alone."""
    with open_lock(places.holders_lock) as lock:
        return not lock.try_acquire() and lock.try_acquire(shared=True)


def _read_status(home: Path, options: ClusterOptions) -> ClusterStatus:
    with explain_failures("Could not read the status of the database", home):
        places = find_cluster_paths(home, options.system)
        if places is None or not places.data.exists():
            return ClusterStatus("absent", None)
        if not is_locked(places.keeper_lock):
            return ClusterStatus("stopped", places.root)
        login = build_conninfo(places, read_passwords(places), "superuser", "postgres")
        answers = probe_kept_server(places, login) == "ready"
        return ClusterStatus("running" if answers else "starting", places.root)
