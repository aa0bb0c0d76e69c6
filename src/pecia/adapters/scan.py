"""A folder as it is now: its files and folders, and what could not be read and why.

Blocking: callers run it in a thread. It reads no file's content, and never leaves the folder.
"""

import errno
import fcntl
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from pecia.adapters.globs import compiled
from pecia.kernel.errors import InvalidInput

_F_GETPATH = 50
"""On macOS; the standard library names it on that system alone."""
MOVED = "it was replaced by another folder or a link while it was listed"

# File systems keep times in steps of up to two seconds: within one step a file can change unseen.
_STEP_NS = 2_000_000_000


class Links(StrEnum):
    """What to do with symbolic links: pass them by, or follow those that stay in the folder."""

    SKIP = "skip"
    INSIDE = "inside"


@dataclass(frozen=True)
class Selection:
    """Which files count. A folder that `exclude` fits is left out with everything beneath it."""

    include: tuple[str, ...] = ("**",)
    exclude: tuple[str, ...] = ()
    links: Links = Links.SKIP

    def __post_init__(self) -> None:
        # A bad pattern is refused here, not at the first scan.
        _ = (self._included, self._excluded, self._emptied)

    def admits(self, path: str) -> bool:
        """Whether this file counts."""
        return self.fits(path) and not self._lies_in_pruned(path)

    def enters(self, folder: str) -> bool:
        """Whether this folder can hold files that count."""
        return not self.prunes(folder) and not self._lies_in_pruned(folder)

    def fits(self, path: str) -> bool:
        """Whether this file counts, given that the folder it lies in does."""
        return bool(self._included.fullmatch(path)) and not self._excluded.fullmatch(path)

    def prunes(self, folder: str) -> bool:
        return bool(self._excluded.fullmatch(folder) or self._emptied.fullmatch(folder))

    def _lies_in_pruned(self, path: str) -> bool:
        return any(self.prunes(path[: slash.start()]) for slash in re.finditer("/", path))

    @cached_property
    def _included(self) -> re.Pattern[str]:
        return compiled(self.include, field="include")

    @cached_property
    def _excluded(self) -> re.Pattern[str]:
        return compiled(self.exclude, field="exclude")

    @cached_property
    def _emptied(self) -> re.Pattern[str]:
        # `build/**` leaves nothing in the folder, so there is no reason to enter it.
        heads = [it.removesuffix("/**") for it in self.exclude if it.endswith("/**")]
        return compiled(heads, field="exclude")


Rights: TypeAlias = tuple[int, int, int]
"""Mode, owner and group."""


