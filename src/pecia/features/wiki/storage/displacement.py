"""Texts of programs that a killed write left under a temporary name. Blocking.

`disk.replace` swaps our file in and then looks at the one that it swapped out; `disk.remove_known`
renames the file away and looks at it. A program may have written it just before: then ours is taken
back. Killed in between, nobody looks, and what the program wrote is found here.
"""

import os
from pathlib import Path

from pecia.features.wiki.storage import disk
from pecia.kernel.errors import InvalidInput, PayloadTooLarge
from pecia.kernel.text.links.name_index import folder_of


def find_displaced(root: Path, path: str, since_s: float, known: bytes | None) -> str | None:
    """The file, by its path, that a write begun at `since_s` put aside for `path`; None if it has
    what the write knew. A file that was not there was not put aside.

    A part of the known text is a temporary file of ours, which was being written to restore it; of
    a text that was being put back the whole is taken.
    """
    if known is None:
        return None
    found: dict[str, bytes] = {}
    for aside in _list_temporaries(root, path):
        try:
            held = disk.read_snapshot(root, aside)
        except (InvalidInput, PayloadTooLarge):
            continue
        if held is not None and held.changed_at >= since_s and not known.startswith(held.body):
            found[aside] = held.body
    return max(found, key=lambda it: len(found[it]), default=None)


def _list_temporaries(root: Path, path: str) -> list[str]:
    folder, lead = folder_of(path), disk.temporary_lead(path)
    try:
        with disk.open_folder(root, folder) as held:
            names = [it.name for it in os.scandir(held) if it.name.startswith(lead)]
    except FileNotFoundError:
        return []
    return [f"{folder}/{it}" if folder else it for it in sorted(names)]


def put_back(root: Path, aside: str, path: str, now: bytes | None) -> None:
    """Put the file aside in its place again, where `now` is; Collision if that changed."""
    disk.replace(root, path, disk.read(root, aside), now)
    disk.remove(root, aside)
