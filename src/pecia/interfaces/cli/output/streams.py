"""The three streams of the process: closed ones are opened, and what stdout does not take is found.

Imports nothing of ours: help and completion pass through here.
"""

import os
import select
import sys


def open_closed_streams() -> None:
    """The null device in place of each stream that was closed when the process began.

    Otherwise the next file to be opened gets its number, and whoever prints writes into that file.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is this one.
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = os.fdopen(0)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w")


def flush_stdout() -> OSError | None:
    """Write out what is buffered; the failure, if stdout does not take it."""
    try:
        sys.stdout.flush()
    except OSError as error:
        return error
    return None


def is_stdout_abandoned() -> bool:
    """Whether the reader of stdout is gone. A broken pipe may be one to a server, too."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def discard_stdout() -> None:
    """Drop what stdout did not take: the interpreter would print an error at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.stdout.flush()
