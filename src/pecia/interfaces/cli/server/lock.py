"""Lock files with the address of a server: one in the home, one in every folder it serves.

A lock file proves nothing. Whether the server is alive is checked with a request, and which process
may serve a home by an OS file lock (flock) that the serving process holds.
"""

import errno
import fcntl
import json
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import Field, asdict, dataclass, fields
from importlib.resources import files
from ipaddress import ip_address
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from pecia.kernel.errors import Conflict, Json

LOCK_NAME = "server.lock"
UI_LOCK_NAME = "ui.lock"
"""Beside the lock of a folder where the server has the console: previews of documents open it."""
CLAIM_NAME = "serving.lock"
PROJECT_FOLDER = ".pecia"


@dataclass(frozen=True, slots=True)
class ServerLock:
    """The address and instance of a server. Port 0: it is starting, and has no port yet."""

    url: str
    port: int
    pid: int
    version: str
    home: str
    instance: str
    started_at: str
    hostname: str = ""
    """The machine that it runs on: a folder may be shared between several."""

    def as_json(self) -> dict[str, Json]:
        return asdict(self)


def home_lock_path(home: Path) -> Path:
    """The lock file of a home."""
    return home / LOCK_NAME


def folder_lock_path(folder: Path) -> Path:
    """The lock file of a folder."""
    return folder / PROJECT_FOLDER / LOCK_NAME


def read_lock(path: Path) -> ServerLock | None:
    """The content of a lock file; None where there is none, or an unreadable one."""
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    facts: dict[str, Any] = {"hostname": "", **cast(dict[str, Any], found)}
    try:
        lock = ServerLock(**{it.name: facts[it.name] for it in fields(ServerLock)})
    except KeyError:
        return None
    if any(type(value) is not it.type for it, value in _field_values(lock)):
        return None
    # A folder may have been cloned, lock and all: it may point to this machine and no other.
    is_of_folder = path.parent.name == PROJECT_FOLDER
    return None if is_of_folder and not is_loopback_url(lock.url) else lock


def is_loopback_url(url: str) -> bool:
    """Whether an address is certainly of this machine."""
    try:
        where = urlsplit(url)
        host, _ = where.hostname or "", where.port
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def write_lock(path: Path, lock: ServerLock) -> None:
    """Write a lock atomically, readable by its owner only."""
    # Lazy import: the cluster package imports the database driver.
    from pecia.kernel.store.atomic_file import write_atomic

    write_atomic(path, json.dumps(lock.as_json(), indent=2) + "\n")


def write_folder_lock(folder: Path, lock: ServerLock) -> Path:
    """The lock of a folder, in its project folder."""
    create_project_folder(folder)
    path = folder_lock_path(folder)
    write_lock(path, lock)
    if lock.port and is_console_built():
        write_lock(path.with_name(UI_LOCK_NAME), lock)
    return path


def is_console_built() -> bool:
    """Whether this installation has the pages of the console."""
    return files("pecia.interfaces.web").joinpath("static", "index.html").is_file()


def create_project_folder(folder: Path) -> Path:
    """The project folder of a folder: created if missing, with a .gitignore."""
    project = folder / PROJECT_FOLDER
    if project.is_symlink():
        # In a cloned folder the link may point anywhere.
        raise Conflict(f"{project} is a symbolic link, and nothing is written through one")
    # Lazy import: commands that only read locks do without the wiki.
    from pecia.features.wiki.storage.project_folder import ensure_project_folder

    project.mkdir(exist_ok=True)
    ensure_project_folder(folder)
    return project


def remove_lock(path: Path, *, instance: str | None = None) -> bool:
    """Remove a lock, if it is there, and if it is that instance's. Says whether it was."""
    if instance is not None:
        found = read_lock(path)
        if found is None or found.instance != instance:
            return False
    if path.parent.name == PROJECT_FOLDER:
        path.with_name(UI_LOCK_NAME).unlink(missing_ok=True)
    try:
        path.unlink()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


@contextmanager
def claim_home(home: Path) -> Generator[bool]:
    """Take the lock of the home until the block ends; whether this process got it."""
    handle = os.open(home / CLAIM_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield _try_flock(handle)
    finally:
        os.close(handle)


def is_claimed(home: Path) -> bool:
    """Whether some process serves the home, or is about to. Creates nothing."""
    try:
        handle = _open_claim(home / CLAIM_NAME)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        return not _try_flock(handle)
    finally:
        os.close(handle)


def is_claimed_by_us(home: Path) -> bool:
    """The same, certainly for a process of this user: nobody else can open the file."""
    with suppress(OSError, ValueError):
        found = (home / CLAIM_NAME).lstat()
        return found.st_uid == os.geteuid() and not found.st_mode & 0o077 and is_claimed(home)
    return False


def _open_claim(path: Path) -> int:
    """A descriptor to try the lock with. NFS grants an exclusive one only where it may write."""
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def _field_values(lock: ServerLock) -> Iterator[tuple["Field[Any]", object]]:
    return ((it, getattr(lock, it.name)) for it in fields(ServerLock))


def _try_flock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
