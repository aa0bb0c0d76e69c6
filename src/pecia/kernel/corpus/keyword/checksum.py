"""Verifies the checksums of an index's files. Read-only.

The engine ends every file with a checksum and leaves it to others to look at it.
"""

import json
import mmap
import struct
import zlib
from pathlib import Path

_MAGIC = 1337
_TAIL = struct.Struct("<II")
_SLICE = 1 << 24


def find_corrupt_files(generation: Path) -> list[str]:
    """The files with a wrong checksum, and segments without a file."""
    try:
        meta = json.loads((generation / "meta.json").read_bytes())
        segments = [str(it["segment_id"]).replace("-", "") for it in meta["segments"]]
    except (OSError, ValueError, KeyError, TypeError):
        return ["meta.json"]
    names = {it.name for it in generation.iterdir()}
    lost = [it for it in segments if f"{it}.idx" not in names]
    ours = [it for it in sorted(names) if it.partition(".")[0] in segments]
    return [*lost, *(it for it in ours if not _is_intact(generation / it))]


def _is_intact(path: Path) -> bool:
    with path.open("rb") as file:
        size = path.stat().st_size
        if size < _TAIL.size:
            return False
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            length, magic = _TAIL.unpack(content[-_TAIL.size :])
            end = size - _TAIL.size - length
            if magic != _MAGIC or end < 0:
                return False
            return _stored_crc(content[end : -_TAIL.size]) == _checksum(content, end)


def _stored_crc(footer: bytes) -> int | None:
    try:
        return int(json.loads(footer)["crc"])
    except (ValueError, KeyError, TypeError):
        return None


def _checksum(content: mmap.mmap, end: int) -> int:
    total = 0
    for at in range(0, end, _SLICE):
        total = zlib.crc32(content[at : min(at + _SLICE, end)], total)
    return total
