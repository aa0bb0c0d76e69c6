"""What is in the way of a file that a caller names: a link, or a file where a folder must be.

`disk` refuses such a path too, whenever it meets it, but knows no argument of a tool. Blocking.
"""

import stat
from pathlib import Path

from pecia.features.wiki.storage import disk
from pecia.kernel.errors import InvalidInput


def require_folders(root: Path, folder: str, field: str) -> None:
    """Refuse a folder that is reached through a link or a file; it may not exist yet."""
    at = ""
    for part in folder.split("/") if folder else ():
        at = f"{at}/{part}" if at else part
        found = disk.stat_entry(root, at)
        if found is None:
            return
        if stat.S_ISLNK(found.st_mode):
            raise _link_error(at, field)
        if not stat.S_ISDIR(found.st_mode):
            raise InvalidInput(f"{at!r} is a file, so nothing can be below it", field=field)


def require_plain_file(root: Path, path: str, field: str) -> None:
    """Refuse what is neither a regular file nor free; its folders are plain."""
    found = disk.stat_entry(root, path)
    if found is None or stat.S_ISREG(found.st_mode):
        return
    if stat.S_ISLNK(found.st_mode):
        raise _link_error(path, field)
    kind = "a folder" if stat.S_ISDIR(found.st_mode) else "no regular file"
    raise InvalidInput(f"{path!r} is {kind}", field=field)


def _link_error(path: str, field: str) -> InvalidInput:
    return InvalidInput(
        f"{path!r} is a symbolic link, and what it leads to is no part of the space under this "
        "name",
        field=field,
    )
