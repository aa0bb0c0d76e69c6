"""A new key for stored secrets, and everything sealed again under it. Goes on where it stopped."""

from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from pecia.app.operating import Operating
from pecia.kernel.secrets import key_file
from pecia.kernel.secrets.keyring import Keyring, Purpose
from pecia.rooms.lake.credential import Credentials, has_old_credentials, reseal_credentials
from pecia.rooms.office.secrets import has_old, reseal


@dataclass(frozen=True, slots=True)
class Rotation:
    """The key that is current now, and how many secrets were sealed under it."""

    key_id: str
    resealed: int


async def rotate_keys(
    operating: Operating, path: Path, purpose: Purpose, *, retire: bool
) -> Rotation:
    """Rotate one purpose of the key file at `path`. Nobody else may serve the home meanwhile.

    The new key is in the file before anything is sealed under it. A run that finds secrets under
    older keys first brings those home, and makes no further key.
    """
    keyring = await anyio.to_thread.run_sync(key_file.load, path)
    store = operating.store
    boxed = purpose is Purpose.SOURCE
    is_behind = await has_old(store, keyring, purpose) or (
        boxed and await has_old_credentials(store, keyring)
    )
    if not is_behind:
        keyring = await anyio.to_thread.run_sync(_add_key, path, purpose)
    resealed = await reseal(store, keyring, purpose)
    if boxed:
        resealed += await reseal_credentials(store, keyring)
        await Credentials(store, keyring).publish(replaces=True)
    if retire:
        keyring = await anyio.to_thread.run_sync(_retire, path, purpose)
    key_id = keyring.keys(purpose).current_id
    async with operating.deed(
        "secret.rotate", {"purpose": purpose.value, "key_id": key_id, "resealed": resealed}
    ):
        return Rotation(key_id, resealed)


def _add_key(path: Path, purpose: Purpose) -> Keyring:
    return key_file.update(path, lambda keyring: keyring.rotated(purpose))


def _retire(path: Path, purpose: Purpose) -> Keyring:
    def without_old(keyring: Keyring) -> Keyring:
        keys = keyring.keys(purpose)
        for key_id in keys.key_by_id:
            if key_id != keys.current_id:
                keyring = keyring.retired(purpose, key_id)
        return keyring

    return key_file.update(path, without_old)
