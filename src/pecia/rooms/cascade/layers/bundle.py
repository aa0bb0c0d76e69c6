"""The Markdown files of a folder as bytes, reserved ones too, for whoever checks a bundle."""

import os
from collections.abc import Iterator
from pathlib import Path

from pecia.rooms.cascade.layers.folder import SKIPPED, contents


def bundle_files(folder: Path) -> dict[str, bytes]:
    """By path every `.md` file beneath the folder; links and hidden files are none. Blocking."""
    return dict(_files(folder.resolve(), ""))


def _files(root: Path, lead: str) -> Iterator[tuple[str, bytes]]:
    with os.scandir(root / lead) as entries:
        children = sorted(entries, key=lambda it: it.name)
    for it in children:
        if it.name.startswith(".") or it.name in SKIPPED or it.is_symlink():
            continue
        if it.is_dir():
            yield from _files(root, f"{lead}{it.name}/")
        elif it.name.lower().endswith(".md") and it.is_file():
            yield f"{lead}{it.name}", contents(it.path)
