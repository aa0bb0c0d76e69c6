"""The folders that a source may read, checked on open files and not on their paths.

Anyone who may write along a path can change what it means: a link, a folder moved away. So the
kernel is asked where an open file or folder really lies, and that is compared.
"""

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from pecia.adapters.connectors.filesystem.scan import real_path, resolve_path
from pecia.kernel.errors import Forbidden, InvalidInput

KERNELS = tuple(map(Path, ("/proc", "/sys", "/dev")))
"""What the kernel shows as folders: processes, devices and their state, and no documents."""
MEMORY = Path("/dev/shm")


@dataclass(frozen=True, slots=True)
class FolderBounds:
    """Real paths, each with everything below it. None: the whole machine.

    They are compared as they stand, never resolved again: a link put in the place of a folder that
    was given leads out of it.
    """

    folders: tuple[Path, ...] | None = None
    closed: tuple[Path, ...] = ()
    """Real paths below which nothing is read for anyone: where Pecia keeps its keys and data."""

    def contains(self, real: Path) -> bool:
        """Whether a real path lies within."""
        return self.is_given(real) and not self.is_closed(real)

    def is_given(self, real: Path) -> bool:
        """Whether a real path lies in a folder that was given, closed or not."""
        return self.folders is None or any(real.is_relative_to(it) for it in self.folders)

    def is_closed(self, real: Path) -> bool:
        """Whether a real path lies where nothing is read."""
        return is_kernels(real) or any(real.is_relative_to(it) for it in self.closed)

    def require(self, path: Path) -> None:
        """Refuse a folder that leads out of these bounds. Says nothing of what there is outside."""
        if not self.contains(resolve_path(path)):
            raise _forbidden(path, "folder")


ANYWHERE = FolderBounds()


def is_kernels(path: Path) -> bool:
    """Whether a path lies where the kernel shows itself."""
    return any(path.is_relative_to(it) for it in KERNELS) and not path.is_relative_to(MEMORY)


def require_outside_kernel(path: Path, field: str) -> None:
    """Refuse a path through there too: `/proc/self/cwd` is another folder for every process."""
    if is_kernels(path) or is_kernels(resolve_path(path)):
        raise InvalidInput(
            f"{path} is a virtual file system of the kernel and has no documents",
            field=field,
            got=str(path)[:200],
            expected="a folder outside of /proc, /sys and /dev",
        )


def require_folder(path: Path, bounds: FolderBounds, field: str) -> None:
    """Refuse what is outside, and within what is not there, no folder, or closed to this server."""
    require_outside_kernel(path, field)
    real = resolve_path(path)
    # Where our data lies is told to those only who may look there.
    if bounds.is_given(real) and bounds.is_closed(real):
        raise InvalidInput(
            f"{path} belongs to Pecia itself: its keys and its database are there",
            field=field,
            got=str(path),
        )
    if not bounds.contains(real):
        raise _forbidden(path, field)
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
        if not bounds.contains(real_path(number, path)):
            raise _forbidden(path, field)
        # Open for reading, and no way to anything in it: no x for the server.
        os.scandir(number).close()
        os.stat(".", dir_fd=number)
    except PermissionError:
        raise InvalidInput(
            f"the server cannot open {path}: permission denied", field=field, got=str(path)
        ) from None
    finally:
        os.close(number)


def open_file(path: Path, bounds: FolderBounds, field: str) -> BinaryIO:
    """A file of this machine, if it really lies within. It stays that one, whatever its path comes
    to mean."""
    require_outside_kernel(path, field)
    if not bounds.contains(resolve_path(path)):
        raise _forbidden(path, field)
    try:
        # Does not wait for the other end of a pipe.
        number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise InvalidInput(
            f"the server cannot open {path}: {error.strerror}", field=field, got=str(path)
        ) from None
    opened = cast(BinaryIO, os.fdopen(number, "rb"))
    if not bounds.contains(real_path(number, path)):
        opened.close()
        raise _forbidden(path, field)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        opened.close()
        raise InvalidInput(f"{path} is not a plain file", field=field, got=str(path))
    return opened


_REASONS = {
    errno.ENOENT: "there is no such folder",
    errno.ENOTDIR: "it is not a folder",
    errno.ENAMETOOLONG: "its path is too long",
    errno.EACCES: "the server has no permission to read it",
}


def _forbidden(path: Path, field: str) -> Forbidden:
    return Forbidden(
        f"the folder {path} is not among those that your sources may read",
        field=field,
        rule="folder",
        hint="the operator gives a folder to a tenant: pecia tenant allow TENANT --folder PATH",
    )
