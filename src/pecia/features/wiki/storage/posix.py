"""Four system calls that Python does not expose. Blocking.

`exchange` swaps two names atomically (Linux `renameat2`, macOS `renameatx_np`).
`rename_new` renames without replacing.
`sync_file_system` syncs everything on a file system.
`lease` tells whether anybody has a file open for writing, and blocks writers while it is held.
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
"""Errors of file systems that do not support exchange."""

_IS_LINUX = sys.platform == "linux"
HAS_SYNCFS = _IS_LINUX and hasattr(ctypes.CDLL(None), "syncfs")
_SWAP = 2
# The same value in both systems, by chance. This one differs.
_EXCLUSIVE = {"linux": 1, "darwin": 4}
_NAMES = {"linux": "renameat2", "darwin": "renameatx_np"}


def exchange(from_folder: int, from_name: str, to_folder: int, to_name: str) -> None:
    """Both files keep existing, each under the other's name. OSError as from `os.rename`."""
    _rename((from_folder, from_name), (to_folder, to_name), _SWAP)


def rename_new(from_folder: int, from_name: str, to_folder: int, to_name: str) -> None:
    """Rename to a free name; otherwise FileExistsError, and nothing has changed."""
    _rename((from_folder, from_name), (to_folder, to_name), _EXCLUSIVE.get(sys.platform, 0))


def sync_file_system(folder: int) -> None:
    """Sync everything on the file system of an open folder. Where `HAS_SYNCFS`."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.syncfs(folder) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def is_awaited(file: int) -> bool:
    """Whether a writer waits for our lease of this file to end."""
    return _IS_LINUX and fcntl.fcntl(file, fcntl.F_GETLEASE) != fcntl.F_RDLCK


@contextmanager
def lease(file: int) -> Generator[bool | None]:
    """True: nobody has it open for writing, and nobody can open it until this ends.

    False: somebody has. None: the system cannot tell.
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
        # An open by another process makes the kernel signal us: with an ignored signal, not with
        # the default one, which would kill the process.
        fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return False if error.errno == EAGAIN else _unknown(error)
    return True


def _unknown(error: OSError) -> None:
    # For files of other users, and on some file systems, leases are not available.
    if error.errno not in NOT_SUPPORTED | {EACCES}:
        raise error


def _rename(from_: tuple[int, str], to: tuple[int, str], flags: int) -> None:
    function = _function()
    if function is None:
        raise OSError(ENOSYS, os.strerror(ENOSYS))
    names = (from_[0], os.fsencode(from_[1]), to[0], os.fsencode(to[1]))
    if function(*names, flags) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), from_[1], None, to[1])


def _function() -> Any:
    name = _NAMES.get(sys.platform)
    return getattr(ctypes.CDLL(None, use_errno=True), name, None) if name else None
