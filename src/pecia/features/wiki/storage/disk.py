"""Files below one folder, never outside it: read, write, move and remove. Blocking.

Every path component is opened relative to its parent and no link is followed, those of the root
included, so that swapping a folder for a link meanwhile gains nothing. A root must therefore be a
real path, as checked when the space is opened. Writes are atomic.
"""

import os
import secrets
import stat
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from errno import EEXIST, ELOOP, ENOTDIR, EXDEV
from hashlib import sha256
from io import BufferedReader
from pathlib import Path

from pecia.features.wiki.storage import posix
from pecia.kernel.errors import (
    Collision,
    Conflict,
    InvalidInput,
    NotFound,
    PayloadTooLarge,
    StorageFull,
    Unavailable,
)

MAX_FILE_BYTES = 20_000_000
TEMPORARY_SUFFIX = ".pecia-tmp"
ASIDE_SUFFIX = ".aside"
MAX_SINGLE_SYNCS = 16
"""More files than these are synced together, with everything else on their file system."""
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A folder on the way to a root need not be readable (O_PATH, where available).
_PASS = _FOLDER | (getattr(os, "O_PATH", 0) or os.O_RDONLY)
# File systems have a time resolution of up to two seconds: a change within it is not visible.
_MTIME_SETTLE_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Identifies one state of a file. Not `settled`: too recent to be reliable."""

    size_bytes: int
    mtime_ns: int
    inode: int
    settled: bool = field(default=True, compare=False)
    mode: int = field(default=0, compare=False)
    uid: int = field(default=0, compare=False)
    gid: int = field(default=0, compare=False)

    @classmethod
    def of(cls, found: os.stat_result) -> "FileStamp":
        settled = time.time_ns() - found.st_mtime_ns > _MTIME_SETTLE_NS
        mode = stat.S_IMODE(found.st_mode)
        owner = (found.st_uid, found.st_gid)
        return cls(found.st_size, found.st_mtime_ns, found.st_ino, settled, mode, *owner)

    def is_settled_by_now(self) -> bool:
        """Whether it is old enough to be reliable by now."""
        return self.settled or time.time_ns() - self.mtime_ns > _MTIME_SETTLE_NS

    @property
    def etag(self) -> str:
        """The same etag as in the lake, which crawls spaces too: neither reads after the other."""
        return f"{self.mtime_ns:x}-{self.size_bytes:x}-{self.inode:x}"


def read(root: Path, path: str, most: int = MAX_FILE_BYTES) -> bytes:
    """The bytes of a regular file."""
    return read_with_stamp(root, path, most)[0]


def read_with_stamp(root: Path, path: str, most: int = MAX_FILE_BYTES) -> tuple[bytes, FileStamp]:
    """The bytes, and the stamp they belong to."""
    with _parent(root, path) as (folder, leaf), _translated_errors(path):
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(leaf, flags, dir_fd=folder), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise InvalidInput(f"{path!r} is not a regular file", field="path")
            if found.st_size > most:
                raise PayloadTooLarge(f"{path!r} is over {most} bytes", field="path", max=most)
            return file.read(), FileStamp.of(found)


def stat_file(root: Path, path: str) -> FileStamp | None:
    """The stamp of a regular file, or None where there is none."""
    found = stat_entry(root, path)
    return FileStamp.of(found) if found is not None and stat.S_ISREG(found.st_mode) else None


def stat_entry(root: Path, path: str) -> os.stat_result | None:
    """Whatever is there, links not followed; None where there is nothing."""
    try:
        with _parent(root, path) as (folder, leaf), _translated_errors(path):
            return os.lstat(leaf, dir_fd=folder)
    except NotFound:
        return None


def exists(root: Path, path: str) -> bool:
    """Whether anything exists there, dangling links included."""
    try:
        with _parent(root, path) as (folder, leaf), _translated_errors(path):
            os.lstat(leaf, dir_fd=folder)
    except NotFound:
        return False
    return True


def write(root: Path, path: str, body: bytes) -> FileStamp:
    """Write the file, whatever was there; durable (fsync) when this returns. For our own files:
    those of others are replaced by `replace`."""
    with _parent(root, path, make=True) as (folder, leaf), _translated_errors(path):
        with _prepared(folder, leaf, path, body) as (temporary, made):
            os.replace(temporary, leaf, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
        return made


def replace(root: Path, path: str, body: bytes, known: bytes | None) -> FileStamp:
    """Replace the file if it has exactly the known bytes (compare and swap); None: create it.

    Collision if somebody wrote it meanwhile or has it open for writing; then their file stays. The
    old file is checked after it was swapped out. Killed before that check, it stays under its
    temporary name, and recovery looks at it (`displacement.py`).
    """
    with _parent(root, path, make=True) as (folder, leaf), _translated_errors(path):
        with _prepared(folder, leaf, path, body) as (temporary, made):
            if known is None:
                _rename_new((folder, temporary), (folder, leaf), path)
            else:
                _swap_known(folder, (temporary, leaf), path, known)
        os.fsync(folder)
        return made


def replace_many(
    root: Path, files: Sequence[tuple[str, bytes, bytes | None]]
) -> dict[str, FileStamp]:
    """`replace` for many files, by path: they are synced together, before any is swapped."""
    if len(files) <= MAX_SINGLE_SYNCS or not posix.HAS_SYNCFS:
        return {path: replace(root, path, body, known) for path, body, known in files}
    made: dict[str, FileStamp] = {}
    temporaries: dict[str, str] = {}
    try:
        for path, body, _ in files:
            with _parent(root, path, make=True) as (folder, leaf), _translated_errors(path):
                temporaries[path], made[path] = _write_temporary(
                    folder, leaf, path, body, is_synced=False
                )
        _sync_all(root)
        for path, _, known in files:
            with _parent(root, path) as (folder, leaf), _translated_errors(path):
                if known is None:
                    _rename_new((folder, temporaries[path]), (folder, leaf), path)
                else:
                    _swap_known(folder, (temporaries[path], leaf), path, known)
                    _unlink(folder, temporaries[path])
            del temporaries[path]
        _sync_all(root)
    finally:
        for path, name in temporaries.items():
            _discard(root, path, name)
    return made


@dataclass(frozen=True, slots=True)
class FileSnapshot:
    """A file at one moment, as far as the system can tell.

    `is_open`: somebody has it open for writing; None where the system cannot tell.
    """

    body: bytes
    inode: str
    changed_at: float
    """When it got this name and content, in seconds."""
    is_open: bool | None


def read_snapshot(root: Path, path: str, most: int = MAX_FILE_BYTES) -> FileSnapshot | None:
    """The file, read under a lease against writers where possible; None where there is none."""
    try:
        with _parent(root, path) as (folder, leaf), _translated_errors(path):
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with os.fdopen(os.open(leaf, flags, dir_fd=folder), "rb") as file:
                return _snapshot(file, path, most)
    except NotFound:
        return None


def create(root: Path, path: str, body: bytes, mode: int | None) -> str:
    """Create a file, durable when this returns; returns its inode."""
    with _parent(root, path, make=True) as (folder, leaf), _translated_errors(path):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(leaf, flags, 0o666, dir_fd=folder), "wb") as file:
            file.write(body)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
            inode = str(os.fstat(file.fileno()).st_ino)
        os.fsync(folder)
        return inode


def mode_of(root: Path, path: str) -> int | None:
    """The permissions of a regular file; None where there is none."""
    with _parent(root, path, make=True) as (folder, leaf), _translated_errors(path):
        return _mode_to_keep(folder, leaf, path)


def inode_of(root: Path, path: str) -> str | None:
    found = stat_file(root, path)
    return None if found is None else str(found.inode)


def swap(kept: tuple[Path, str], shown: tuple[Path, str]) -> None:
    """Exchange the file at `kept` with the one at `shown`. NotFound if nothing is at `shown`.

    Atomic where the file system supports it. Otherwise the shown file is linked aside first, and
    one that is put in its place between the two steps is lost; without links, or across file
    systems, so is what is written into it.
    """
    with (
        _parent(*kept) as (from_folder, from_leaf),
        _parent(*shown) as (to_folder, to_leaf),
        _translated_errors(shown[1]),
    ):
        _mode_to_keep(to_folder, to_leaf, shown[1])
        os.lstat(to_leaf, dir_fd=to_folder)
        try:
            _exchange(from_folder, from_leaf, to_folder, to_leaf)
        except OSError as error:
            if error.errno != EXDEV:
                raise
            write(*shown, read(*kept))
            os.unlink(from_leaf, dir_fd=from_folder)
        os.fsync(to_folder)
        os.fsync(from_folder)


def finish_swap(root: Path, path: str) -> None:
    """Complete a swap by links that was interrupted after its second step."""
    aside = path + ASIDE_SUFFIX
    if not exists(root, path) and exists(root, aside):
        move(root, aside, path)


def list_names(root: Path, folder: str) -> list[str]:
    """The names in a folder; empty where there is none."""
    try:
        with (
            _parent(root, f"{folder}/x") as (held, _),
            _translated_errors(folder),
            os.scandir(held) as found,
        ):
            return [it.name for it in found]
    except NotFound:
        return []


def remove(root: Path, path: str, *, is_synced: bool = True) -> None:
    """Remove the file. A link is removed itself, not its target."""
    with _parent(root, path) as (folder, leaf), _translated_errors(path):
        os.unlink(leaf, dir_fd=folder)
        if is_synced:
            os.fsync(folder)


def remove_known(root: Path, path: str, known: bytes) -> None:
    """Remove the file if it has exactly these bytes. Collision as with `replace`."""
    with _parent(root, path) as (folder, leaf), _translated_errors(path):
        aside = _temporary_name(leaf)
        os.rename(leaf, aside, src_dir_fd=folder, dst_dir_fd=folder)
        try:
            _require_known(folder, aside, path, known)
        except BaseException:
            # A file created under the name meanwhile is newer, and stays.
            with suppress(Collision):
                _rename_new((folder, aside), (folder, leaf), path)
            raise
        os.unlink(aside, dir_fd=folder)
        os.fsync(folder)


def move(root: Path, path: str, to: str) -> None:
    """Move a file or folder to a path that is free."""
    with (
        _parent(root, path) as (folder, leaf),
        _parent(root, to, make=True) as (into, name),
        _translated_errors(path),
    ):
        taken = Conflict(f"{to!r} exists already", path=to)
        if _entry_exists(into, name):
            raise taken
        if stat.S_ISLNK(os.lstat(leaf, dir_fd=folder).st_mode):
            raise InvalidInput(f"{path!r} is a symbolic link", field="path")
        try:
            _rename_new((folder, leaf), (into, name), to)
        except Collision:
            raise taken from None
        os.fsync(into)
        os.fsync(folder)


def prune(root: Path, folder: str) -> None:
    """Remove empty folders, from this one upwards, but never the root."""
    while folder:
        try:
            with _parent(root, folder) as (parent, leaf):
                os.rmdir(leaf, dir_fd=parent)
        except (OSError, NotFound, InvalidInput, Unavailable):
            return
        folder = folder.rpartition("/")[0]


def list_below(root: Path, folder: str) -> list[str]:
    """Every file below a folder, by its relative path; links are not followed."""
    with _translated_errors(folder, root=root), open_folder(root, folder) as held:
        found: list[str] = []
        for place, _, files, _ in os.fwalk(".", dir_fd=held):
            lead = place.removeprefix(".").removeprefix("/")
            found += [f"{lead}/{it}" if lead else it for it in files]
        return sorted(found)


@contextmanager
def open_folder(root: Path, folder: str) -> Generator[int]:
    """A folder below the root, or the root itself, opened for listing."""
    held = _open_folders(root, folder.split("/") if folder else (), make=False)
    try:
        yield held
    finally:
        os.close(held)


def is_folder(root: Path, path: str) -> bool:
    """Whether it is a folder, not a link to one."""
    try:
        with _parent(root, path) as (folder, leaf), _translated_errors(path):
            return stat.S_ISDIR(os.lstat(leaf, dir_fd=folder).st_mode)
    except NotFound:
        return False


def _snapshot(file: BufferedReader, path: str, most: int) -> FileSnapshot:
    with posix.lease(file.fileno()) as is_alone:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise InvalidInput(f"{path!r} is not a regular file", field="path")
        if before.st_size > most:
            raise PayloadTooLarge(f"{path!r} is over {most} bytes", field="path", max=most)
        body = file.read()
        after = os.fstat(file.fileno())
        is_alone = is_alone and not posix.is_awaited(file.fileno())
    is_open = None if is_alone is None else not is_alone
    if is_alone is None and (before.st_mtime_ns, before.st_size) != (
        after.st_mtime_ns,
        after.st_size,
    ):
        is_open = True
    return FileSnapshot(body, str(after.st_ino), after.st_ctime_ns / 1e9, is_open)


@contextmanager
def _prepared(folder: int, leaf: str, path: str, body: bytes) -> Generator[tuple[str, FileStamp]]:
    """A temporary file beside the target: its name and stamp. Removed afterwards."""
    temporary, made = _write_temporary(folder, leaf, path, body, is_synced=True)
    try:
        yield temporary, made
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)


def _write_temporary(
    folder: int, leaf: str, path: str, body: bytes, *, is_synced: bool
) -> tuple[str, FileStamp]:
    mode = _mode_to_keep(folder, leaf, path)
    temporary = _temporary_name(leaf)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(temporary, flags, 0o666, dir_fd=folder), "wb") as file:
            file.write(body)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            if is_synced:
                os.fsync(file.fileno())
            return temporary, FileStamp.of(os.fstat(file.fileno()))
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        raise


def _discard(root: Path, path: str, name: str) -> None:
    with suppress(NotFound), _parent(root, path) as (folder, _):
        _unlink(folder, name)


def _unlink(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _sync_all(root: Path) -> None:
    with open_folder(root, "") as held:
        posix.sync_file_system(held)


def temporary_lead(path: str) -> str:
    """How the temporary names of a file begin."""
    return f".{sha256(path.rpartition('/')[2].encode()).hexdigest()[:8]}"


def _temporary_name(leaf: str) -> str:
    return f"{temporary_lead(leaf)}{secrets.token_hex(4)}{TEMPORARY_SUFFIX}"


def _swap_known(folder: int, names: tuple[str, str], path: str, known: bytes) -> None:
    """Swap the second name's file out, and back if it is not as known."""
    temporary, leaf = names
    try:
        # Catches most concurrent writers before they could notice us.
        _require_known(folder, leaf, path, known)
        _exchange(folder, temporary, folder, leaf)
    except (FileNotFoundError, NotFound):
        raise _collision(path) from None
    try:
        _require_known(folder, temporary, path, known)
    except NotFound:
        # Swapped where the file system has neither exchange nor links: nothing left to check.
        return
    except BaseException:
        _exchange(folder, temporary, folder, leaf)
        raise


