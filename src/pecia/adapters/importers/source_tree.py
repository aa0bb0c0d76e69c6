"""The files of an export: a folder, a zip archive, or one file. Bounded, and never outside of it.

An archive is never unpacked: entries are read when they are needed, up to a size, whatever the
archive says of itself.
"""

import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from pecia.kernel.errors import InvalidFormat, InvalidInput, NotFound, PayloadTooLarge

MAX_FILES = 200_000
MAX_FILE_BYTES = 20_000_000
"""Of a note or an attachment: what a space takes."""
MAX_EXPORT_BYTES = 500_000_000
"""Of a file that holds many notes, and of all archives inside an archive together."""
MAX_DEPTH = 40
MAX_NESTED_ARCHIVES = 50


class UnusableFile(Exception):
    """A file of an export that cannot be used; the message is the reason."""


@dataclass(slots=True)
class SourceTree:
    """Files by their paths, with `/` between the parts. `refused` are those that cannot be used."""

    label: str
    """What the export is called: the name of its file or folder, without an extension."""
    readers: dict[str, Callable[[int], bytes]] = field(
        default_factory=dict[str, Callable[[int], bytes]]
    )
    refused: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def paths(self) -> list[str]:
        return sorted(self.readers)

    def read(self, path: str, most: int = MAX_FILE_BYTES) -> bytes:
        """The bytes; UnusableFile where there are more, or they are damaged."""
        try:
            body = self.readers[path](most)
        except (OSError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
            # RuntimeError: an entry with a password. NotImplementedError is one of them.
            raise UnusableFile(f"it cannot be read: {error}") from None
        if len(body) > most:
            raise UnusableFile(f"it is over {most} bytes")
        return body

    def read_text(self, path: str, most: int = MAX_FILE_BYTES) -> str:
        return self.read(path, most).decode("utf-8-sig", errors="replace")

    def loader(self, path: str) -> Callable[[], bytes]:
        return lambda: self.read(path)


@dataclass(slots=True)
class _NestedBudget:
    archives: int = MAX_NESTED_ARCHIVES
    bytes_left: int = MAX_EXPORT_BYTES


def open_tree(path: Path, nested: tuple[str, ...] = ()) -> SourceTree:
    """The export at a path. Blocking. Files with the endings `nested` are archives with more."""
    if path.is_dir():
        return _open_folder(path, nested)
    if not path.is_file():
        raise NotFound(f"there is no file or folder {path}", field="path")
    if path.suffix.lower() != ".one" and zipfile.is_zipfile(path):
        return _open_archive(path, nested)
    tree = SourceTree(path.stem)
    tree.readers[path.name] = lambda most: _read_file(path, most)
    return tree


def check_path(path: str) -> str:
    """What is wrong with a path in an export, or nothing."""
    parts = path.split("/")
    if path.startswith("/") or "\\" in path or (len(path) > 1 and path[1] == ":"):
        return "its path is not relative"
    if any(it in ("", ".", "..") for it in parts):
        return "its path leads elsewhere"
    if len(parts) > MAX_DEPTH or len(path) > 2000:
        return "its path is too long"
    return "its path has control characters" if any(ord(it) < 32 for it in path) else ""


def _open_folder(folder: Path, nested: tuple[str, ...]) -> SourceTree:
    tree = SourceTree(folder.resolve().name)
    budget = _NestedBudget()
    for place, folders, names in os.walk(folder):
        folders.sort()
        links = [it for it in folders if (Path(place) / it).is_symlink()]
        for name in sorted([*names, *links]):
            path = Path(place) / name
            key = path.relative_to(folder).as_posix()
            try:
                key.encode()
                mode = path.lstat().st_mode
            except (OSError, UnicodeEncodeError):
                tree.refused[ascii(key)] = "its name is not UTF-8, or it cannot be read"
                continue
            if stat.S_ISLNK(mode):
                tree.refused[key] = "it is a symbolic link"
            elif stat.S_ISREG(mode) and nested and key.lower().endswith(nested):
                _add_nested(tree, key, lambda most, path=path: _read_file(path, most), budget)
            elif stat.S_ISREG(mode):
                _add(tree, key, lambda most, path=path: _read_file(path, most))
    return tree


def _open_archive(path: Path, nested: tuple[str, ...]) -> SourceTree:
    tree = SourceTree(path.stem)
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}", field="path") from None
    _add_archive(tree, "", archive, nested, _NestedBudget())
    return tree


def _add_archive(
    tree: SourceTree,
    lead: str,
    archive: zipfile.ZipFile,
    nested: tuple[str, ...],
    budget: _NestedBudget,
) -> None:
    for entry in archive.infolist():
        if entry.is_dir():
            continue
        key = lead + _entry_name(entry)
        if problem := check_path(key):
            tree.refused[key] = problem
        elif stat.S_ISLNK(entry.external_attr >> 16):
            tree.refused[key] = "it is a symbolic link"
        elif nested and not lead and key.lower().endswith(nested):
            read = _entry_reader(archive, entry)
            _add_nested(tree, key, read, budget)
        else:
            _add(tree, key, _entry_reader(archive, entry))


def _add_nested(
    tree: SourceTree, key: str, read: Callable[[int], bytes], budget: _NestedBudget
) -> None:
    try:
        if budget.archives <= 0:
            raise UnusableFile(f"there are over {MAX_NESTED_ARCHIVES} archives in it")
        body = read(budget.bytes_left)
        if len(body) > budget.bytes_left:
            raise UnusableFile(f"the archives in it have over {MAX_EXPORT_BYTES} bytes")
        budget.archives -= 1
        budget.bytes_left -= len(body)
        inner = zipfile.ZipFile(BytesIO(body))
    except (UnusableFile, OSError, zipfile.BadZipFile, zlib.error, RuntimeError) as error:
        tree.refused[key] = f"it cannot be read: {error}"
        return
    _add_archive(tree, f"{key}/", inner, (), budget)


def _add(tree: SourceTree, key: str, read: Callable[[int], bytes]) -> None:
    if len(tree.readers) >= MAX_FILES:
        raise PayloadTooLarge(
            f"an export has at most {MAX_FILES} files",
            field="path",
            max=MAX_FILES,
            hint="import it in parts, folder by folder",
        )
    if key in tree.readers:
        tree.refused[key] = "the archive has two files of this name; the first counts"
        return
    tree.readers[key] = read


def _read_file(path: Path, most: int) -> bytes:
    held = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(held, "rb") as file:
        return file.read(most + 1)


def _entry_name(entry: zipfile.ZipInfo) -> str:
    """Its name. Many programs write UTF-8 and do not say so."""
    if entry.flag_bits & 0x800:
        return entry.filename
    try:
        return entry.filename.encode("cp437").decode()
    except UnicodeError:
        return entry.filename


def _entry_reader(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Callable[[int], bytes]:
    def read(most: int) -> bytes:
        # Never more than this is inflated, whatever size the archive names.
        with archive.open(entry) as file:
            return file.read(most + 1)

    return read


def require_some(found: Mapping[str, object], path: str, expected: str) -> None:
    """Refuse an export in which there is nothing of its kind."""
    if not found:
        raise InvalidFormat(f"{path} has nothing to import", field="path", expected=expected)
