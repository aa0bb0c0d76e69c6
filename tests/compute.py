"""The compute workers of a server, seen from outside of it."""

import psutil

WORKER = "pecia.kernel.compute.child"


def workers() -> set[int]:
    """The compute workers of this process that are alive."""
    found: set[int] = set()
    for it in psutil.Process().children():
        try:
            if WORKER in it.cmdline() and it.status() != psutil.STATUS_ZOMBIE:
                found.add(it.pid)
        except psutil.Error:
            continue
    return found
