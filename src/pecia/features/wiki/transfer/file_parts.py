"""Parts of a file that is too long for one call, kept until the last one comes. Blocking."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.project_folder import PROJECT_FOLDER
from pecia.kernel.errors import Conflict, NotFound

# `cache/` is in no repository, and may be removed at any time.
FOLDER = f"{PROJECT_FOLDER}/cache/import-parts"


@dataclass(frozen=True, slots=True)
class FilePart:
    """Where the bytes of a call begin in the file, and how long the file is."""

    offset: int
    total: int


def store_part(project: Path, key: str, part: FilePart, body: bytes) -> None:
    disk.write(project, f"{_folder(key)}/{part.offset:012d}", body)


def join_parts(project: Path, key: str, last: FilePart, body: bytes) -> bytes:
    """The whole file, from the parts before and the last one."""
    folder = _folder(key)
    pieces: list[bytes] = []
    size = 0
    while size < last.offset:
        try:
            pieces.append(disk.read(project, f"{folder}/{size:012d}"))
        except NotFound:
            raise Conflict(
                f"the part from byte {size} on is missing: send the file again", offset=size
            ) from None
        size += len(pieces[-1])
    if size != last.offset or size + len(body) != last.total:
        raise Conflict("the parts do not fit together: send the file again", offset=size)
    return b"".join((*pieces, body))


def remove_parts(project: Path, key: str) -> None:
    folder = _folder(key)
    for name in disk.list_names(project, folder):
        disk.remove(project, f"{folder}/{name}", is_synced=False)
    disk.prune(project, folder)


def _folder(key: str) -> str:
    return f"{FOLDER}/{sha256(key.encode()).hexdigest()[:32]}"
