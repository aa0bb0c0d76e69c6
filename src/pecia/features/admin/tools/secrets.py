"""Credentials of sources and upstream servers: encrypted on arrival, never shown again."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from pecia.features.admin.core.page import PageCursor, PageInput, next_cursor
from pecia.kernel.errors import Forbidden, NotFound
from pecia.kernel.identity.caller import Scope
from pecia.kernel.secrets.keyring import Keyring, Purpose, SealedSecret
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import DictRow, Store
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool

SQL = load_queries("pecia.features.admin.tools", "secrets.sql")
FEATURE = "admin"
RESEAL_BATCH = 100

# Signing keys are never stored here: only these two purposes are.
SecretPurpose = Literal["source", "upstream"]


class SecretTarget(Input):
    name: str = Field(min_length=1, max_length=200, description="Unique for its purpose.")
    purpose: SecretPurpose = Field(description="Who may open it: workers, or the hub.")


class SetSecret(SecretTarget):
    value: str = Field(
        min_length=1,
        max_length=65536,
        description="Sealed at once; nobody can read it back.",
        json_schema_extra={"secret": True},
    )


class ListSecrets(PageInput):
    purpose: SecretPurpose | None = None


class SecretOut(Output):
    name: str
    purpose: str
    key_id: str = Field(description="The key it is sealed under.")
    updated_at: datetime
    opens: bool | None = Field(
        default=None,
        description="False: this server does not have that key; set the secret again. Null: only "
        "workers would know.",
    )


class SecretsOut(Output):
    secrets: list[SecretOut]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class SecretTools:
    """The handlers over secrets."""

    store: Store
    keyring: Keyring

    async def set_secret(self, call: Call, ask: SetSecret) -> SecretOut:
        """Store a credential, or replace one of the same name. It cannot be read back."""
        purpose = Purpose(ask.purpose)
        if purpose is Purpose.SOURCE and purpose not in self.keyring.purposes:
            raise Forbidden(
                "this server has no keys for credentials of sources: only workers have them",
                hint="pecia source credential SOURCE < key.txt seals one for the workers",
            )
        identity = secret_identity(call.caller.tenant_id, purpose, ask.name)
        sealed = self.keyring.seal(purpose, identity, ask.value.encode())
        async with self.store.writing(call.caller, call.trace) as tx:
            await tx.execute(
                SQL["set_secret"],
                purpose=ask.purpose,
                name=ask.name,
                key_id=sealed.key_id,
                nonce=sealed.nonce,
                ciphertext=sealed.ciphertext,
            )
            return self._secret(
                await tx.fetch_one(SQL["secret"], "the secret was not stored", **_secret_key(ask))
            )

    async def list_secrets(self, call: Call, ask: ListSecrets) -> SecretsOut:
        """The names of the stored credentials, for administrators. Never their values."""
        async with self.store.reading(call.caller) as tx:
            rows = await tx.fetch_all(
                SQL["secrets"], purpose=ask.purpose, after=PageCursor.of(ask), limit=ask.limit + 1
            )
        return SecretsOut(
            secrets=[self._secret(it) for it in rows[: ask.limit]],
            next_cursor=next_cursor(rows, ask.limit, "place"),
        )

    async def remove_secret(self, call: Call, ask: SecretTarget) -> SecretOut:
        """Delete a credential. What used it stops working."""
        missing = f"no {ask.purpose} secret {ask.name!r}"
        async with self.store.writing(call.caller, call.trace) as tx:
            found = await tx.fetch_one(SQL["secret"], missing, **_secret_key(ask))
            if not await tx.execute(SQL["remove_secret"], **_secret_key(ask)):
                raise NotFound(missing)
        return self._secret(found)

    def _secret(self, row: DictRow) -> SecretOut:
        purpose = Purpose(row["purpose"])
        holds = purpose in self.keyring.purposes
        opens = row["key_id"] in self.keyring.keys(purpose).key_by_id if holds else None
        return SecretOut(**row, opens=opens)


def secret_tools(store: Store, keyring: Keyring) -> tuple[AnyTool, ...]:
    """The tools over secrets."""
    it = SecretTools(store, keyring)
    return (
        Tool(
            FEATURE,
            "set_secret",
            Scope.ADMIN,
            SetSecret,
            SecretOut,
            it.set_secret,
            read_only=False,
            idempotent=True,
        ),
        Tool(FEATURE, "list_secrets", Scope.READ, ListSecrets, SecretsOut, it.list_secrets),
        Tool(
            FEATURE,
            "remove_secret",
            Scope.ADMIN,
            SecretTarget,
            SecretOut,
            it.remove_secret,
            read_only=False,
            destructive=True,
        ),
    )


def secret_identity(tenant_id: UUID, purpose: Purpose, name: str) -> bytes:
    """Associated data: binds a sealed secret to its row."""
    return f"{tenant_id}|{purpose}|{name}".encode()


async def has_stale_secrets(store: Store, keyring: Keyring, purpose: Purpose) -> bool:
    """Whether any secret is still sealed under an old key."""
    async with store.system() as tx:
        return bool(
            await tx.fetch_all(SQL["old_secrets"], **_stale_page(keyring, purpose, limit=1))
        )


async def reseal_secrets(store: Store, keyring: Keyring, purpose: Purpose) -> int:
    """Reseal every secret of a purpose under the current key, in all tenants. Returns the count.

    In small transactions, so an interrupted run can be resumed.
    """
    done = 0
    while True:
        async with store.system() as tx:
            old = await tx.fetch_all(
                SQL["old_secrets"], **_stale_page(keyring, purpose, limit=RESEAL_BATCH)
            )
            await tx.execute_many(SQL["reseal"], [_reseal_row(keyring, it) for it in old])
        done += len(old)
        if len(old) < RESEAL_BATCH:
            return done


def _reseal_row(keyring: Keyring, row: DictRow) -> DictRow:
    purpose = Purpose(row["purpose"])
    identity = secret_identity(row["tenant_id"], purpose, row["name"])
    sealed = keyring.reseal(
        purpose, identity, SealedSecret(row["key_id"], row["nonce"], row["ciphertext"])
    )
    return {
        **row,
        "key_id": sealed.key_id,
        "nonce": sealed.nonce,
        "ciphertext": sealed.ciphertext,
    }


def _stale_page(keyring: Keyring, purpose: Purpose, *, limit: int) -> DictRow:
    return {"purpose": purpose.value, "current": keyring.keys(purpose).current_id, "limit": limit}


def _secret_key(ask: SecretTarget) -> dict[str, str]:
    return {"purpose": ask.purpose, "name": ask.name}
