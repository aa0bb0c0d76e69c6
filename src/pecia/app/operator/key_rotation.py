"""A new key for stored secrets, and everything sealed again under it. Goes on where it stopped."""

from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from pecia.app.operator.session import OperatorSession
from pecia.features.admin.tools.secrets import has_stale_secrets, reseal_secrets
from pecia.features.lake.credentials import (
    SourceCredentials,
    has_stale_credentials,
    reseal_credentials,
)
from pecia.kernel.secrets import key_file
from pecia.kernel.secrets.keyring import Keyring, Purpose


@dataclass(frozen=True, slots=True)
class KeyRotation:
    """The key that is current now, and how many secrets were sealed under it."""

    key_id: str
    resealed: int


async def rotate_keys(
    operating: OperatorSession, path: Path, purpose: Purpose, *, retire: bool
) -> KeyRotation:
    """Rotate one purpose of the key file at `path`. Nobody else may serve the home meanwhile.

    The new key is in the file before anything is sealed under it. A run that finds secrets under
    older keys seals those again first, and makes no further key.
    """
    keyring = await anyio.to_thread.run_sync(key_file.load, path)
    store = operating.store
    boxed = purpose is Purpose.SOURCE
    is_behind = await has_stale_secrets(store, keyring, purpose) or (
        boxed and await has_stale_credentials(store, keyring)
    )
    if not is_behind:
        keyring = await anyio.to_thread.run_sync(_add_key, path, purpose)
    resealed = await reseal_secrets(store, keyring, purpose)
    if boxed:
        resealed += await reseal_credentials(store, keyring)
        await SourceCredentials(store, keyring).publish(replaces=True)
    if retire:
        keyring = await anyio.to_thread.run_sync(_retire, path, purpose)
    key_id = keyring.keys(purpose).current_id
    async with operating.transaction(
        "secret.rotate", {"purpose": purpose.value, "key_id": key_id, "resealed": resealed}
    ):
        return KeyRotation(key_id, resealed)


def _add_key(path: Path, purpose: Purpose) -> Keyring:
    return key_file.update(path, lambda keyring: keyring.rotate(purpose))


def _retire(path: Path, purpose: Purpose) -> Keyring:
    def without_old(keyring: Keyring) -> Keyring:
        keys = keyring.keys(purpose)
        for key_id in keys.key_by_id:
            if key_id != keys.current_id:
                keyring = keyring.retire(purpose, key_id)
        return keyring

    return key_file.update(path, without_old)
