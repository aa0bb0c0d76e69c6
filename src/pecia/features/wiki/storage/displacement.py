"""What a killed write left under temporary names. Blocking.

`disk.replace` swaps our file in and then looks at the one that it swapped out; `disk.remove_known`
renames the file away and looks at it. A program may have written it just before: then ours is taken
back. Killed in between, nobody looks, and what the program wrote is found here.
"""

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.journal import digest
from pecia.kernel.errors import InvalidInput, PayloadTooLarge
from pecia.kernel.text.links.name_index import folder_of


@dataclass(frozen=True, slots=True)
class TemporaryFiles:
    """Those that a write begun at `since_s` may have left. A file is given by its paths before the
    moves of the write and after: they may be undone by now."""

    root: Path
    since_s: float
    _names: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """By folder."""

    def find_displaced(self, paths: Collection[str], *own: bytes | None) -> str | None:
        """The file that was put aside; None if there is none but those with texts of our own, or
        parts of them: they were being written. Of a text that was being put back, the whole."""
        found = {it: body for it, body in self._read(paths).items() if not _is_part(body, own)}
        return max(found, key=lambda it: len(found[it]), default=None)

    def clear(
        self, paths: Collection[str], *own: bytes | None, digests: Collection[bytes | None]
    ) -> list[str]:
        """Remove what is ours, by its text or digest. Anything else a program wrote, and another
        wrote over that: it is given a name beside the file. Returns these names."""
        named: list[str] = []
        for aside, body in self._read(paths).items():
            if digest(body) in digests or _is_part(body, own):
                disk.remove(self.root, aside)
                disk.prune(self.root, folder_of(aside))
            else:
                named.append(_give_name(self.root, aside, next(iter(paths))))
        return named

    def _read(self, paths: Collection[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for path in dict.fromkeys(paths):
            for aside in self._list(path):
                with suppress(InvalidInput, PayloadTooLarge):
                    held = disk.read_snapshot(self.root, aside)
                    if held is not None and held.changed_at >= self.since_s:
                        found[aside] = held.body
        return found

    def _list(self, path: str) -> list[str]:
        folder, lead = folder_of(path), disk.temporary_lead(path)
        if folder not in self._names:
            self._names[folder] = []
            with (
                suppress(OSError),
                disk.open_folder(self.root, folder) as held,
                os.scandir(held) as entries,
            ):
                names = (it.name for it in entries)
                self._names[folder] = sorted(it for it in names if disk.TEMPORARY_SUFFIX in it)
        there = f"{folder}/" if folder else ""
        return [there + it for it in self._names[folder] if it.startswith(lead)]


def _is_part(body: bytes, own: Iterable[bytes | None]) -> bool:
    return any(it is not None and it.startswith(body) for it in own)


def put_back(root: Path, aside: str, path: str, now: bytes | None) -> None:
    """Put the file aside in its place again, where `now` is; Collision if that changed."""
    disk.replace(root, path, disk.read(root, aside), now)
    disk.remove(root, aside)
    disk.prune(root, folder_of(aside))


def _give_name(root: Path, aside: str, path: str) -> str:
    """Move it to a name beside the file that is free."""
    extension = Path(path).suffix
    stem, number = path.removesuffix(extension), 1
    name = f"{stem} (recovered){extension}"
    while disk.exists(root, name):
        number += 1
        name = f"{stem} (recovered {number}){extension}"
    disk.move(root, aside, name)
    return name
