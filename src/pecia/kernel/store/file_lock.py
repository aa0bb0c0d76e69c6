"""Lock files as liveness checks. The OS drops them with the process, so none is ever stale.

- `holders.lock`: shared by everyone who uses the server; exclusive means that nobody does.
- `start.lock`: one at a time creates, upgrades, starts or attaches. Programs run under it inherit
  it, so an orphaned initdb still keeps others out.
- `keeper.lock`: the one keeper of this cluster.
- `server.lock`: inherited by postgres and all its children. Getting it proves that not one
  of them is left, whatever `postmaster.pid` says.
- `serving.lock`: the keeper's, from when no earlier server is left: what answers from then on is
  its own. Without it, an answer is that of a server which lost its keeper and is about to stop.
"""

import fcntl
import os
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from anyio.from_thread import check_cancelled

FIRST_BACKOFF_S = 0.002
MAX_BACKOFF_S = 0.1


class FileLock:
    """An open lock file. Closing it, or the end of the process, releases the lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def try_acquire(self, *, shared: bool = False) -> bool:
        """Take the lock if it is free, without waiting."""
        try:
            fcntl.flock(self.handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def acquire(self, on_wait: Callable[[], None], *, shared: bool = False) -> None:
        """Take the lock when it becomes free, calling `on_wait` once if it is not free now.

        Polls, because a thread blocked in flock could not be cancelled.
        """
        if self.try_acquire(shared=shared):
            return
        on_wait()
        for wait_s in backoff_delays():
            check_cancelled()
            time.sleep(wait_s)
            if self.try_acquire(shared=shared):
                return

    def close(self) -> None:
        """Let go. Closing twice is no error."""
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1


@contextmanager
def open_lock(path: Path) -> Generator[FileLock]:
    """A lock file, open but not taken, closed at the end of the block."""
    lock = FileLock(path)
    try:
        yield lock
    finally:
        lock.close()


def is_locked(path: Path) -> bool:
    """Whether somebody alive has the lock exclusively. Leaves nothing behind."""
    if not path.exists():
        return False
    with open_lock(path) as lock:
        return not lock.try_acquire(shared=True)


def backoff_delays(longest_s: float = MAX_BACKOFF_S) -> Iterator[float]:
    """Exponential backoff in seconds, up to `longest_s`, without end."""
    wait_s = FIRST_BACKOFF_S
    while True:
        yield wait_s
        wait_s = min(wait_s * 2, longest_s)
