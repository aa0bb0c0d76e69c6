"""The walls a child puts around itself before it sees a file; never asked of the server.

Limits hold everywhere. Linux adds two walls where it lets us: a network namespace with nothing in
it, and Landlock against every change to the file system. Beneath both lies a hook in Python.
"""

import ctypes
import os
import resource
import signal
import sys
from contextlib import suppress
from typing import Any

from pecia.adapters.extraction.status import Confinement

NICENESS = 10

_OPEN_FILES = 64
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
# The numbers of these calls are the same on every architecture.
_LANDLOCK_CREATE = 444
_LANDLOCK_RESTRICT = 446
# Write, remove and make of every kind: the rights of the first version but execute, read and list.
_LANDLOCK_CHANGES = 0x1FFF & ~0b1101
_FORBIDDEN = {
    "socket.connect",
    "socket.bind",
    "socket.getaddrinfo",
    "subprocess.Popen",
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.system",
    "os.remove",
    "os.rename",
    "os.mkdir",
    "os.rmdir",
    "os.link",
    "os.symlink",
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def confine(memory_bytes: int) -> Confinement:
    """Put up every wall there is, once. What is imported later meets them too."""
    with suppress(OSError):
        os.nice(NICENESS)
    is_linux = sys.platform == "linux"
    libc = ctypes.CDLL(None, use_errno=True) if is_linux else None
    if libc is not None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    network = libc is not None and _leave_network(libc)
    files = libc is not None and _forbid_changes(libc)
    # A file limit of nothing still lets an empty file be made; the hook and Landlock do not.
    for kind, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
    ):
        resource.setrlimit(kind, (most, most))
    sys.addaudithook(_refuse)
    return Confinement(_limit_memory(memory_bytes), network, files)


def allow_cpu(more_s: int) -> None:
    """Let this process use so many seconds of CPU from now on, and then be killed."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = int(used.ru_utime + used.ru_stime) + 1 + more_s
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (until, hard))


def _limit_memory(memory_bytes: int) -> bool:
    # macOS refuses this one; there the server watches the size and kills.
    try:
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    except (ValueError, OSError):
        return False
    return sys.platform == "linux"


def _leave_network(libc: ctypes.CDLL) -> bool:
    """Root needs no user namespace, and keeps its right to read files without one."""
    flags = _CLONE_NEWNET if os.geteuid() == 0 else _CLONE_NEWNET | _CLONE_NEWUSER
    return libc.unshare(flags) == 0


def _forbid_changes(libc: ctypes.CDLL) -> bool:
    handled = ctypes.c_uint64(_LANDLOCK_CHANGES)
    rules = libc.syscall(
        _LANDLOCK_CREATE, ctypes.byref(handled), ctypes.c_size_t(ctypes.sizeof(handled)), 0
    )
    if rules < 0:
        return False
    try:
        return libc.syscall(_LANDLOCK_RESTRICT, rules, 0) == 0
    finally:
        os.close(rules)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _FORBIDDEN:
        raise PermissionError(f"{event} is not for a reader of files")
    if event == "open":
        _, mode, flags = arguments
        writes = isinstance(mode, str) and any(it in mode for it in "wax+")
        if writes or (isinstance(flags, int) and flags & _WRITING):
            raise PermissionError("a reader of files makes none")
