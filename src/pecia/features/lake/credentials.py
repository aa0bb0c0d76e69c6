"""Credentials that sources authenticate with, and how they are stored. Never shown.

Sealed with a public key. A process that serves callers can store one but open none; the private key
is with the workers.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import anyio

from pecia.kernel.corpus.connector_kind import ConnectorKind, SourceLogin
from pecia.kernel.errors import PeciaError, Unavailable, Unprocessable
from pecia.kernel.logs import Log
from pecia.kernel.secrets.keyring import Keyring, Purpose, SealedSecret, SealingKey
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store, Transaction

SQL = load_queries("pecia.features.lake", "credentials.sql")
RESEAL_BATCH = 100
RETRY_S = 1.0

_log = Log(__name__)

MISSING_KEY_HELP = (
    "Copy keys.json from the home of the worker that has it into this worker's home and start it "
    "again; if that file is lost, run `pecia secret rotate --purpose source` here and set the "
    "credentials anew"
)


@dataclass(frozen=True, slots=True)
class SourceCredentials:
    """Stores credentials; opens them where the key is."""

    store: Store
    keyring: Keyring

    @property
    def can_open(self) -> bool:
        """Whether this process has the private key."""
        return Purpose.SOURCE in self.keyring.purposes

    async def seal(self, tx: Transaction, tenant_id: UUID, source_id: str, text: str) -> None:
        """Seal it, in the caller's transaction."""
        key = await self._sealing_key(tx)
        sealed = key.seal(Purpose.SOURCE, _identity(tenant_id, source_id), text.encode())
        await tx.fetch_value(SQL["set_credential"], source_id=source_id, **_columns(sealed))

    async def exists(self, tenant_id: UUID, source_id: str) -> bool:
        return await self._load_row(tenant_id, source_id) is not None

    async def login(
        self, tenant_id: UUID, source_id: str, kind: ConnectorKind
    ) -> SourceLogin | None:
        """The login; None where the source has none. Forbidden without the key."""
        text = await self.open(tenant_id, source_id)
        return None if text is None else kind.parse_login(text)

    async def open(self, tenant_id: UUID, source_id: str) -> str | None:
        """The credential as it was given; None where there is none. Forbidden without the key."""
        row = await self._load_row(tenant_id, source_id)
        if row is None:
            return None
        if self.can_open and not self._has_key(row["key_id"]):
            raise Unprocessable(
                f"the credential of {source_id} was sealed with the key {row['key_id']}, which "
                f"this worker does not have. {MISSING_KEY_HELP}",
                key_id=row["key_id"],
            )
        text = self.keyring.open_sealed_box(
            Purpose.SOURCE, _identity(tenant_id, source_id), _read_sealed(row)
        )
        return text.decode()

    async def publish_with_retry(self) -> None:
        """At worker startup: publish the sealing key, retrying until the database is up."""
        while True:
            try:
                await self.publish()
                return
            except PeciaError as error:
                _log.failure("lake.sealing_key", error)
                await anyio.sleep(RETRY_S)

    async def publish(self, *, replaces: bool = False) -> bool:
        """Publish our sealing key. False if a key is published which is not here: half of the
        workers could not open what is sealed for the other half. `replaces` does it anyway.
        """
        if not self.can_open:
            return False
        key = self.keyring.sealing_key(Purpose.SOURCE)
        async with self.store.system() as tx:
            published = await tx.fetch_optional(SQL["sealing_key"])
            if published is not None and not replaces and not self._has_key(published["key_id"]):
                _log.error(
                    "lake.foreign_sealing_key", key_id=published["key_id"], remedy=MISSING_KEY_HELP
                )
                return False
            await tx.execute(SQL["publish_key"], key_id=key.key_id, public=key.public)
            return True

    def _has_key(self, key_id: str) -> bool:
        return key_id in self.keyring.keys(Purpose.SOURCE).key_by_id

    async def _sealing_key(self, tx: Transaction) -> SealingKey:
        if self.can_open:
            return self.keyring.sealing_key(Purpose.SOURCE)
        row = await tx.fetch_optional(SQL["sealing_key"])
        if row is None:
            raise Unavailable(
                "no worker has published a key to seal credentials with",
                hint="start one: pecia worker",
            )
        return SealingKey(row["key_id"], row["public"])

    async def _load_row(self, tenant_id: UUID, source_id: str) -> dict[str, Any] | None:
        async with self.store.system() as tx:
            return await tx.fetch_optional(
                SQL["credential"], tenant_id=tenant_id, source_id=source_id
            )


async def has_stale_credentials(store: Store, keyring: Keyring) -> bool:
    """Whether any credential is still sealed under an old key."""
    async with store.system() as tx:
        return bool(await tx.fetch_all(SQL["old_credentials"], **_page(keyring, limit=1)))


async def reseal_credentials(store: Store, keyring: Keyring) -> int:
    """Reseal every credential under the current key, in all tenants. Returns the count."""
    key, done = keyring.sealing_key(Purpose.SOURCE), 0
    while True:
        async with store.system() as tx:
            old = await tx.fetch_all(SQL["old_credentials"], **_page(keyring, limit=RESEAL_BATCH))
            for row in old:
                identity = _identity(row["tenant_id"], row["source_id"])
                text = keyring.open_sealed_box(Purpose.SOURCE, identity, _read_sealed(row))
                place = {"tenant_id": row["tenant_id"], "source_id": row["source_id"]}
                sealed = key.seal(Purpose.SOURCE, identity, text)
                await tx.execute(SQL["reseal_credential"], **place, **_columns(sealed))
        done += len(old)
        if len(old) < RESEAL_BATCH:
            return done


def _identity(tenant_id: UUID, source_id: str) -> bytes:
    """Associated data: binds a sealed credential to its row."""
    return f"{tenant_id}|lake|{source_id}".encode()


def _read_sealed(row: dict[str, Any]) -> SealedSecret:
    return SealedSecret(row["key_id"], row["nonce"], row["ciphertext"])


def _columns(sealed: SealedSecret) -> dict[str, Any]:
    return {"key_id": sealed.key_id, "nonce": sealed.nonce, "ciphertext": sealed.ciphertext}


def _page(keyring: Keyring, *, limit: int) -> dict[str, Any]:
    return {"current": keyring.keys(Purpose.SOURCE).current_id, "limit": limit}
