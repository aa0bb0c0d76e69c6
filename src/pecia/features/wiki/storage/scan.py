"""Scans a space on disk: its documents and other files. Blocking; reads no text.

Links are skipped. Ignore files along the path decide which files count.
"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TypeAlias

from pecia.features.wiki.core.ignore import IGNORE_FILES, IgnoreRules
from pecia.features.wiki.core.names import EXTENSIONS, find_path_problem, split_extension
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.disk import TEMPORARY_SUFFIX, FileStamp
from pecia.kernel.errors import PeciaError, Unavailable
from pecia.kernel.layered_dict import LayeredDict

MAX_IGNORE_BYTES = 1_000_000

OnFolder: TypeAlias = Callable[[str, int], None]
"""Called with a folder and its descriptor before it is listed."""


@dataclass(slots=True)
class SpaceScan:
    """Paths from the root. `documents` are by name; `other_files` are all other files."""

    documents: LayeredDict[str, str] = field(default_factory=LayeredDict[str, str])
    stamps: LayeredDict[str, FileStamp] = field(default_factory=LayeredDict[str, FileStamp])
    other_files: LayeredDict[str, FileStamp] = field(default_factory=LayeredDict[str, FileStamp])
    refused: dict[str, str] = field(default_factory=dict[str, str])
    ignored: IgnoreRules = field(default_factory=IgnoreRules)
    """Rules of the ignore files at the top."""
    rules: LayeredDict[str, IgnoreRules] = field(default_factory=LayeredDict[str, IgnoreRules])
    """The rules that hold in each folder."""
    linked: set[str] = field(default_factory=set[str])
    """Files with several names."""

    def copy(self) -> "SpaceScan":
        """As cheap as few changes are, however many files there are."""
        return SpaceScan(
            self.documents.copy(),
            self.stamps.copy(),
            self.other_files.copy(),
            dict(self.refused),
            self.ignored,
            self.rules.copy(),
            {*self.linked},
        )

    def is_document(self, path: str) -> bool:
        return self.documents.get(split_extension(path)[0]) == path

    def refuse_name(self, path: str, *, is_there: bool) -> None:
        """A name that is not UTF-8 is named with escapes."""
        shown = ascii(path)[1:-1]
        if is_there:
            self.refused[shown] = "the name is not UTF-8"
        else:
            self.refused.pop(shown, None)

    def remove(self, path: str) -> None:
        """Forget a file."""
        self.stamps.pop(path, None)
        self.refused.pop(path, None)
        self.linked.discard(path)
        name = split_extension(path)[0]
        if self.documents.get(name) == path:
            del self.documents[name]
        else:
            self.other_files.pop(path, None)

    def twins(self, path: str) -> list[str]:
        """Other files of the same document name."""
        name, extension = split_extension(path)
        if not extension:
            return []
        spellings = (name + "".join(it) for end in EXTENSIONS for it in _cases(end))
        return [it for it in spellings if it != path and it in self.stamps]


def scan_space(root: Path, on_folder: OnFolder | None = None) -> SpaceScan:
    """Scan the whole folder; Unavailable where there is none."""
    found = SpaceScan()
    scan_subfolder(root, "", IgnoreRules(), found, on_folder)
    return found.copy()


def scan_subfolder(
    root: Path, folder: str, above: IgnoreRules, found: SpaceScan, on_folder: OnFolder | None
) -> None:
    """Add a folder and everything below it to a scan. `above` are the rules outside it."""
    waiting = [(folder, above)]
    while waiting:
        waiting.extend(_scan_folder(root, *waiting.pop(), found, on_folder))


def is_included(path: str, rules: IgnoreRules, *, is_folder: bool) -> bool:
    """Whether an entry that is no link counts, given that its folder does."""
    return not path.endswith(TEMPORARY_SUFFIX) and not rules.is_ignored(path, is_folder=is_folder)


def load_ignore_rules(root: Path, path: str) -> IgnoreRules:
    """The rules of all ignore files above this path."""
    ignored, folder = _with_folder_rules(root, "", IgnoreRules()), ""
    for part in path.split("/")[:-1]:
        folder = f"{folder}/{part}" if folder else part
        ignored = _with_folder_rules(root, folder, ignored)
    return ignored


def _scan_folder(
    root: Path,
    folder: str,
    above: IgnoreRules,
    found: SpaceScan,
    on_folder: OnFolder | None,
) -> Iterator[tuple[str, IgnoreRules]]:
    try:
        # Kept open until its entries were scanned: they are stat'ed relative to it.
        with disk.open_folder(root, folder) as held:
            if on_folder is not None:
                on_folder(folder, held)
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
    found.rules[folder] = ignored
    if not folder:
        found.ignored = ignored
    for child in children:
        path = f"{folder}/{child.name}" if folder else child.name
        if not is_text(child.name):
            found.refuse_name(path, is_there=True)
        elif not child.is_symlink():
            is_folder = child.is_dir(follow_symlinks=False)
            if not is_included(path, ignored, is_folder=is_folder):
                continue
            if is_folder:
                yield path, ignored
            else:
                _add_file(path, child, found)


def _add_file(path: str, child: "os.DirEntry[str]", found: SpaceScan) -> None:
    try:
        state = child.stat(follow_symlinks=False)
    except OSError as error:
        found.refused[path] = (error.strerror or "unreadable").lower()
        return
    if stat.S_ISREG(state.st_mode):
        classify_file(path, state, found)


def classify_file(path: str, state: os.stat_result, found: SpaceScan) -> None:
    """Add a regular file to a scan. Of files of one name, in the order of their paths."""
    name, extension = split_extension(path)
    stamp = FileStamp.of(state)
    if extension.lower() not in EXTENSIONS:
        found.other_files[path] = stamp
    elif why := find_path_problem(name):
        found.refused[path] = why
        return
    else:
        other = found.documents.get(name)
        # In name order `.md` comes before `.mdx`, which takes precedence.
        if other is not None:
            found.other_files[other] = found.stamps[other]
        found.documents[name] = path
    found.stamps[path] = stamp
    if state.st_nlink > 1:
        found.linked.add(path)


def _with_folder_rules(root: Path, folder: str, above: IgnoreRules) -> IgnoreRules:
    for name in IGNORE_FILES:
        path = f"{folder}/{name}" if folder else name
        with suppress(PeciaError):
            text = disk.read(root, path, MAX_IGNORE_BYTES).decode(errors="replace")
            above = above.with_file(text, folder)
    return above


def _cases(extension: str) -> Iterator[tuple[str, ...]]:
    return product(*((it, it.upper()) if it != "." else (it,) for it in extension))


def is_text(name: str) -> bool:
    # A name that is not UTF-8 has lone surrogates, which no database and no client accepts.
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
