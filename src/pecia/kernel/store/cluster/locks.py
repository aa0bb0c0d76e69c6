"""The locks that say who is alive. The OS drops them with the process, so none is ever stale.

- `holders.lock`: shared by everyone who uses the server; exclusive means that nobody does.
- `start.lock`: one at a time creates, upgrades, starts or attaches. Programs run under it inherit
  it, so an orphaned initdb still keeps others out.
- `keeper.lock`: the one keeper of this cluster.
- `server.lock`: inherited by postgres and all its children. Whoever gets it knows that not one
  of them is left, whatever `postmaster.pid` says.
"""

import fcntl
import os
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from anyio.from_thread import check_cancelled

FIRST_WAIT_S = 0.002
LONGEST_WAIT_S = 0.1


class Lock:
    """An open lock file. Closing it lets go; so does the end of the process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def take(self, *, shared: bool = False) -> bool:
        """Take the lock if it is free, without waiting."""
        try:
            fcntl.flock(self.handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def wait(self, on_wait: Callable[[], None], *, shared: bool = False) -> None:
        """Take the lock when it becomes free, calling `on_wait` once if it is not free now.

        Polls, because a thread blocked in flock could not be cancelled.
        """
        if self.take(shared=shared):
            return
        on_wait()
        for wait_s in growing_waits():
            check_cancelled()
            time.sleep(wait_s)
            if self.take(shared=shared):
                return

    def close(self) -> None:
        """Let go. Closing twice is no error."""
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1


@contextmanager
def opened(path: Path) -> Generator[Lock]:
    """A lock file, open but not taken, closed at the end of the block."""
    lock = Lock(path)
    try:
        yield lock
    finally:
        lock.close()


def is_taken(path: Path) -> bool:
    """Whether somebody alive has the lock exclusively. Leaves nothing behind."""
    if not path.exists():
        return False
    with opened(path) as lock:
        return not lock.take(shared=True)


def growing_waits(longest_s: float = LONGEST_WAIT_S) -> Iterator[float]:
    """Waits in seconds that double from a blink to `longest_s`, for ever."""
    wait_s = FIRST_WAIT_S
    while True:
        yield wait_s
        wait_s = min(wait_s * 2, longest_s)
