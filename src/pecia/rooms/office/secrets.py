"""Credentials of sources and upstream servers: sealed when they come, and never shown again."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from pecia.kernel.errors import NotFound
from pecia.kernel.identity.caller import Scope
from pecia.kernel.secrets.keyring import Keyring, Purpose, Sealed
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store
from pecia.kernel.store.transaction import Row
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool
from pecia.rooms.office.paging import Cursor, Paged, next_cursor

SQL = load_queries("pecia.rooms.office", "secrets.sql")
ROOM = "office"
BATCH = 100

# What is signed is ours and short-lived, and never stored: only these two kinds are kept.
SecretPurpose = Literal["source", "upstream"]


class NamedSecret(Input):
    name: str = Field(min_length=1, max_length=200, description="Unique for its purpose.")
    purpose: SecretPurpose = Field(description="Who may open it: workers, or the hub.")


class SetSecret(NamedSecret):
    value: str = Field(
        min_length=1,
        max_length=65536,
        description="Sealed at once; nobody can read it back.",
        json_schema_extra={"secret": True},
    )


class ListSecrets(Paged):
    purpose: SecretPurpose | None = None


class Secret(Output):
    name: str
    purpose: str
    key_id: str = Field(description="The key it is sealed under.")
    updated_at: datetime
    opens: bool | None = Field(
        default=None,
        description="False: this server has lost that key; set the secret again. Null: only "
        "workers would know.",
    )


class Secrets(Output):
    secrets: list[Secret]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class SecretDesk:
    """The handlers over secrets."""

    store: Store
    keyring: Keyring

    async def set_secret(self, call: Call, ask: SetSecret) -> Secret:
        """Keep a credential, or replace one of the same name. It cannot be read back."""
        purpose = Purpose(ask.purpose)
        identity = secret_identity(call.caller.tenant_id, purpose, ask.name)
        sealed = self.keyring.seal(purpose, identity, ask.value.encode())
        async with self.store.writing(call.caller, call.trace) as tx:
            await tx.run(
                SQL["set_secret"],
                purpose=ask.purpose,
                name=ask.name,
                key_id=sealed.key_id,
                nonce=sealed.nonce,
                ciphertext=sealed.ciphertext,
            )
            return self._secret(await tx.one(SQL["secret"], "it was not kept", **_named(ask)))

    async def list_secrets(self, call: Call, ask: ListSecrets) -> Secrets:
        """The names of the credentials that are kept, for administrators. Their values are not."""
        async with self.store.reading(call.caller) as tx:
            rows = await tx.all(
                SQL["secrets"], purpose=ask.purpose, after=Cursor.of(ask), limit=ask.limit + 1
            )
        return Secrets(
            secrets=[self._secret(it) for it in rows[: ask.limit]],
            next_cursor=next_cursor(rows, ask.limit, "place"),
        )

    async def remove_secret(self, call: Call, ask: NamedSecret) -> Secret:
        """Forget a credential. What used it stops working."""
        missing = f"no {ask.purpose} secret {ask.name!r}"
        async with self.store.writing(call.caller, call.trace) as tx:
            found = await tx.one(SQL["secret"], missing, **_named(ask))
            if not await tx.run(SQL["remove_secret"], **_named(ask)):
                raise NotFound(missing)
        return self._secret(found)

    def _secret(self, row: Row) -> Secret:
        purpose = Purpose(row["purpose"])
        holds = purpose in self.keyring.purposes
        opens = row["key_id"] in self.keyring.keys(purpose).key_by_id if holds else None
        return Secret(**row, opens=opens)


def secret_tools(store: Store, keyring: Keyring) -> tuple[AnyTool, ...]:
    """The tools over secrets."""
    it = SecretDesk(store, keyring)
    return (
        Tool(
            ROOM,
            "set_secret",
            Scope.ADMIN,
            SetSecret,
            Secret,
            it.set_secret,
            read_only=False,
            idempotent=True,
        ),
        Tool(ROOM, "list_secrets", Scope.READ, ListSecrets, Secrets, it.list_secrets),
        Tool(
            ROOM,
            "remove_secret",
            Scope.ADMIN,
            NamedSecret,
            Secret,
            it.remove_secret,
            read_only=False,
            destructive=True,
        ),
    )


def secret_identity(tenant_id: UUID, purpose: Purpose, name: str) -> bytes:
    """What a secret is sealed for: the row it lies in, and no other."""
    return f"{tenant_id}|{purpose}|{name}".encode()


async def has_old(store: Store, keyring: Keyring, purpose: Purpose) -> bool:
    """Whether any secret still waits to be sealed under the current key."""
    async with store.system() as tx:
        return bool(await tx.all(SQL["old_secrets"], **_page(keyring, purpose, limit=1)))


async def reseal(store: Store, keyring: Keyring, purpose: Purpose) -> int:
    """Seal every secret of a purpose under the current key, in all tenants. How many it were.

    In small transactions: where it was stopped, it goes on.
    """
    done = 0
    while True:
        async with store.system() as tx:
            old = await tx.all(SQL["old_secrets"], **_page(keyring, purpose, limit=BATCH))
            await tx.run_many(SQL["reseal"], [_resealed(keyring, it) for it in old])
        done += len(old)
        if len(old) < BATCH:
            return done


def _resealed(keyring: Keyring, row: Row) -> Row:
    purpose = Purpose(row["purpose"])
    identity = secret_identity(row["tenant_id"], purpose, row["name"])
    sealed = keyring.resealed(
        purpose, identity, Sealed(row["key_id"], row["nonce"], row["ciphertext"])
    )
    return {
        **row,
        "key_id": sealed.key_id,
        "nonce": sealed.nonce,
        "ciphertext": sealed.ciphertext,
    }


def _page(keyring: Keyring, purpose: Purpose, *, limit: int) -> Row:
    return {"purpose": purpose.value, "current": keyring.keys(purpose).current_id, "limit": limit}


def _named(ask: NamedSecret) -> dict[str, str]:
    return {"purpose": ask.purpose, "name": ask.name}
