"""What was written into a repository, on the disk when this returns. Blocking.

The library syncs each object by itself, one after the other, which takes milliseconds each. Here
those of one commit are synced together.
"""

import ctypes
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pygit2

MAX_SINGLE_SYNCS = 32
"""Above this, the whole file system is synced at once."""
_THREADS = 8


def sync_objects(repository: pygit2.Repository, oids: Iterable[pygit2.Oid]) -> None:
    """Loose objects; what is in a pack was synced with it."""
    objects = Path(repository.path) / "objects"
    files = [objects / (name := str(oid))[:2] / name[2:] for oid in {*oids}]
    sync_paths(objects, [*files, *{it.parent for it in files}, objects])


def sync_reference(repository: pygit2.Repository, name: str) -> None:
    path = Path(repository.path) / name
    sync_paths(path.parent, [path, path.parent])


def sync_paths(folder: Path, paths: list[Path]) -> None:
    """Files and folders of one file system, of which `folder` is one. Those that are gone are
    skipped."""
    if len(paths) > MAX_SINGLE_SYNCS and sync_file_system(folder):
        return
    with ThreadPoolExecutor(_THREADS) as threads:
        # `list` raises what failed.
        list(threads.map(_sync, paths))


def sync_file_system(folder: Path) -> bool:
    """Sync everything on its file system; False where the system cannot."""
    sync = _syncfs()
    if sync is None:
        return False
    held = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return sync(held) == 0
    finally:
        os.close(held)


def _sync(path: Path) -> None:
    with suppress(FileNotFoundError):
        held = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(held)
        finally:
            os.close(held)


@cache
def _syncfs() -> Any:
    return getattr(ctypes.CDLL(None), "syncfs", None)
