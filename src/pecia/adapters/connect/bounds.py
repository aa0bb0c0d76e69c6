"""The folders that a source may read, checked on what is open and not on what was asked for.

A path is a promise that whoever may write on the way can break: a link, a folder moved away. So
the kernel is asked where an open file or folder really lies, and that is compared.
"""

import errno
import fcntl
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from pecia.adapters.scan import real_name
from pecia.kernel.errors import Forbidden, InvalidInput

_F_GETPATH = 50
"""On macOS; the standard library names it on that system alone."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Real paths, each with everything below it. None: the whole machine.

    They are compared as they stand, never resolved again: a link put in the place of a folder that
    was given leads out of it.
    """

    folders: tuple[Path, ...] | None = None
    closed: tuple[Path, ...] = ()
    """Real paths below which nothing is read, whoever asks: where Pecia keeps its keys and data."""

    def hold(self, real: Path) -> bool:
        """Whether a real path lies within."""
        is_given = self.folders is None or any(real.is_relative_to(it) for it in self.folders)
        return is_given and not self.shut(real)

    def shut(self, real: Path) -> bool:
        """Whether a real path lies where nothing is read."""
        return any(real.is_relative_to(it) for it in self.closed)

    def require(self, path: Path) -> None:
        """Refuse a folder that leads out of these bounds. Says nothing of what there is outside."""
        if not self.hold(real_name(path)):
            raise _outside(path, "folder")


ANYWHERE = Bounds()


def require_folder(path: Path, bounds: Bounds, field: str) -> None:
    """Refuse what is outside, and within what is not there, no folder, or closed to this server."""
    if bounds.shut(real_name(path)):
        raise InvalidInput(
            f"{path} belongs to Pecia itself: its keys and its database are there",
            field=field,
            got=str(path),
        )
    if not bounds.hold(real_name(path)):
        raise _outside(path, field)
    try:
        number = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise InvalidInput(
            f"the server cannot open {path}: {_REASONS.get(error.errno or 0, error.strerror)}",
            field=field,
            got=str(path),
            expected="a folder of the machine that the server runs on",
        ) from None
    try:
        if not bounds.hold(real_path(number, path)):
            raise _outside(path, field)
        # Open for reading, and no way to anything in it: no x for the server.
        os.scandir(number).close()
        os.stat(".", dir_fd=number)
    except PermissionError:
        raise InvalidInput(
            f"the server cannot open {path}: it may not look into it", field=field, got=str(path)
        ) from None
    finally:
        os.close(number)


_REASONS = {
    errno.ENOENT: "there is no such folder",
    errno.ENOTDIR: "it is not a folder",
    errno.EACCES: "the server has no permission to read it",
}


def _outside(path: Path, field: str) -> Forbidden:
    return Forbidden(
        f"the folder {path} is not among those that your sources may read",
        field=field,
        rule="folder",
        hint="the operator gives a folder to a tenant: pecia tenant allow TENANT --folder PATH",
    )


def real_path(number: int, path: Path) -> Path:
    """Where an open file or folder lies, as the kernel says it; `path` is how it was opened."""
    if sys.platform == "darwin":
        found = fcntl.fcntl(number, _F_GETPATH, b"\0" * 1024)
        return Path(os.fsdecode(found.rstrip(b"\0")))
    try:
        return Path(f"/proc/self/fd/{number}").readlink()
    except OSError:
        return _real_path_by_name(number, path)


def _real_path_by_name(number: int, path: Path) -> Path:
    """Where the system has no such list: the name, if it still means the same file."""
    real = real_name(path)
    if not os.path.samestat(os.fstat(number), real.lstat()):
        raise FileNotFoundError(path)
    return real
