"""Embedded PostgreSQL: one cluster per home, started by its first user, stopped after its last.

    async with await open_cluster(home, report=print) as cluster:
        pool = AsyncConnectionPool(cluster.logins.app)

- `await open_cluster(home, *, report, options) -> Cluster` creates the cluster when there is none,
  starts its server when none runs, and attaches otherwise. It waits for crash recovery
  however long that takes, and may be cancelled. `report` gets one sentence at a time, from a
  worker thread.
- `Cluster.logins` is a `DatabaseLogins(owner, app, system)` of libpq conninfo strings for the
  database `pecia`; an external PostgreSQL gives the same thing. `Cluster.logins_to(database)` and
  `Cluster.conninfo(role, database)` reach other databases of the cluster.
- `await cluster.close()` releases the hold: without other holders the server stops, after a grace
  period. `await cluster.stop()` skips the grace, and says whether the server has stopped.
- `await cluster.restart_if_down()` restarts the server if it died under a holder.
- `await cluster_status(home) -> ClusterStatus` is read-only and starts nothing.

How it holds together, file by file:

- `keeper.py` is the parent of postgres, a process of its own that imports nothing of Pecia.
- Four lock files, beside the data, say who is alive; a pid is never trusted (`store/file_lock.py`).
- `paths.py` says where everything lies, `os_user.py` who runs it, `programs.py` from which files.
- `data/`: `initdb.py`, `bootstrap.py` and `upgrade.py` make a data directory, its roles, and
  its next major version; `removal.py` removes what root's temporary homes leave.
- `server.py` starts and waits; `failure.py` says what to do when PostgreSQL will not.

Nothing here listens on TCP, and no folder that is not ours is ever chmodded or chowned.
"""

from pecia.kernel.store.cluster.cluster import (
    Cluster,
    ClusterOptions,
    ClusterStatus,
    cluster_status,
    open_cluster,
)
from pecia.kernel.store.cluster.data.removal import remove_cluster
from pecia.kernel.store.cluster.logins import DatabaseLogins, LoginRole

__all__ = [
    "Cluster",
    "ClusterOptions",
    "ClusterStatus",
    "DatabaseLogins",
    "LoginRole",
    "cluster_status",
    "open_cluster",
    "remove_cluster",
]
