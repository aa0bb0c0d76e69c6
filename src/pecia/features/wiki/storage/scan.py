"""Scans a space on disk: its documents and other files. Blocking; reads no text.

Links are skipped. Ignore files along the path decide which files count.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pecia.features.wiki.core.ignore import IGNORE_FILES, IgnoreRules
from pecia.features.wiki.core.names import EXTENSIONS, find_path_problem, split_extension
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.disk import TEMPORARY_SUFFIX, FileStamp
from pecia.kernel.errors import PeciaError, Unavailable

MAX_IGNORE_BYTES = 1_000_000


@dataclass(slots=True)
class SpaceScan:
    """Paths from the root. `documents` are by name; `others` are all other files."""

    documents: dict[str, str] = field(default_factory=dict[str, str])
    stamps: dict[str, FileStamp] = field(default_factory=dict[str, FileStamp])
    other_files: list[str] = field(default_factory=list[str])
    refused: dict[str, str] = field(default_factory=dict[str, str])
    ignored: IgnoreRules = field(default_factory=IgnoreRules)
    """Rules of the ignore files at the top."""


def scan_space(root: Path) -> SpaceScan:
    """Scan the whole folder; Unavailable where there is none."""
    found = SpaceScan()
    waiting = [("", IgnoreRules())]
    while waiting:
        waiting.extend(_scan_folder(root, *waiting.pop(), found))
    found.other_files.sort()
    return found


def load_ignore_rules(root: Path, path: str) -> IgnoreRules:
    """The rules of all ignore files above this path."""
    ignored, folder = _with_folder_rules(root, "", IgnoreRules()), ""
    for part in path.split("/")[:-1]:
        folder = f"{folder}/{part}" if folder else part
        ignored = _with_folder_rules(root, folder, ignored)
    return ignored


def _scan_folder(
    root: Path, folder: str, above: IgnoreRules, found: SpaceScan
) -> Iterator[tuple[str, IgnoreRules]]:
    try:
        # Kept open until its entries were scanned: they are stat'ed relative to it.
        with disk.open_folder(root, folder) as held:
            with os.scandir(held) as entries:
                children = sorted(entries, key=lambda it: it.name)
            yield from _scan_entries(root, folder, above, children, found)
    except OSError as error:
        if not folder:
            raise Unavailable("the folder of this space cannot be read") from error
        found.refused[folder] = (error.strerror or "unreadable").lower()


def _scan_entries(
    root: Path,
    folder: str,
    above: IgnoreRules,
    children: "list[os.DirEntry[str]]",
    found: SpaceScan,
) -> Iterator[tuple[str, IgnoreRules]]:
    ignored = above
    if any(it.name in IGNORE_FILES for it in children):
        ignored = _with_folder_rules(root, folder, above)
    if not folder:
        found.ignored = ignored
    for child in children:
        path = f"{folder}/{child.name}" if folder else child.name
        if not is_text(child.name):
            found.refused[ascii(path)] = "the name is not UTF-8"
        elif _is_included(path, child, ignored):
            if child.is_dir(follow_symlinks=False):
                yield path, ignored
            else:
                _add_file(path, child, found)


def _is_included(path: str, child: "os.DirEntry[str]", ignored: IgnoreRules) -> bool:
    if child.is_symlink() or child.name.endswith(TEMPORARY_SUFFIX):
        return False
    return not ignored.is_ignored(path, is_folder=child.is_dir(follow_symlinks=False))


def _add_file(path: str, child: "os.DirEntry[str]", found: SpaceScan) -> None:
    try:
        state = child.stat(follow_symlinks=False)
    except OSError as error:
        found.refused[path] = (error.strerror or "unreadable").lower()
        return
    if not stat.S_ISREG(state.st_mode):
        return
    name, extension = split_extension(path)
    if extension.lower() not in EXTENSIONS:
        found.other_files.append(path)
        found.stamps[path] = FileStamp.of(state)
        return
    if why := find_path_problem(name):
        found.refused[path] = why
        return
    other = found.documents.get(name)
    # In name order `.md` comes before `.mdx`, which takes precedence.
    if other is not None:
        found.other_files.append(other)
    found.documents[name] = path
    found.stamps[path] = FileStamp.of(state)


def _with_folder_rules(root: Path, folder: str, above: IgnoreRules) -> IgnoreRules:
    for name in IGNORE_FILES:
        path = f"{folder}/{name}" if folder else name
        with suppress(PeciaError):
            text = disk.read(root, path, MAX_IGNORE_BYTES).decode(errors="replace")
            above = above.with_file(text, folder)
    return above


def is_text(name: str) -> bool:
    # A name that is not UTF-8 has lone surrogates, which no database and no client accepts.
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
