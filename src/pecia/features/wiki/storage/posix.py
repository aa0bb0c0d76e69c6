"""Five system calls that Python does not expose. Blocking.

`exchange` swaps two names atomically (Linux `renameat2`, macOS `renameatx_np`).
`rename_new` renames without replacing.
`open_folder` opens a folder without following any link on the way (Linux `openat2`).
`sync_file_system` syncs everything on a file system.
`lease` tells whether anybody has a file open for writing, and blocks writers while it is held.
"""

import ctypes
import fcntl
import os
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from errno import EACCES, EAGAIN, EINVAL, ENOSYS, ENOTSUP, EPERM
from functools import cache
from typing import Any

NOT_SUPPORTED = frozenset((EINVAL, ENOSYS, ENOTSUP, EPERM))
"""Errors of file systems that do not support exchange."""

_IS_LINUX = sys.platform == "linux"
HAS_SYNCFS = _IS_LINUX and hasattr(ctypes.CDLL(None), "syncfs")
_SWAP = 2
# The same value in both systems, by chance. This one differs.
_EXCLUSIVE = {"linux": 1, "darwin": 4}
_OPENAT2, _NO_LINKS = 437, 4
_NAMES = {"linux": "renameat2", "darwin": "renameatx_np"}


def exchange(from_folder: int, from_name: str, to_folder: int, to_name: str) -> None:
    """Both files keep existing, each under the other's name. OSError as from `os.rename`."""
    _rename((from_folder, from_name), (to_folder, to_name), _SWAP)


def rename_new(from_folder: int, from_name: str, to_folder: int, to_name: str) -> None:
    """Rename to a free name; otherwise FileExistsError, and nothing has changed."""
    _rename((from_folder, from_name), (to_folder, to_name), _EXCLUSIVE.get(sys.platform, 0))


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def open_folder(path: str) -> int | None:
    """An absolute path, opened with one call; None if it cannot be, for whatever reason: opened
    step by step, it says which."""
    call = _openat2()
    return None if call is None else call(path)


@cache
def _openat2() -> Callable[[str], int | None] | None:
    """None where the system does not have the call, or does not allow it."""
    if not _IS_LINUX:
        return None
    system = ctypes.CDLL(None, use_errno=True).syscall
    how = _OpenHow(os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, 0, _NO_LINKS)
    number, size = ctypes.c_long(_OPENAT2), ctypes.c_size_t(ctypes.sizeof(how))
    nowhere, given = ctypes.c_int(-1), ctypes.byref(how)

    def call(path: str) -> int | None:
        # Absolute, so that no folder to begin in is needed.
        held = system(number, nowhere, ctypes.c_char_p(os.fsencode(path)), given, size)
        return held if held >= 0 else None

    found = call("/")
    if found is None:
        return None
    os.close(found)
    return call


def sync_file_system(folder: int) -> None:
    """Sync everything on the file system of an open folder. Where `HAS_SYNCFS`."""
    if ctypes.CDLL(None, use_errno=True).syncfs(folder) != 0:
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


@cache
def _function() -> Any:
    name = _NAMES.get(sys.platform)
    return getattr(ctypes.CDLL(None, use_errno=True), name, None) if name else None
