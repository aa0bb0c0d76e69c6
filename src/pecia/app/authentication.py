"""Authentication: a bearer token, or none, becomes a Caller."""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from pecia.app.local_owner import LocalOwner
from pecia.kernel.errors import AuthRequired, Forbidden
from pecia.kernel.identity import owner_token, pat
from pecia.kernel.identity.caller import Caller, CredentialKind, Operator, filter_known_scopes
from pecia.kernel.identity.claims import Claims, list_principals
from pecia.kernel.identity.token_error import NEW_TOKEN_HINT, TENANT_SUSPENDED, refused_token
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store

if TYPE_CHECKING:
    from pecia.kernel.identity.oidc import TokenVerifier

SQL = load_queries("pecia.app")

# Tools without a transaction may trust a credential this long; a NOTIFY clears it sooner.
CACHE_TTL_S = 1.0
CACHE_MAX_ENTRIES = 10_000


@dataclass(frozen=True, slots=True)
class _CacheEntry:
    who: Caller | Operator
    cached_at: float


class Authenticator:
    """Turns tokens into callers. Without one it is the local owner, the public, or nobody.

    The interface must make sure that only the owner reaches a local install without a token: no
    connection is known here.
    """

    def __init__(
        self,
        store: Store,
        verifier: "TokenVerifier | None",
        *,
        without_token: Caller | None,
        owner: LocalOwner | None = None,
    ) -> None:
        self._store = store
        self._verifier = verifier
        self._without_token = without_token
        self.owner = owner
        self._entries: OrderedDict[bytes, _CacheEntry] = OrderedDict()
        self._used: set[Any] = set()

    async def authenticate(self, bearer: str | None) -> Caller | Operator:
        """The caller behind a token, or AuthRequired with the reason."""
        if bearer is None:
            if self._without_token is None:
                raise AuthRequired("this server asks for a bearer token, and the request has none")
            return self._without_token
        digest = hashlib.sha256(bearer.encode()).digest()
        who = self._get_cached(digest)
        if who is None:
            if owner_token.is_owner_token(bearer):
                return self._authenticate_owner_token(bearer)
            verify = self._authenticate_pat if pat.is_pat(bearer) else self._authenticate_oidc
            who = self._cache(digest, _row_to_identity(await verify(bearer, digest)))
        self._used.add(who.credential_id)
        return who

    def invalidate_cache(self) -> None:
        """A credential changed: reload from the store."""
        self._entries.clear()

    async def flush_last_used(self) -> None:
        """Store when credentials were last used, in one statement for all."""
        used, self._used = self._used, set()
        if used:
            async with self._store.system() as tx:
                await tx.execute(SQL["note_uses"], credentials=[*used])

    def _authenticate_owner_token(self, bearer: str) -> Caller:
        if self.owner is None or self._without_token is None:
            raise AuthRequired("this server has no owner's token", challenge="invalid_token")
        self.owner.check(bearer)
        return self._without_token

    async def _authenticate_pat(self, bearer: str, digest: bytes) -> dict[str, Any]:
        # A damaged token is refused here, before anything is asked of the database.
        pat.check(bearer)
        async with self._store.system() as tx:
            row = await tx.fetch_optional(SQL["authenticate"], hash=digest)
            if row is not None and row["refusal"] == TENANT_SUSPENDED:
                # A tenant that is being deleted is not active either, and never will be.
                row["refusal"] = await tx.fetch_value(SQL["closed_tenant"], id=row["tenant_id"])
        if row is None:
            raise AuthRequired(
                "this token is not known here",
                challenge="invalid_token",
                hint=NEW_TOKEN_HINT,
            )
        return row

    async def _authenticate_oidc(self, bearer: str, digest: bytes) -> dict[str, Any]:
        if self._verifier is None:
            raise AuthRequired(
                "this is not a token of this server: it begins with no peciapat_, and no issuer of "
                "other tokens is configured",
                challenge="invalid_token",
            )
        return await self._enrol(await self._verifier.verify(bearer), digest)

    async def _enrol(self, claims: Claims, digest: bytes) -> dict[str, Any]:
        """The credential of a verified token; its user is created on first use."""
        names = list_principals(claims)
        async with self._store.system() as tx:
            tenant = await tx.fetch_optional(SQL["tenant_named"], name=claims.tenant)
            if tenant is None:
                raise Forbidden(
                    f"the token is for the tenant {claims.tenant!r}, which does not exist here",
                    tenant=claims.tenant,
                )
            await tx.execute(
                SQL["enrol"],
                tenant_id=tenant["id"],
                name=claims.email or claims.upn or f"{claims.subject}@{claims.issuer}",
                kinds=[it.kind.value for it in names],
                scopes_of=[it.scope for it in names],
                values=[it.value for it in names],
                hash=digest,
                scopes=sorted(it.value for it in filter_known_scopes(claims.scopes)),
                expires_at=claims.expires_at,
            )
            return await tx.fetch_one(
                SQL["authenticate"], "the token could not be enrolled", hash=digest
            )

    def _get_cached(self, digest: bytes) -> Caller | Operator | None:
        kept = self._entries.get(digest)
        if kept is None or anyio.current_time() - kept.cached_at > CACHE_TTL_S:
            return None
        return kept.who

    def _cache(self, digest: bytes, who: Caller | Operator) -> Caller | Operator:
        self._entries[digest] = _CacheEntry(who, anyio.current_time())
        self._entries.move_to_end(digest)
        while len(self._entries) > CACHE_MAX_ENTRIES:
            self._entries.popitem(last=False)
        return who


def _row_to_identity(row: dict[str, Any]) -> Caller | Operator:
    if row["refusal"]:
        raise refused_token(row["refusal"])
    if row["kind"] == "operator":
        return Operator(row["credential_id"], row["user_name"])
    return row_to_caller(row)


def row_to_caller(row: dict[str, Any]) -> Caller:
    """A row of kernel.authenticate as a Caller."""
    return Caller(
        credential_id=row["credential_id"],
        kind=CredentialKind(row["kind"]),
        tenant_id=row["tenant_id"],
        tenant=row["tenant"],
        user_id=row["user_id"],
        user=row["user_name"],
        scopes=filter_known_scopes(set(row["scopes"])),
        is_admin=row["is_admin"],
        expires_at=row["expires_at"],
    )