def _require_known(folder: int, leaf: str, path: str, known: bytes) -> None:
    """Collision unless the file has these bytes, and nobody has it open for writing."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with _translated_errors(path), os.fdopen(os.open(leaf, flags, dir_fd=folder), "rb") as file:
        found = _snapshot(file, path, MAX_FILE_BYTES)
    if found.body != known or found.is_open:
        raise _collision(path)


def _collision(path: str) -> Collision:
    return Collision(
        f"another program writes or has just written {path!r}; read it again",
        path=path,
    )


def _rename_new(from_: tuple[int, str], to: tuple[int, str], path: str) -> None:
    """Collision where the target exists. Without an exclusive rename, checked beforehand."""
    try:
        posix.rename_new(*from_, *to)
    except FileExistsError:
        raise _collision(path) from None
    except OSError as error:
        if error.errno not in posix.NOT_SUPPORTED:
            raise
        if _entry_exists(*to):
            raise _collision(path) from None
        os.rename(from_[1], to[1], src_dir_fd=from_[0], dst_dir_fd=to[0])


def _exchange(from_folder: int, from_leaf: str, to_folder: int, to_leaf: str) -> None:
    """Atomic where the file system supports it, else by a link."""
    try:
        posix.exchange(from_folder, from_leaf, to_folder, to_leaf)
    except OSError as error:
        if error.errno not in posix.NOT_SUPPORTED:
            raise
        _swap_by_link(from_folder, from_leaf, to_folder, to_leaf)


def _swap_by_link(from_folder: int, from_leaf: str, to_folder: int, to_leaf: str) -> None:
    aside = from_leaf + ASIDE_SUFFIX
    with suppress(FileNotFoundError):
        os.unlink(aside, dir_fd=from_folder)
    is_linked = True
    try:
        os.link(to_leaf, aside, src_dir_fd=to_folder, dst_dir_fd=from_folder, follow_symlinks=False)
    except OSError as error:
        if error.errno == EEXIST:
            raise
        is_linked = False
    os.replace(from_leaf, to_leaf, src_dir_fd=from_folder, dst_dir_fd=to_folder)
    if is_linked:
        os.rename(aside, from_leaf, src_dir_fd=from_folder, dst_dir_fd=from_folder)


def _mode_to_keep(folder: int, leaf: str, path: str) -> int | None:
    try:
        found = os.lstat(leaf, dir_fd=folder)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise InvalidInput(f"{path!r} is not a regular file", field="path")
    return stat.S_IMODE(found.st_mode)


def _entry_exists(folder: int, leaf: str) -> bool:
    try:
        os.lstat(leaf, dir_fd=folder)
    except FileNotFoundError:
        return False
    return True


@contextmanager
def _parent(root: Path, path: str, *, make: bool = False) -> Generator[tuple[int, str]]:
    """The parent folder of a path, opened, and the last component."""
    *folders, leaf = path.split("/")
    if any(it in ("", ".", "..") for it in (*folders, leaf)) or "\0" in path:
        raise InvalidInput(f"{path!r} is not a plain relative path", field="path")
    with _translated_errors(path, root=root):
        held = _open_folders(root, folders, make=make)
    try:
        yield held, leaf
    finally:
        os.close(held)


def _open_folders(root: Path, folders: Sequence[str], *, make: bool) -> int:
    quick = posix.open_folder("/".join((str(root.absolute()), *folders)))
    if quick is not None:
        return quick
    # Step by step, where the system has no such call, and to say what is wrong.
    held = _open_root(root)
    try:
        for part in folders:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=held)
                    os.fsync(held)
            held = _open_child(held, part, os.O_RDONLY | _FOLDER)
    except BaseException:
        os.close(held)
        raise
    return held


def _open_root(root: Path) -> int:
    """The root, opened without following any link."""
    _, *above = root.absolute().parts
    held = os.open("/", _PASS if above else os.O_RDONLY | _FOLDER)
    try:
        for at, part in enumerate(above, 1):
            held = _open_child(held, part, _PASS if at < len(above) else os.O_RDONLY | _FOLDER)
    except OSError as error:
        os.close(held)
        if error.errno in (ELOOP, ENOTDIR):
            raise Unavailable(
                "the folder of this space, or one on the way to it, is a symbolic link or a file "
                "now",
                retryable=False,
                hint="An administrator adds the folder that it leads to: pecia space add FOLDER.",
            ) from None
        raise
    return held


def _open_child(held: int, part: str, flags: int) -> int:
    """Open a subfolder. Closes `held` on success only."""
    inner = os.open(part, flags, dir_fd=held)
    os.close(held)
    return inner


@contextmanager
def _translated_errors(path: str, root: Path | None = None) -> Generator[None]:
    """Translates OSError to our errors, with the path."""
    try:
        yield
    except FileNotFoundError:
        if root is not None and not root.is_dir():
            raise Unavailable("the folder of this space does not exist") from None
        raise NotFound(f"no file {path!r}", path=path) from None
    except IsADirectoryError:
        raise InvalidInput(f"{path!r} is a folder", field="path") from None
    except OSError as error:
        if error.errno in (ELOOP, ENOTDIR):
            raise InvalidInput(f"{path!r} goes through a link or a file", field="path") from None
        if error.errno in (28, 122):
            raise StorageFull("the disk of this space is full") from error
        raise Unavailable(f"{path!r}: {(error.strerror or 'unreadable').lower()}") from error
