"""A space as it lies on the disk now: its documents and its other files. Blocking; reads no text.

Links are passed by. Which files count is said by the ignore files on the way.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pecia.kernel.errors import PeciaError, Unavailable
from pecia.rooms.wiki import disk
from pecia.rooms.wiki.disk import TEMPORARY, Stamp
from pecia.rooms.wiki.ignore import FILES, Ignored
from pecia.rooms.wiki.names import EXTENSIONS, split_extension, why_not

MOST_IGNORE_BYTES = 1_000_000


@dataclass(slots=True)
class Scan:
    """Paths from the root. `documents` are by name; `others` are files that are none."""

    documents: dict[str, str] = field(default_factory=dict[str, str])
    stamps: dict[str, Stamp] = field(default_factory=dict[str, Stamp])
    others: list[str] = field(default_factory=list[str])
    refused: dict[str, str] = field(default_factory=dict[str, str])
    ignored: Ignored = field(default_factory=Ignored)
    """What the files at the top leave out."""


def scan(root: Path) -> Scan:
    """The whole folder; Unavailable where there is none."""
    found = Scan()
    waiting = [("", Ignored())]
    while waiting:
        waiting.extend(_enter(root, *waiting.pop(), found))
    found.others.sort()
    return found


def ignored_at(root: Path, path: str) -> Ignored:
    """What is left out as the ignore files above this path say."""
    ignored, folder = _adding(root, "", Ignored()), ""
    for part in path.split("/")[:-1]:
        folder = f"{folder}/{part}" if folder else part
        ignored = _adding(root, folder, ignored)
    return ignored


def _enter(root: Path, folder: str, above: Ignored, found: Scan) -> Iterator[tuple[str, Ignored]]:
    try:
        # Held until its entries were looked at: their states are asked for by this descriptor.
        with disk.opened_folder(root, folder) as held:
            with os.scandir(held) as entries:
                children = sorted(entries, key=lambda it: it.name)
            yield from _entered(root, folder, above, children, found)
    except OSError as error:
        if not folder:
            raise Unavailable("the folder of this space cannot be read") from error
        found.refused[folder] = (error.strerror or "unreadable").lower()


def _entered(
    root: Path,
    folder: str,
    above: Ignored,
    children: "list[os.DirEntry[str]]",
    found: Scan,
) -> Iterator[tuple[str, Ignored]]:
    ignored = above
    if any(it.name in FILES for it in children):
        ignored = _adding(root, folder, above)
    if not folder:
        found.ignored = ignored
    for child in children:
        path = f"{folder}/{child.name}" if folder else child.name
        if not is_text(child.name):
            found.refused[ascii(path)] = "the name is not UTF-8"
        elif _counts(path, child, ignored):
            if child.is_dir(follow_symlinks=False):
                yield path, ignored
            else:
                _file(path, child, found)


def _counts(path: str, child: "os.DirEntry[str]", ignored: Ignored) -> bool:
    if child.is_symlink() or child.name.endswith(TEMPORARY):
        return False
    return not ignored.covers(path, is_folder=child.is_dir(follow_symlinks=False))


def _file(path: str, child: "os.DirEntry[str]", found: Scan) -> None:
    try:
        state = child.stat(follow_symlinks=False)
    except OSError as error:
        found.refused[path] = (error.strerror or "unreadable").lower()
        return
    if not stat.S_ISREG(state.st_mode):
        return
    name, extension = split_extension(path)
    if extension.lower() not in EXTENSIONS:
        found.others.append(path)
        found.stamps[path] = Stamp.of(state)
        return
    if why := why_not(name):
        found.refused[path] = why
        return
    other = found.documents.get(name)
    # In the order of names `.md` comes before `.mdx`, which is the stronger one.
    if other is not None:
        found.others.append(other)
    found.documents[name] = path
    found.stamps[path] = Stamp.of(state)


def _adding(root: Path, folder: str, above: Ignored) -> Ignored:
    for name in FILES:
        path = f"{folder}/{name}" if folder else name
        with suppress(PeciaError):
            text = disk.read(root, path, MOST_IGNORE_BYTES).decode(errors="replace")
            above = above.adding(text, folder)
    return above


def is_text(name: str) -> bool:
    # A name that is not UTF-8 comes as lone surrogates, which no database and no client can take.
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
