"""One installation serves a folder at a time, by a file lock in its project folder.

A write journal names a transaction of one database: another installation would take it for that of
a crash, and undo a write that goes on. So every process of an installation holds a shared flock on
a file with its id, and another one needs the exclusive flock before it writes its own. The system
drops the locks of a process that ends, so that nothing is left to clean up after a crash.

Where the folder is read-only or the file system has no locks, there is no claim: nothing is written
in the one, and the other is logged.
"""

import errno
import fcntl
import json
import os
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from socket import gethostname
from threading import Lock
from typing import Any, cast

from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.project_folder import (
    CLAIM_NAME,
    PROJECT_FOLDER,
    ensure_project_folder,
)
from pecia.features.wiki.store import SQL
from pecia.kernel.errors import Conflict, PeciaError
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store

_log = Log(__name__)

CLAIM_PATH = f"{PROJECT_FOLDER}/{CLAIM_NAME}"
MAX_CLAIM_BYTES = 10_000
TRIES, RETRY_S = 6, 0.02
"""Another process has the exclusive lock only while it writes its id."""
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
_NOT_WRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM)
_OPEN = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class FolderTaken(Conflict):
    """Another installation that is alive serves the folder."""


@dataclass(slots=True)
class Installation:
    """The database that this process works with. A copy of one is another: the cluster of a home
    is told apart by the path of the home, since files can be copied."""

    store: Store
    home: Path
    has_own_cluster: bool = True
    _id: str | None = None

    async def load_id(self) -> str:
        """Read once: it does not change while a process runs."""
        if self._id is None:
            async with self.store.system() as tx:
                database = str(await tx.fetch_value(SQL["database_id"]))
            self._id = f"{database}@{self.home}" if self.has_own_cluster else database
        return self._id


@dataclass(slots=True)
class FolderClaims:
    """The folders that this process holds for its installation, until it ends."""

    installation: Installation
    _held: dict[Path, int] = field(default_factory=dict[Path, int])
    _guard: Lock = field(default_factory=Lock)

    def claim(self, project: Path, installation: str, *, makes: bool = False) -> None:
        """Hold the folder, or FolderTaken. Blocking; one `stat` if it is held already.

        Whoever only reads makes no project folder: without one there is no journal to settle.
        """
        with self._guard:
            held = self._held.get(project)
            if held is not None and _is_in_place(project, held):
                return
            if held is not None:
                # Somebody removed the file: what it says now counts.
                os.close(self._held.pop(project))
            if not makes and not (project / PROJECT_FOLDER).exists():
                return
            handle = self._take(project, installation)
            if handle is not None:
                self._held[project] = handle

    def release(self, project: Path) -> None:
        """Let other installations have the folder, in every process of this one: each of them finds
        that the file is another."""
        with self._guard:
            held = self._held.pop(project, None)
            if held is None:
                return
            try:
                if _is_in_place(project, held):
                    disk.remove(project, CLAIM_PATH, is_synced=False)
            except (PeciaError, OSError) as error:
                _log.failure("wiki.folder_claim", error, folder=str(project))
            finally:
                os.close(held)

    def close(self) -> None:
        """Let go of all."""
        with self._guard:
            while self._held:
                os.close(self._held.popitem()[1])

    def _take(self, project: Path, installation: str) -> int | None:
        try:
            ensure_project_folder(project)
            for _ in range(TRIES):
                handle = self._try_take(project, installation)
                if handle is not None:
                    return handle
                time.sleep(RETRY_S)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                _log.warning("wiki.folder_claim", folder=str(project), reason=str(error))
                return None
            if error.errno in (*_NOT_WRITABLE, errno.ENOENT, errno.ELOOP, errno.ENOTDIR):
                return None
            raise
        except PeciaError:
            # Read-only, or gone: whoever opens it says so.
            return None
        raise _taken_error(project)

    def _try_take(self, project: Path, installation: str) -> int | None:
        """The lock of the file, shared; None if it is another's now."""
        with disk.open_folder(project, PROJECT_FOLDER) as folder:
            handle, is_writable = _open_claim(folder)
            try:
                if self._lock(handle, installation, is_writable) and _is_in_place(project, handle):
                    taken, handle = handle, -1
                    return taken
                return None
            finally:
                if handle >= 0:
                    os.close(handle)

    def _lock(self, handle: int, installation: str, is_writable: bool) -> bool:
        if _read_claim(handle).get("installation") != installation:
            if not _try_flock(handle, fcntl.LOCK_EX):
                return False
            if _read_claim(handle).get("installation") != installation:
                self._write(handle, installation, is_writable)
        # Not atomic after an exclusive lock: another may have had it in between.
        return (
            _try_flock(handle, fcntl.LOCK_SH)
            and _read_claim(handle).get("installation") == installation
        )

    def _write(self, handle: int, installation: str, is_writable: bool) -> None:
        if not is_writable:
            return
        about = {
            "installation": installation,
            "home": str(self.installation.home),
            "hostname": gethostname(),
        }
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(about).encode(), 0)


