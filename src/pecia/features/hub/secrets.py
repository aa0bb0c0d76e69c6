"""Credentials of upstream servers: encrypted on arrival, decrypted to connect, never shown.

Stored among the tenant's secrets, one row per server, so that key rotation covers them.
"""

import re
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

import orjson

from pecia.features.hub.model import ServerSecrets
from pecia.kernel.errors import NotFound
from pecia.kernel.secrets.keyring import Keyring, Purpose, SealedSecret
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Transaction

SQL = load_queries("pecia.features.hub")

_NAMED = re.compile(r"\$\{secret:([^}]{1,200})\}")


@dataclass(frozen=True, slots=True)
class ServerVault:
    """Seals in the caller's transaction; opens in a system transaction."""

    keyring: Keyring

    async def seal(
        self, tx: Transaction, tenant_id: UUID, server: str, held: ServerSecrets
    ) -> None:
        name = _name(server)
        if held.is_empty:
            await tx.execute(SQL["remove_secret"], name=name)
            return
        sealed = self.keyring.seal(Purpose.UPSTREAM, _identity(tenant_id, name), _serialize(held))
        await tx.execute(SQL["set_secret"], name=name, **_columns(sealed))

    async def seal_for_tenant(
        self, tx: Transaction, tenant_id: UUID, server: str, held: ServerSecrets
    ) -> bool:
        """System transaction: seals credentials from the operator's file. Whether they changed."""
        name = _name(server)
        if (await self._load_text(tx, tenant_id, name) or _NOTHING) == (text := _serialize(held)):
            return False
        sealed = self.keyring.seal(Purpose.UPSTREAM, _identity(tenant_id, name), text)
        await tx.execute(SQL["house_secret"], tenant_id=tenant_id, name=name, **_columns(sealed))
        return True

    async def remove(self, tx: Transaction, server: str) -> None:
        await tx.execute(SQL["remove_secret"], name=_name(server))

    async def load(self, tx: Transaction, tenant_id: UUID, server: str) -> ServerSecrets:
        """The stored credentials of a server, with secret references expanded."""
        text = await self._load_text(tx, tenant_id, _name(server))
        if text is None:
            return ServerSecrets()
        found: dict[str, Any] = orjson.loads(text)
        env = {key: await self._expand(tx, tenant_id, it) for key, it in found["env"].items()}
        headers = found["headers"].items()
        return ServerSecrets(
            env,
            {key: await self._expand(tx, tenant_id, it) for key, it in headers},
            tuple(found["argv"]),
            found["url"],
        )

    async def _expand(self, tx: Transaction, tenant_id: UUID, value: str) -> str:
        for name in dict.fromkeys(_NAMED.findall(value)):
            text = await self._load_text(tx, tenant_id, name)
            if text is None:
                raise NotFound(
                    f"no upstream secret {name!r}",
                    hint="An administrator adds it: pecia secret set NAME --purpose upstream",
                )
            value = value.replace(f"${{secret:{name}}}", text.decode())
        return value

    async def _load_text(self, tx: Transaction, tenant_id: UUID, name: str) -> bytes | None:
        row: dict[str, Any] | None = await tx.fetch_optional(
            SQL["secret"], tenant_id=tenant_id, name=name
        )
        if row is None:
            return None
        sealed = SealedSecret(row["key_id"], row["nonce"], row["ciphertext"])
        return self.keyring.open(Purpose.UPSTREAM, _identity(tenant_id, name), sealed)


def _serialize(held: ServerSecrets) -> bytes:
    return orjson.dumps(asdict(held))


_NOTHING = _serialize(ServerSecrets())


def _columns(sealed: SealedSecret) -> dict[str, Any]:
    return {"key_id": sealed.key_id, "nonce": sealed.nonce, "ciphertext": sealed.ciphertext}


def _name(server: str) -> str:
    return f"hub/{server}"


def _identity(tenant_id: UUID, name: str) -> bytes:
    """The same associated data as in `features/admin`: key rotation reseals both alike."""
    return f"{tenant_id}|{Purpose.UPSTREAM}|{name}".encode()
