"""The face of the embedded cluster: open it, look at it, let go of it.

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

from pecia.kernel.store.cluster.create import read_passwords
from pecia.kernel.store.cluster.failure import explained
from pecia.kernel.store.cluster.locks import growing_waits, is_taken, opened
from pecia.kernel.store.cluster.logins import DATABASE, Logins, Role
from pecia.kernel.store.cluster.opening import Hold, Options, Report, conninfo, hold, revive
from pecia.kernel.store.cluster.places import Places, find_places
from pecia.kernel.store.cluster.server import ask

State: TypeAlias = Literal["absent", "stopped", "starting", "running"]


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """What a look at a home shows. `root` is the folder of its cluster, if it has one."""

    state: State
    root: Path | None


class Cluster:
    """A hold on a running server. Closing it, or the end of the process, lets the server go."""

    def __init__(self, held: Hold) -> None:
        self._held = held

    @property
    def root(self) -> Path:
        """The folder of the cluster: its data, its log, its passwords."""
        return self._held.site.places.root

    @property
    def logins(self) -> Logins:
        """The three logins of the database `pecia`."""
        return self.logins_to(DATABASE)

    def logins_to(self, database: str) -> Logins:
        """The three logins of another database of this cluster."""
        return Logins(
            owner=self.conninfo("owner", database),
            app=self.conninfo("app", database),
            system=self.conninfo("system", database),
        )

    def conninfo(self, role: Role, database: str = DATABASE) -> str:
        """How one role reaches one database. The superuser is for making databases only."""
        return conninfo(self._held.site.places, self._held.passwords, role, database)

    async def revive(self) -> None:
        """Start the server again if it went away under us; return at once if it answers."""
        await to_thread.run_sync(revive, self._held)

    async def close(self) -> None:
        """Let go. The server ends after a grace, unless somebody else holds it."""
        _let_go(self._held, quiet_since_s=time.time())

    async def stop(self) -> bool:
        """Let go, and wait for the end of the server; False if somebody else holds it."""
        # A lock that looks untouched for long gets no grace.
        _let_go(self._held, quiet_since_s=0)
        return await to_thread.run_sync(_await_end, self._held.site.places)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


async def open_cluster(home: Path, *, report: Report, options: Options | None = None) -> Cluster:
    """Hold the cluster of a home, creating and starting it as needed."""
    work = partial(hold, home, options or Options(), report)
    return Cluster(await to_thread.run_sync(work))


async def cluster_status(home: Path, *, options: Options | None = None) -> ClusterStatus:
    """What there is in a home. Creates and starts nothing."""
    return await to_thread.run_sync(_look, home, options or Options())


def _let_go(held: Hold, *, quiet_since_s: float) -> None:
    if held.lock.handle >= 0:
        os.utime(held.lock.handle, (quiet_since_s, quiet_since_s))
        held.lock.close()


def _await_end(places: Places) -> bool:
    """Whether the server has ended; False as soon as another holder shows."""
    for wait_s in growing_waits():
        check_cancelled()
        if not is_taken(places.keeper_lock):
            break
        if _somebody_holds(places):
            return False
        time.sleep(wait_s)
    return True


def _somebody_holds(places: Places) -> bool:
    """Whether the lock is shared. A keeper that stops the server has it alone."""
    with opened(places.holders_lock) as lock:
        return not lock.take() and lock.take(shared=True)


def _look(home: Path, options: Options) -> ClusterStatus:
    with explained("Could not look at the database", home):
        places = find_places(home, options.system)
        if places is None or not places.data.exists():
            return ClusterStatus("absent", None)
        if not is_taken(places.keeper_lock):
            return ClusterStatus("stopped", places.root)
        login = conninfo(places, read_passwords(places), "superuser", "postgres")
        return ClusterStatus("running" if ask(login) == "ready" else "starting", places.root)
