"""Finds the running server of a home. Asks the server; a pid is never trusted."""

import errno
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from socket import gethostname
from typing import Any

from pecia import __version__
from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.cli.server.client import HEALTH_TIMEOUT_S, ServerClient
from pecia.interfaces.cli.server.lock import (
    ServerLock,
    folder_lock_path,
    home_lock_path,
    is_claimed,
    is_claimed_by_us,
    read_lock,
    remove_lock,
)


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that answered with the instance id of its lock."""

    lock: ServerLock
    health: Mapping[str, Any]

    @property
    def version(self) -> str:
        return str(self.health.get("version", self.lock.version))


def find_running_server(home: Path, *, limit_s: float = HEALTH_TIMEOUT_S) -> RunningServer | None:
    """The server of a home. A stale lock is removed."""
    path = home_lock_path(home)
    lock = read_lock(path)
    if not is_claimed(home):
        # After a crash another program may listen where the lock still points, and would be sent
        # tokens and keys.
        _remove_stale_lock(path, lock)
        return None
    if lock is not None and (health := probe_health(lock, limit_s=limit_s)):
        return RunningServer(lock, health)
    return None


def _remove_stale_lock(path: Path, lock: ServerLock | None) -> None:
    try:
        remove_lock(path, instance=lock.instance if lock else None)
    except OSError as error:
        # A home that cannot be written keeps it: nothing is sent to where it points.
        if error.errno != errno.EROFS:
            raise


def find_folder_lock(folder: Path) -> ServerLock | None:
    """The lock of a folder whose server answers. A stale one is removed."""
    path = folder_lock_path(folder)
    if path.parent.is_symlink():
        # In a cloned folder the link may point anywhere.
        return None
    lock = read_lock(path)
    if lock is None:
        if path.is_file() and not _is_json(path):
            path.unlink(missing_ok=True)
        return None
    # A folder may be shared between machines and users: locks of others are left alone.
    if lock.hostname not in ("", gethostname()) or not _is_owned_by_us(path):
        return None
    if not is_confirmed(lock):
        remove_lock(path, instance=lock.instance)
        return None
    return lock if probe_health(lock) else None


def is_confirmed(lock: ServerLock) -> bool:
    """Whether the lock of the named home matches, and a process of this user holds it.

    Tokens and keys are sent to where a lock points, and anybody may have written it: it may come
    with a clone, or from another user of a shared folder.
    """
    home = Path(lock.home)
    return read_lock(home_lock_path(home)) == lock and is_claimed_by_us(home)


def warn_version_mismatch(terminal: Terminal, found: RunningServer) -> None:
    """Warn when the running server is of another version than this program."""
    if found.version != __version__:
        terminal.info(
            f"warning: the server at {found.lock.url} is Pecia {found.version}, this is "
            f"{__version__}; restart it with: pecia stop, then pecia start"
        )


def probe_health(
    lock: ServerLock, *, limit_s: float = HEALTH_TIMEOUT_S
) -> Mapping[str, Any] | None:
    """The `/healthz` document of a lock's server; None when another instance answers."""
    health = ServerClient(lock.url).health(limit_s=limit_s)
    return health if health and health.get("instance") == lock.instance else None


def _is_owned_by_us(path: Path) -> bool:
    with suppress(FileNotFoundError):
        return path.stat().st_uid == os.geteuid()
    return False


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return False
    except OSError:
        # Another user's: left alone.
        return True
    return True