def rights_of(found: os.stat_result) -> Rights:
    return stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells one state of a file from the next, its rights included.

    Not `settled`: it was too young to be sure.
    """

    size_bytes: int
    mtime_ns: int
    inode: int
    settled: bool = field(compare=False)
    rights: Rights = (0, 0, 0)
    names: int = field(default=1, compare=False)
    """How many hard links lead to it."""

    @classmethod
    def of(cls, found: os.stat_result) -> "Stamp":
        settled = time.time_ns() - found.st_mtime_ns > _STEP_NS
        rights = rights_of(found)
        size, mtime = found.st_size, found.st_mtime_ns
        return cls(size, mtime, found.st_ino, settled, rights, found.st_nlink)


@dataclass(slots=True)
class Snapshot:
    """Relative paths with `/`. `refused` says for each path that was passed over why it was.

    `unsure` are those of them that could not be looked at for now: they may be there as before.
    `rights` are those of the folders.
    """

    files: dict[str, Stamp] = field(default_factory=dict[str, Stamp])
    folders: set[str] = field(default_factory=set[str])
    rights: dict[str, Rights] = field(default_factory=dict[str, Rights])
    links: set[str] = field(default_factory=set[str])
    refused: dict[str, str] = field(default_factory=dict[str, str])
    unsure: set[str] = field(default_factory=set[str])

    def failed(self, path: str, error: OSError) -> None:
        self.refused[path] = _reason(error)
        if error.errno not in SURE:
            self.unsure.add(path)


SURE = frozenset(
    (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EACCES, errno.EPERM)
)
"""Failures that say how things are. Others, such as a mount that went stale, may pass."""


def scan(root: Path, selection: Selection) -> Snapshot:
    """The whole folder. One that cannot be read has nothing in it, and the reason under `.`."""
    whole = Snapshot()
    for found in scan_folders(root, selection):
        whole.files |= found.files
        whole.folders |= found.folders
        whole.rights |= found.rights
        whole.links |= found.links
        whole.refused |= found.refused
        whole.unsure |= found.unsure
    return whole


def scan_folders(root: Path, selection: Selection) -> Iterator[Snapshot]:
    """The same, folder by folder: however many files there are, those of one folder are held."""
    top = real_name(root)
    waiting = [_Place("", str(top))]
    while waiting:
        walk = _Walk(top, selection, Snapshot())
        waiting.extend(walk.enter(waiting.pop()))
        yield walk.found


def real_name(path: Path) -> Path:
    """A path without links in it. Links that lead round stay, where `resolve` raises."""
    try:
        return Path(os.path.realpath(path))
    except OSError as error:
        # A link that may not be read, as those of other processes below /proc are.
        raise InvalidInput(
            f"the server cannot tell where {path} really lies: {_reason(error)}",
            field="folder",
            got=str(path),
        ) from None


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


@dataclass(frozen=True, slots=True)
class _Place:
    path: str
    at: str
    linked: bool = False


@dataclass(frozen=True, slots=True)
class _Walk:
    root: Path
    selection: Selection
    found: Snapshot

    def enter(self, place: _Place) -> Iterator[_Place]:
        """Record what this folder holds; what comes back is the folders to enter next."""
        try:
            number = os.open(place.at, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            self.found.failed(place.path or ".", error)
            return
        try:
            yield from self._listed(place, number)
        except OSError as error:
            self.found.failed(place.path or ".", error)
        finally:
            os.close(number)

    def _listed(self, place: _Place, number: int) -> Iterator[_Place]:
        """What is in the open folder: its names are asked of what is open, not of its path."""
        if real_path(number, Path(place.at)) != Path(place.at):
            # Another folder, or a link on the way, was put there since its name was read.
            raise OSError(errno.EAGAIN, MOVED)
        rights = rights_of(os.fstat(number))
        with os.scandir(number) as entries:
            children = list(entries)
        if not place.linked:
            self.found.folders.add(place.path)
            self.found.rights[place.path] = rights
        for child in children:
            path = f"{place.path}/{child.name}" if place.path else child.name
            if not _is_text(child.name):
                self.found.refused[ascii(path)] = "the name is not UTF-8"
            elif child.is_symlink():
                yield from self._link(path, child, place)
            elif not child.is_dir(follow_symlinks=False):
                self._file(path, child, follow=False)
            elif not self.selection.prunes(path):
                yield _Place(path, f"{place.at.rstrip('/')}/{child.name}", place.linked)

    def _file(self, path: str, child: "os.DirEntry[str]", *, follow: bool) -> None:
        if not self.selection.fits(path):
            return
        try:
            found = child.stat(follow_symlinks=follow)
        except OSError as error:
            self.found.failed(path, error)
            return
        if stat.S_ISREG(found.st_mode):
            self.found.files[path] = Stamp.of(found)
        else:
            self.found.refused[path] = "not a plain file"

    def _link(self, path: str, child: "os.DirEntry[str]", place: _Place) -> Iterator[_Place]:
        if self.selection.links is Links.SKIP:
            return
        link = Path(place.at, child.name)
        refused = self._why_not(link, place)
        if refused:
            self.found.refused[path] = refused
            return
        self.found.links.add(path)
        if not child.is_dir():
            self._file(path, child, follow=True)
        elif not self.selection.prunes(path):
            yield _Place(path, str(link.resolve()), linked=True)

    def _why_not(self, link: Path, place: _Place) -> str:
        # One link deep: two folders that link to each other would otherwise never end.
        if place.linked:
            return "a link behind a link"
        try:
            target = link.resolve(strict=True)
        except (OSError, RuntimeError) as error:
            # A RuntimeError where links lead round.
            return _reason(error) if isinstance(error, OSError) else "the links lead round"
        if not target.is_relative_to(self.root):
            return "the link leaves the folder"
        return "the link leads back to itself" if link.is_relative_to(target) else ""


def _is_text(name: str) -> bool:
    # A name that is not UTF-8 comes as lone surrogates, which no database and no client can take.
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
