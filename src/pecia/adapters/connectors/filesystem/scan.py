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

from pecia.adapters.connectors.filesystem.glob import compile_globs
from pecia.kernel.errors import InvalidInput

_F_GETPATH = 50
"""On macOS; the standard library names it on that system alone."""
MOVED = "it was replaced by another folder or a link while it was listed"

# File systems keep times in steps of up to two seconds: within one step a file can change unseen.
_MTIME_RESOLUTION_NS = 2_000_000_000


class SymlinkPolicy(StrEnum):
    """What to do with symbolic links: skip them, or follow those that stay in the folder."""

    SKIP = "skip"
    INSIDE = "inside"


PROGRAM_FOLDERS = frozenset((".git", ".hg", ".svn", ".pecia"))


@dataclass(frozen=True)
class FileSelection:
    """Which files count. A folder that `exclude` fits is left out with everything beneath it; so
    are those of programs (`.git` may hold passwords), unless `include` names them.
    """

    include: tuple[str, ...] = ("**",)
    exclude: tuple[str, ...] = ()
    links: SymlinkPolicy = SymlinkPolicy.SKIP

    def __post_init__(self) -> None:
        # A bad pattern is refused here, not at the first scan.
        _ = (self._included, self._excluded, self._emptied)

    def admits(self, path: str) -> bool:
        """Whether this file counts."""
        return self.matches(path) and not self._lies_in_pruned(path)

    def may_enter(self, folder: str) -> bool:
        """Whether this folder can hold files that count."""
        return not self.prunes(folder) and not self._lies_in_pruned(folder)

    def matches(self, path: str) -> bool:
        """Whether this file counts, given that the folder it lies in does."""
        return bool(self._included.fullmatch(path)) and not self._excluded.fullmatch(path)

    def prunes(self, folder: str) -> bool:
        name = folder.rpartition("/")[2]
        if name in PROGRAM_FOLDERS and not any(name in it.split("/") for it in self.include):
            return True
        return bool(self._excluded.fullmatch(folder) or self._emptied.fullmatch(folder))

    def _lies_in_pruned(self, path: str) -> bool:
        return any(self.prunes(path[: slash.start()]) for slash in re.finditer("/", path))

    @cached_property
    def _included(self) -> re.Pattern[str]:
        return compile_globs(self.include, field="include")

    @cached_property
    def _excluded(self) -> re.Pattern[str]:
        return compile_globs(self.exclude, field="exclude")

    @cached_property
    def _emptied(self) -> re.Pattern[str]:
        # `build/**` leaves nothing in the folder, so there is no reason to enter it.
        heads = [it.removesuffix("/**") for it in self.exclude if it.endswith("/**")]
        return compile_globs(heads, field="exclude")


ModeAndOwner: TypeAlias = tuple[int, int, int]
"""Mode, owner and group."""


def mode_and_owner(found: os.stat_result) -> ModeAndOwner:
    return stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid


@dataclass(frozen=True, slots=True)
class StatStamp:
    """The state of a file, to detect changes; includes its mode.

    Not `settled`: it was too young to be sure.
    """

    size_bytes: int
    mtime_ns: int
    inode: int
    settled: bool = field(compare=False)
    rights: ModeAndOwner = (0, 0, 0)
    names: int = field(default=1, compare=False)
    """How many hard links lead to it."""

    @classmethod
    def of(cls, found: os.stat_result) -> "StatStamp":
        settled = time.time_ns() - found.st_mtime_ns > _MTIME_RESOLUTION_NS
        rights = mode_and_owner(found)
        size, mtime = found.st_size, found.st_mtime_ns
        return cls(size, mtime, found.st_ino, settled, rights, found.st_nlink)


@dataclass(slots=True)
class FolderSnapshot:
    """Relative paths with `/`. `refused` says for each path that was passed over why it was.

    `uncertain` are those of them that could not be looked at for now: they may be there as before.
    `failed` are those that were wanted: the others are of a kind that is never read.
    `rights` are those of the folders.
    """

    files: dict[str, StatStamp] = field(default_factory=dict[str, StatStamp])
    folders: set[str] = field(default_factory=set[str])
    rights: dict[str, ModeAndOwner] = field(default_factory=dict[str, ModeAndOwner])
    links: set[str] = field(default_factory=set[str])
    skipped: dict[str, str] = field(default_factory=dict[str, str])
    uncertain: set[str] = field(default_factory=set[str])
    failed: set[str] = field(default_factory=set[str])

    def record_failure(self, path: str, error: OSError) -> None:
        self.skipped[path] = _reason(error)
        self.failed.add(path)
        if error.errno not in PERMANENT_ERRNOS:
            self.uncertain.add(path)


