"""Databases that root keeps outside a home, once the home is gone.

An ordinary user's database lies in the home and goes with it. Root's lies below a system folder,
where nobody would miss it, and records its home. One whose home lay below a temporary folder is
removed when the home has been missing for a day: until then it may have been moved. Any other is
only listed, since what people wrote is in it.
"""

import json
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from pecia.kernel.errors import PeciaError
from pecia.kernel.store.atomic_file import read_json_object, write_atomic
from pecia.kernel.store.cluster.paths import ClusterPaths, find_cluster_paths
from pecia.kernel.store.file_lock import FileLock, backoff_delays, is_locked, open_lock

RECORD = "temporary.json"
HOME_RECORD = "home.json"
MISSING_MARK = "missing"
"""A file as old as the first time that the home was found missing."""
MISSING_LIMIT_S = 24 * 3600.0
STOP_LIMIT_S = 30.0
TEMPORARY = (Path("/tmp"), Path("/dev/shm"))


def mark_temporary(root: Path, home: Path) -> None:
    """Note in a cluster of root that its home lies in a temporary folder, where it does."""
    folders = {it.resolve() for it in (*TEMPORARY, Path(tempfile.gettempdir()))}
    if folders.intersection(home.parents):
        above = {str(it): it.stat().st_ino for it in home.parents}
        write_atomic(root / RECORD, json.dumps({"home": str(home), "above": above}))
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
    mark_temporary(root, home)
    (root / MISSING_MARK).unlink(missing_ok=True)


def remove_orphans(system: Path, missing_s: float = MISSING_LIMIT_S) -> list[Path]:
    """Remove the clusters of temporary homes that have been missing for so long. One process at a
    time."""
    if not system.exists():
        return []
    with open_lock(system / "orphans.lock") as lock:
        if not lock.try_acquire():
            return []
        return [it.root for it in _list_clusters(system) if _remove_orphan(it, missing_s)]


def list_orphans(system: Path) -> list[tuple[Path, Path]]:
    """The clusters of other homes that are missing, each with its home.

    A home on a disk that is not mounted is not missing.
    """
    found = [(it.root, _missing_home(it.root / HOME_RECORD)) for it in _list_clusters(system)]
    return [(root, home) for root, home in found if home is not None]


def _list_clusters(system: Path) -> list[ClusterPaths]:
    return [ClusterPaths(it) for it in sorted(system.glob("*/"))]


def _remove_orphan(places: ClusterPaths, missing_s: float) -> bool:
    # Whoever starts a server must not fail over the remains of another home.
    with suppress(PeciaError, OSError):
        mark = places.root / MISSING_MARK
        if not _is_orphan(places.root / RECORD):
            mark.unlink(missing_ok=True)
            return False
        if not mark.exists():
            mark.touch()
        return time.time() - mark.stat().st_mtime >= missing_s and _remove(places, limit_s=0.0)
    return False


def _missing_home(record: Path) -> Path | None:
    # A damaged record proves nothing.
    with suppress(PeciaError, OSError):
        if record.exists():
            found = read_json_object(record, "home", "mount", remedy="Remove it.")
            home, mount = Path(str(found["home"])), Path(str(found["mount"]))
            return home if mount.is_mount() and not home.exists() else None
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
        found = read_json_object(record, "home", "above", remedy="Remove it.")
        home, above = Path(str(found["home"])), found["above"]
        # A process with a /tmp of its own, as services and containers have, does not see the home:
        # the folder above it is another one there.
        near = next(it for it in home.parents if it.exists())
        known = cast(dict[str, Any], above) if isinstance(above, dict) else {}
        return not home.exists() and known.get(str(near)) == near.stat().st_ino
    return False


def _remove(places: ClusterPaths, limit_s: float) -> bool:
    lock = FileLock(places.holders_lock)
    try:
        if not _await_last_user(places, lock, limit_s):
            return False
        sockets = places.sockets
        _remove_tree(places.root)
        if sockets.parent != places.root:
            shutil.rmtree(sockets, ignore_errors=True)
        return True
    finally:
        lock.close()


def _remove_tree(root: Path) -> None:
    """The record last: a removal that was cut off can be completed by the next."""
    for it in root.iterdir():
        if it.is_dir() and not it.is_symlink():
            shutil.rmtree(it)
        elif it.name != RECORD:
            it.unlink()
    shutil.rmtree(root)


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
