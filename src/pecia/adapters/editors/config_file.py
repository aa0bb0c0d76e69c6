"""An editor's file on disk: read whole, and replaced whole only while it is what was read."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from pecia.kernel.errors import Conflict, InvalidFormat, PayloadTooLarge

MAX_BYTES = 64 * 1024 * 1024
NEW_MODE = 0o600


def read_text(path: Path) -> str | None:
    """The text of a file; None where there is none."""
    if path.exists() and not path.is_file():
        raise InvalidFormat("it is not a file", field="file")
    try:
        with path.open("rb") as file:
            found = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(found) > MAX_BYTES:
        raise PayloadTooLarge(f"it has more than {MAX_BYTES} bytes", field="file")
    try:
        return found.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidFormat(f"it is not UTF-8 text: {error.reason}", field="file") from None


def replace_text(path: Path, text: str, *, was: str | None) -> None:
    """Write a file whole, with the mode and owner that it had. Of a link, the target changes.

    An editor may write the same file at any moment: Conflict, when it says something else by now.
    """
    target = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            _copy_mode_and_owner(target, handle)
            os.fsync(handle)
        if read_text(target) != was:
            raise Conflict("it was changed by another program at the same moment")
        Path(name).replace(target)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(name).unlink()
        raise


def _copy_mode_and_owner(target: Path, handle: int) -> None:
    try:
        before = target.stat()
        mode = before.st_mode & 0o7777
    except FileNotFoundError:
        before, mode = target.parent.stat(), NEW_MODE
    # Run for another user, this must not change the file's owner.
    if before.st_uid != os.geteuid() or before.st_gid != os.getegid():
        with suppress(PermissionError):
            os.fchown(handle, before.st_uid, before.st_gid)
    os.fchmod(handle, mode)
