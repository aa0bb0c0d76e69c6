"""Whether a server runs for a home, and where. Asks the server; a pid is never trusted."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pecia import __version__
from pecia.doors.cli.client import HEALTH_LIMIT_S, Server
from pecia.doors.cli.lock import ServerLock, home_lock, is_claimed, read_lock, remove_lock
from pecia.doors.cli.terminal import Terminal


@dataclass(frozen=True, slots=True)
class Running:
    """A server that answered under the name its lock gives."""

    lock: ServerLock
    health: Mapping[str, Any]

    @property
    def version(self) -> str:
        return str(self.health.get("version", self.lock.version))


def running(home: Path, *, limit_s: float = HEALTH_LIMIT_S) -> Running | None:
    """The server of a home. A lock that nobody stands behind is removed."""
    path = home_lock(home)
    lock = read_lock(path)
    if lock is not None and (health := answers(lock, limit_s=limit_s)):
        return Running(lock, health)
    # A process that holds the claim is starting, stopping or busy: its lock is not stale.
    if not is_claimed(home):
        remove_lock(path, instance=lock.instance if lock else None)
    return None


def tell_version(terminal: Terminal, found: Running) -> None:
    """Say so when the running server is of another version than this program."""
    if found.version != __version__:
        terminal.say(
            f"warning: the server at {found.lock.url} is Pecia {found.version}, this is "
            f"{__version__}; restart it with: pecia stop, then pecia start"
        )


def answers(lock: ServerLock, *, limit_s: float = HEALTH_LIMIT_S) -> Mapping[str, Any] | None:
    """What the server of a lock says of itself; None when it is not that server that answers."""
    health = Server(lock.url).health(limit_s=limit_s)
    return health if health and health.get("instance") == lock.instance else None
