"""What a server says of itself in lock files, from before it has a port until it has ended."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from socket import gethostname
from uuid import uuid4

from pecia import __version__
from pecia.doors.cli.listen import Reserved
from pecia.doors.cli.lock import (
    ServerLock,
    folder_lock,
    home_lock,
    remove_lock,
    write_folder_lock,
    write_lock,
)


@dataclass(slots=True)
class Announcement:
    """The locks of one server: that of its home, and that of the folder it was started for."""

    lock: ServerLock
    folder: Path | None

    def tell(self) -> None:
        """Write what is known by now. A folder is touched only when there is a port to tell."""
        write_lock(home_lock(Path(self.lock.home)), self.lock)
        if self.folder and self.lock.port:
            write_folder_lock(self.folder, self.lock)

    def bound(self, reserved: Reserved) -> ServerLock:
        """Tell the port. Who connects from now on waits until the server is ready."""
        self.lock = replace(self.lock, url=reserved.url, port=reserved.port)
        self.tell()
        return self.lock

    def withdraw(self) -> None:
        """Take the locks away, unless another server has written its own."""
        places = [home_lock(Path(self.lock.home))]
        if self.folder:
            places.append(folder_lock(self.folder))
        for path in places:
            remove_lock(path, instance=self.lock.instance)


@contextmanager
def announced(home: Path, folder: Path | None) -> Generator[Announcement]:
    """Say that a server is starting; call it as the one process that may serve the home."""
    announcement = Announcement(_starting(home), folder)
    try:
        announcement.tell()
        yield announcement
    finally:
        announcement.withdraw()


def _starting(home: Path) -> ServerLock:
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
