"""The file in which keys are kept, readable by its owner alone.

It is outside the database and outside every backup of it. Functions block: call them in a thread.
"""

import fcntl
import json
import os
import stat
import tempfile
from base64 import b64decode, b64encode
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from pecia.kernel.errors import Conflict, InvalidFormat, InvalidInput, Json, NotFound
from pecia.kernel.secrets.keyring import KEY_BYTES, Keyring, Purpose, PurposeKeys

VERSION = 1
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def create(path: Path, keyring: Keyring) -> None:
    """Write a new key file, whole or not at all. Conflict when there is one already."""
    with _written_beside(path, keyring) as draft:
        try:
            path.hardlink_to(draft)
        except FileExistsError:
            raise Conflict(f"there is a key file at {path} already") from None
    _sync_folder(path)


def load(path: Path) -> Keyring:
    """Read a key file, unless somebody else could read it too."""
    try:
        with path.open("rb") as file:
            _refuse_exposed(path, os.fstat(file.fileno()))
            content = file.read()
    except FileNotFoundError:
        raise NotFound(f"there is no key file at {path}") from None
    except OSError as error:
        raise InvalidFormat(
            f"the key file {path} cannot be read: {error.strerror}",
            field="key_file",
            hint="pecia doctor",
        ) from None
    keyring = _parse(content)
    if keyring is None:
        # Raised out here, because a JSON error would carry the whole content along.
        raise InvalidFormat(
            f"{path} is not a key file of version {VERSION}",
            field="key_file",
            expected=f"JSON of version {VERSION}",
            hint="pecia doctor",
        )
    return keyring


def update(path: Path, change: Callable[[Keyring], Keyring]) -> Keyring:
    """Replace the keys by what `change` makes of them, one process at a time."""
    with _locked(path.parent):
        keyring = change(load(path))
        with _written_beside(path, keyring) as draft:
            draft.replace(path)
        _sync_folder(path)
    return keyring


def _refuse_exposed(path: Path, found: os.stat_result) -> None:
    mode = stat.S_IMODE(found.st_mode)
    if mode & _OTHERS:
        raise InvalidInput(
            f"{path} must be a file that only its owner can read (0600), and it is {mode:04o}",
            field="key_file",
            expected="0600",
            got=f"{mode:04o}",
        )


@contextmanager
def _written_beside(path: Path, keyring: Keyring) -> Generator[Path]:
    """A complete copy in the same folder, gone afterwards unless it was moved."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_render(keyring))
            file.flush()
            os.fsync(file.fileno())
        yield draft
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def _locked(folder: Path) -> Generator[None]:
    # The folder and not the file: the file is replaced, and a lock on the old one guards nothing.
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _sync_folder(path: Path) -> None:
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _render(keyring: Keyring) -> bytes:
    purposes = {purpose.value: _render_keys(keyring.keys(purpose)) for purpose in keyring.purposes}
    return json.dumps({"version": VERSION, "purposes": purposes}, indent=2).encode()


def _render_keys(keys: PurposeKeys) -> dict[str, object]:
    texts = {key_id: b64encode(key).decode() for key_id, key in keys.key_by_id.items()}
    return {"current": keys.current_id, "keys": texts}


def _parse(content: bytes) -> Keyring | None:
    try:
        # This union is all that json.loads makes.
        document = cast(Json, json.loads(content))
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or document.get("version") != VERSION:
        return None
    purposes = document.get("purposes")
    if not isinstance(purposes, dict) or not purposes.keys() <= set(Purpose):
        return None
    parsed = {Purpose(name): _parse_keys(entry) for name, entry in purposes.items()}
    complete = {purpose: keys for purpose, keys in parsed.items() if keys is not None}
    return Keyring(complete) if len(complete) == len(parsed) else None


def _parse_keys(entry: Json) -> PurposeKeys | None:
    texts = entry.get("keys") if isinstance(entry, dict) else None
    current = entry.get("current") if isinstance(entry, dict) else None
    if not isinstance(texts, dict) or not isinstance(current, str) or current not in texts:
        return None
    key_by_id = {key_id: _parse_key(text) for key_id, text in texts.items()}
    if any(len(key) != KEY_BYTES for key in key_by_id.values()):
        return None
    return PurposeKeys(current, key_by_id)


def _parse_key(text: Json) -> bytes:
    try:
        return b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError:
        return b""
