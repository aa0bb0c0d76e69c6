"""Linux inotify, read synchronously: an event is queued before the system call that caused it
returns, so whoever drains the queue after a change sees the change. Blocking, for a moment.
"""

import ctypes
import os
import struct
import sys
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from errno import EMFILE, ENOSYS
from functools import cache
from typing import Any

_CLOEXEC, _NONBLOCK = 0o2000000, 0o4000
_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF = 0x400, 0x800
_UNMOUNT, _OVERFLOW, _IGNORED = 0x2000, 0x4000, 0x8000
_ONLY_FOLDERS, _IS_FOLDER = 0x01000000, 0x40000000
_ENTRIES = _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
_WATCHED = _MODIFY | _ATTRIB | _CLOSE_WRITE | _ENTRIES | _DELETE_SELF | _MOVE_SELF | _ONLY_FOLDERS
_EVENT = struct.Struct("iIII")
_BUFFER_BYTES = 65_536
MAX_QUEUES = 16
"""Of a process. Spaces beyond these are scanned with every call."""
# File systems whose every change is made by this machine's kernel. Elsewhere (NFS, FUSE, shared
# folders of virtual machines) others change files without an event here.
_LOCAL = frozenset(
    (
        *(0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0x794C7630, 0x2FC12FC1, 0xF2F52010),
        *(0xCA451A4E, 0x858458F6),
    )
)


@dataclass(frozen=True, slots=True)
class WatchSignal:
    """One event. `watch` is the watched folder, `name` an entry in it, or empty for itself."""

    watch: int
    name: str
    is_folder: bool
    is_entry: bool
    """The entry came or went; else what it holds changed."""
    is_ended: bool
    """The folder is no longer watched."""


class EventsLost(Exception):
    """The queue was full, or a file system went: only a full scan can tell what changed."""


class FolderEvents:
    """A queue of events of some folders. OSError where there is none to be had: a system has few
    (128 for each user), and other programs need them too."""

    def __init__(self) -> None:
        if sum(it.close.alive for it in _OPEN) >= MAX_QUEUES:
            raise OSError(EMFILE, os.strerror(EMFILE))
        self._file: int = _call("inotify_init1", _CLOEXEC | _NONBLOCK)
        self.close = weakref.finalize(self, os.close, self._file)
        _OPEN.add(self)

    def add(self, folder: int) -> int:
        """Watch an open folder; returns the watch."""
        # By its descriptor: no path that leads elsewhere by now.
        path = f"/proc/self/fd/{folder}".encode()
        return _call("inotify_add_watch", self._file, path, _WATCHED)

    def remove(self, watch: int) -> None:
        _library().inotify_rm_watch(self._file, watch)

    def drain(self) -> Iterator[WatchSignal]:
        """All events so far."""
        while True:
            try:
                body = os.read(self._file, _BUFFER_BYTES)
            except BlockingIOError:
                return
            yield from _parse(body)


_OPEN: weakref.WeakSet[FolderEvents] = weakref.WeakSet()


def is_local(folder: int) -> bool:
    """Whether every change below an open folder makes an event."""
    if sys.platform != "linux":
        return False
    found = ctypes.create_string_buffer(512)
    if _library().fstatfs(folder, found) != 0:
        return False
    return int.from_bytes(found.raw[:4], sys.byteorder) in _LOCAL


def _parse(body: bytes) -> Iterator[WatchSignal]:
    at = 0
    while at < len(body):
        watch, mask, _, length = _EVENT.unpack_from(body, at)
        at += _EVENT.size
        name = os.fsdecode(body[at : at + length].rstrip(b"\0"))
        at += length
        if mask & (_OVERFLOW | _UNMOUNT):
            raise EventsLost
        yield WatchSignal(
            watch,
            name,
            is_folder=bool(mask & _IS_FOLDER),
            is_entry=bool(mask & _ENTRIES),
            is_ended=bool(mask & (_IGNORED | _DELETE_SELF | _MOVE_SELF)),
        )


@cache
def _library() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: Any) -> int:
    function = getattr(_library(), name, None) if sys.platform == "linux" else None
    if function is None:
        raise OSError(ENOSYS, os.strerror(ENOSYS))
    result = function(*arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
