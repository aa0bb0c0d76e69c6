"""Removing the databases that root keeps outside a home, once the home is gone.

An ordinary user's database lies in the home and goes with it. Root's lies below a system folder,
where nobody would miss it, and records its home. One whose home lay below a temporary folder goes
at once. Any other goes when its home was seen missing for `KEEP_MISSING_S`, and never while the
disk that the home was on is not mounted.
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
from pecia.kernel.store.file_lock import FileLock, backoff_delays, is_locked, open_lock

RECORD = "temporary.json"
HOME_RECORD = "home.json"
MISSING_RECORD = "missing.json"
KEEP_MISSING_S = 7 * 24 * 3600.0
STOP_LIMIT_S = 30.0
TEMPORARY = (Path("/tmp"), Path("/dev/shm"))


def mark_temporary(root: Path, home: Path) -> None:
    """Note in a cluster of root that its home lies in a temporary folder, where it does."""
    folders = {it.resolve() for it in (*TEMPORARY, Path(tempfile.gettempdir()))}
    if folders.intersection(home.parents):
        write_atomic(root / RECORD, json.dumps({"home": str(home)}))
    else:
        (root / RECORD).unlink(missing_ok=True)


def record_home(root: Path, home: Path) -> None:
    """Note in a cluster of root whose home it is, and where the disk of that home is mounted.

    At each opening: a home that was moved takes its cluster along.
    """
    record = json.dumps({"home": str(home), "mount": str(_mount_point(home))})
    path = root / HOME_RECORD
    if not path.exists() or path.read_bytes() != record.encode():
        write_atomic(path, record)
    (root / MISSING_RECORD).unlink(missing_ok=True)
    mark_temporary(root, home)


def remove_orphans(system: Path, now: float | None = None) -> list[Path]:
    """Remove the clusters of homes that are gone and that nobody uses. One process at a time."""
    if not system.exists():
        return []
    with open_lock(system / "orphans.lock") as lock:
        if not lock.try_acquire():
            return []
        found = [ClusterPaths(it) for it in sorted(system.iterdir()) if it.is_dir()]
        return [it.root for it in found if _remove_orphan(it, now or time.time())]


def _remove_orphan(places: ClusterPaths, now: float) -> bool:
    # Whoever starts a server must not fail over the remains of another home.
    with suppress(PeciaError, OSError):
        if _is_orphan(places.root / RECORD) or _is_long_missing(places.root, now):
            return _remove(places, limit_s=0.0)
    return False


def _is_long_missing(root: Path, now: float) -> bool:
    """Whether the home was missing each time we looked, for as long as it takes to be sure."""
    if not (root / HOME_RECORD).exists():
        return False
    record = read_json_object(root / HOME_RECORD, "home", "mount", remedy="Remove it.")
    note = root / MISSING_RECORD
    if Path(str(record["home"])).exists() or not Path(str(record["mount"])).is_mount():
        note.unlink(missing_ok=True)
        return False
    since = _missing_since(note)
    # A clock that was set back begins anew.
    if since is None or since > now:
        write_atomic(note, json.dumps({"since": now}))
        return False
    return now - since >= KEEP_MISSING_S


def _missing_since(note: Path) -> float | None:
    with suppress(PeciaError, OSError, ValueError):
        return float(read_json_object(note, "since", remedy="Remove it.")["since"])
    return None


def _mount_point(home: Path) -> Path:
    return next(it for it in (home, *home.parents) if it.is_mount())


def remove_cluster(home: Path, system: Path) -> bool:
    """Remove a home's cluster, when its server has stopped; False while somebody uses it."""
    places = find_cluster_paths(home, system)
    return places is None or _remove(places, limit_s=STOP_LIMIT_S)


def _is_orphan(record: Path) -> bool:
    # A damaged record proves nothing.
    with suppress(PeciaError, OSError):
        if not record.exists():
            return False
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
