"""Two things of the system that Python does not offer: exchange and leases. Blocking.

`exchange` swaps two names in one step (Linux `renameat2`, macOS `renameatx_np`).
`lease` says whether anybody has a file open for writing, and keeps writers out while it is held.
"""

import ctypes
import fcntl
import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from errno import EACCES, EAGAIN, EINVAL, ENOSYS, ENOTSUP, EPERM
from typing import Any

NOT_SUPPORTED = frozenset((EINVAL, ENOSYS, ENOTSUP, EPERM))
"""How file systems say that they cannot exchange."""

_IS_LINUX = sys.platform == "linux"
_SWAP = 2
# The same number in both systems, by chance.
_NAMES = {"linux": "renameat2", "darwin": "renameatx_np"}


def exchange(from_folder: int, from_name: str, to_folder: int, to_name: str) -> None:
    """Both files keep existing, each under the other's name. OSError as `os.rename` raises it."""
    function = _function()
    if function is None:
        raise OSError(ENOSYS, os.strerror(ENOSYS))
    given = (from_folder, os.fsencode(from_name), to_folder, os.fsencode(to_name), _SWAP)
    if function(*given) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), from_name, None, to_name)


@contextmanager
def lease(file: int) -> Generator[bool | None]:
    """True: nobody has it open for writing, and nobody gets it open until this ends.

    False: somebody has. None: the system does not say.
    """
    held = _take_lease(file)
    try:
        yield held
    finally:
        if held:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)


def _take_lease(file: int) -> bool | None:
    if not _IS_LINUX:
        return None
    try:
        # Whoever opens it meanwhile makes the kernel signal us: with one that is ignored, and not
        # with the usual one, which ends a process.
        fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return False if error.errno == EAGAIN else _unknown(error)
    return True


def _unknown(error: OSError) -> None:
    # Of another user's file, and of some file systems, the kernel says nothing.
    if error.errno not in NOT_SUPPORTED | {EACCES}:
        raise error


def _function() -> Any:
    name = _NAMES.get(sys.platform)
    return getattr(ctypes.CDLL(None, use_errno=True), name, None) if name else None
