"""Removing the databases that root keeps outside a home, once a temporary home is gone.

An ordinary user's database lies in the home and goes with it. Root's lies below a system folder,
where nobody would miss it. Only homes below a temporary folder are cleaned up: any other that is
not there may be on a disk that is not mounted.
"""

import json
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from pecia.kernel.errors import PeciaError
from pecia.kernel.store.atomic_file import read_json_object, write_atomic
from pecia.kernel.store.cluster.paths import ClusterPaths, find_cluster_paths
from pecia.kernel.store.file_lock import FileLock, backoff_delays, is_locked

RECORD = "temporary.json"
STOP_LIMIT_S = 30.0
TEMPORARY = (Path("/tmp"), Path("/dev/shm"))


def mark_temporary(root: Path, home: Path) -> None:
    """Note in a new cluster of root that its home lies in a temporary folder, where it does."""
    folders = {it.resolve() for it in (*TEMPORARY, Path(tempfile.gettempdir()))}
    if folders.intersection(home.parents):
        write_atomic(root / RECORD, json.dumps({"home": str(home)}))


def remove_orphans(system: Path) -> list[Path]:
    """Remove the clusters of temporary homes that are gone and that nobody uses."""
    gone = [ClusterPaths(it.parent) for it in system.glob(f"*/{RECORD}") if _is_orphan(it)]
    return [it.root for it in gone if _remove(it, limit_s=0.0)]


def remove_cluster(home: Path, system: Path) -> bool:
    """Remove a home's cluster, when its server has stopped; False while somebody uses it."""
    places = find_cluster_paths(home, system)
    return places is None or _remove(places, limit_s=STOP_LIMIT_S)


def _is_orphan(record: Path) -> bool:
    # A damaged record proves nothing.
    with suppress(PeciaError, OSError):
        return not Path(str(read_json_object(record, "home", remedy="Remove it.")["home"])).exists()
    return False


def _remove(places: ClusterPaths, limit_s: float) -> bool:
    lock = FileLock(places.holders_lock)
    try:
        if not _await_last_user(places, lock, limit_s):
            return False
        sockets = places.sockets
        shutil.rmtree(places.root)
        if sockets.parent != places.root:
            shutil.rmtree(sockets, ignore_errors=True)
        return True
    finally:
        lock.close()


def _await_last_user(places: ClusterPaths, lock: FileLock, limit_s: float) -> bool:
    """Wait until nobody holds the server and it has stopped; True with the lock taken."""
    # An old mtime skips the grace period.
    os.utime(lock.handle, (0, 0))
    deadline = time.monotonic() + limit_s
    for wait_s in backoff_delays():
        if not is_locked(places.keeper_lock) and lock.try_acquire():
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(wait_s)
    raise AssertionError