def _open_claim(folder: int) -> tuple[int, bool]:
    """The file, made if missing. One of another user, which is dead, is replaced."""
    try:
        return os.open(CLAIM_NAME, os.O_RDWR | os.O_CREAT | _OPEN, 0o644, dir_fd=folder), True
    except PermissionError:
        handle = os.open(CLAIM_NAME, os.O_RDONLY | _OPEN, dir_fd=folder)
    try:
        if not _try_flock(handle, fcntl.LOCK_EX):
            kept, handle = handle, -1
            return kept, False
        os.unlink(CLAIM_NAME, dir_fd=folder)
        return os.open(CLAIM_NAME, os.O_RDWR | os.O_CREAT | _OPEN, 0o644, dir_fd=folder), True
    finally:
        if handle >= 0:
            os.close(handle)


def _is_in_place(project: Path, handle: int) -> bool:
    """Whether the locked file is still the one of that name."""
    try:
        with disk.open_folder(project, PROJECT_FOLDER) as folder:
            now = os.stat(CLAIM_NAME, dir_fd=folder, follow_symlinks=False)
    except (OSError, PeciaError):
        return False
    was = os.fstat(handle)
    return (now.st_dev, now.st_ino) == (was.st_dev, was.st_ino)


def _try_flock(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read_claim(handle: int) -> Mapping[str, Any]:
    return _parse_object(os.pread(handle, MAX_CLAIM_BYTES, 0))


def _parse_object(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return cast(Mapping[str, Any], found) if isinstance(found, dict) else {}


def _taken_error(project: Path) -> FolderTaken:
    try:
        body = disk.read(project, CLAIM_PATH, MAX_CLAIM_BYTES)
    except PeciaError:
        body = b""
    claim = _parse_object(body)
    home, host = str(claim.get("home", "")), str(claim.get("hostname", ""))
    is_here = host == gethostname()
    url = _find_url(project, home, is_here=is_here)
    machine = "" if is_here or not host else f" on {host}"
    where = f", home {home}{machine}" if home else ""
    stop = f"PECIA_HOME={shlex.quote(home)} pecia stop" if home else "pecia stop"
    return FolderTaken(
        f"{project} is served by another installation of Pecia{where}{f', at {url}' if url else ''}"
        "; a folder is served by one at a time",
        folder=str(project),
        home=home or None,
        url=url,
        hint=f"use that one, or stop it first{machine}: {stop}",
    )


def _find_url(project: Path, home: str, *, is_here: bool) -> str | None:
    """Where the other one listens, by the lock of its home or that of the folder."""
    if home and is_here:
        try:
            body = (Path(home) / "server.lock").read_bytes()
        except OSError:
            body = b""
        url = _parse_object(body).get("url")
        if isinstance(url, str):
            return url
    try:
        found = _parse_object(disk.read(project, f"{PROJECT_FOLDER}/server.lock", MAX_CLAIM_BYTES))
    except PeciaError:
        return None
    url = found.get("url")
    return url if found.get("home") == home and isinstance(url, str) else None