PERMANENT_ERRNOS = frozenset(
    (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EACCES, errno.EPERM)
)
"""Failures that say how things are. Others, such as a mount that went stale, may pass."""


def scan(root: Path, selection: FileSelection) -> FolderSnapshot:
    """The whole folder. One that cannot be read has nothing in it, and the reason under `.`."""
    whole = FolderSnapshot()
    for found in scan_folders(root, selection):
        whole.files |= found.files
        whole.folders |= found.folders
        whole.rights |= found.rights
        whole.links |= found.links
        whole.skipped |= found.skipped
        whole.uncertain |= found.uncertain
        whole.failed |= found.failed
    return whole


def scan_folders(root: Path, selection: FileSelection) -> Iterator[FolderSnapshot]:
    """The same, folder by folder: however many files there are, those of one folder are held."""
    top = resolve_path(root)
    waiting = [_FolderToScan("", str(top))]
    while waiting:
        walk = _Walk(top, selection, FolderSnapshot())
        waiting.extend(walk.enter(waiting.pop()))
        yield walk.found


def resolve_path(path: Path) -> Path:
    """A path without links in it. Links that lead round stay, where `resolve` raises."""
    try:
        return Path(os.path.realpath(path))
    except OSError as error:
        # A link that may not be read, as those of other processes below /proc are.
        raise InvalidInput(
            f"the server cannot resolve {path}: {_reason(error)}",
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
    real = resolve_path(path)
    if not os.path.samestat(os.fstat(number), real.lstat()):
        raise FileNotFoundError(path)
    return real


@dataclass(frozen=True, slots=True)
class _FolderToScan:
    path: str
    at: str
    linked: bool = False


@dataclass(frozen=True, slots=True)
class _Walk:
    root: Path
    selection: FileSelection
    found: FolderSnapshot

    def enter(self, place: _FolderToScan) -> Iterator[_FolderToScan]:
        """Record what this folder holds; what comes back is the folders to enter next."""
        try:
            number = os.open(place.at, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            self.found.record_failure(place.path or ".", error)
            return
        try:
            yield from self._list_folder(place, number)
        except OSError as error:
            self.found.record_failure(place.path or ".", error)
        finally:
            os.close(number)

    def _list_folder(self, place: _FolderToScan, number: int) -> Iterator[_FolderToScan]:
        """What is in the open folder: its names are asked of what is open, not of its path."""
        if real_path(number, Path(place.at)) != Path(place.at):
            # Another folder, or a link on the way, was put there since its name was read.
            raise OSError(errno.EAGAIN, MOVED)
        rights = mode_and_owner(os.fstat(number))
        with os.scandir(number) as entries:
            children = list(entries)
        if not place.linked:
            self.found.folders.add(place.path)
            self.found.rights[place.path] = rights
        for child in children:
            path = f"{place.path}/{child.name}" if place.path else child.name
            if not _is_text(child.name):
                self.found.skipped[ascii(path)] = "the name is not UTF-8"
                self.found.failed.add(ascii(path))
            elif child.is_symlink():
                yield from self._link(path, child, place)
            elif not child.is_dir(follow_symlinks=False):
                self._file(path, child, follow=False)
            elif not self.selection.prunes(path):
                yield _FolderToScan(path, f"{place.at.rstrip('/')}/{child.name}", place.linked)

    def _file(self, path: str, child: "os.DirEntry[str]", *, follow: bool) -> None:
        if not self.selection.matches(path):
            return
        try:
            found = child.stat(follow_symlinks=follow)
        except OSError as error:
            self.found.record_failure(path, error)
            return
        if stat.S_ISREG(found.st_mode):
            self.found.files[path] = StatStamp.of(found)
        else:
            self.found.skipped[path] = "not a plain file"

    def _link(
        self, path: str, child: "os.DirEntry[str]", place: _FolderToScan
    ) -> Iterator[_FolderToScan]:
        if self.selection.links is SymlinkPolicy.SKIP:
            return
        link = Path(place.at, child.name)
        refused = self._refuse_link(link, place)
        if refused:
            self.found.skipped[path] = refused
            return
        self.found.links.add(path)
        if not child.is_dir():
            self._file(path, child, follow=True)
        elif not self.selection.prunes(path):
            yield _FolderToScan(path, str(link.resolve()), linked=True)

    def _refuse_link(self, link: Path, place: _FolderToScan) -> str:
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
