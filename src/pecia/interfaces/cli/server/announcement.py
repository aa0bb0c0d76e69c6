"""A server's lock files, from before it has a port until it has ended."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from socket import gethostname
from uuid import uuid4

from pecia import __version__
from pecia.interfaces.cli.server.discover import find_folder_lock
from pecia.interfaces.cli.server.lock import (
    ServerLock,
    folder_lock_path,
    home_lock_path,
    remove_lock,
    write_folder_lock,
    write_lock,
)
from pecia.interfaces.cli.server.port import ReservedPort


@dataclass(slots=True)
class ServerAnnouncement:
    """The locks of one server: that of its home, and that of the folder it was started for."""

    lock: ServerLock
    folder: Path | None

    def write(self) -> None:
        """Write the locks. That of the folder only once the port is known."""
        write_lock(home_lock_path(Path(self.lock.home)), self.lock)
        if self.folder and self.lock.port and not self._is_served_elsewhere():
            write_folder_lock(self.folder, self.lock)

    def publish_folder(self) -> None:
        """Write the lock of the folder, which is a space of this server now."""
        if self.folder:
            write_folder_lock(self.folder, self.lock)

    def _is_served_elsewhere(self) -> bool:
        """Whether the folder has the lock of another home, whose server answers."""
        assert self.folder is not None
        found = find_folder_lock(self.folder)
        return found is not None and found.home != self.lock.home

    def publish_port(self, reserved: ReservedPort) -> ServerLock:
        """Publish the port. Clients that connect now wait until the server is ready."""
        self.lock = replace(self.lock, url=reserved.url, port=reserved.port)
        self.write()
        return self.lock

    def withdraw(self) -> None:
        """Remove the locks, unless another server has written its own."""
        places = [home_lock_path(Path(self.lock.home))]
        if self.folder:
            places.append(folder_lock_path(self.folder))
        for path in places:
            remove_lock(path, instance=self.lock.instance)


@contextmanager
def announce(home: Path, folder: Path | None) -> Generator[ServerAnnouncement]:
    """Publish that a server is starting. The caller must hold the home."""
    announcement = ServerAnnouncement(_new_lock(home), folder)
    try:
        announcement.write()
        yield announcement
    finally:
        announcement.withdraw()


def _new_lock(home: Path) -> ServerLock:
    return ServerLock(
        url="http://127.0.0.1:0",
        port=0,
        pid=os.getpid(),
        version=__version__,
        home=str(home),
        instance=uuid4().hex,
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        hostname=gethostname(),
    )
