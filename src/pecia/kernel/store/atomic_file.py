"""Files that are either whole or absent, whenever the power goes. Knows nothing of PostgreSQL."""

import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from pecia.kernel.errors import Unavailable


def write_atomic(path: Path, text: str, *, mode: int = 0o600) -> None:
    """Replace `path` so that a reader, or a crash, sees the old text or the new, never a part."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fchmod(handle, mode)
            os.fsync(handle)
        Path(name).replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(name).unlink()
        raise
    fsync_folder(path.parent)


def read_json_object(path: Path, *names: str, remedy: str) -> Mapping[str, Any]:
    """The JSON object in a file of ours, with these members at least.

    A file that a failed disk or a hand damaged is named, with what to do about it.
    """
    try:
        found: Any = json.loads(path.read_bytes())
    except ValueError as error:
        raise Unavailable(f"{path} is damaged: {error}. {remedy}", path=str(path)) from error
    held = cast(dict[str, Any], found) if isinstance(found, dict) else {}
    if missing := [it for it in names if it not in held]:
        raise Unavailable(
            f"{path} is damaged: it holds no {missing[0]!r}. {remedy}", path=str(path)
        )
    return held


def fsync_folder(folder: Path) -> None:
    """Make the names in `folder` durable: a rename is not, until its folder is synced."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_tail(path: Path, start: int, *, limit_bytes: int = 16384) -> str:
    """What was appended to a log after `start`, its end if that is long, or nothing if no log is.

    A log shorter than `start` has been moved aside since: then all of it is new.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(start if start <= size else 0, size - limit_bytes))
            return file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
