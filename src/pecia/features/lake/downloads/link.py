"""Signed, short-lived links to originals. Fetches nothing and checks no right.

A link grants nothing by itself: it names a principal, and opening it shows what that principal may
see at that moment.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlencode
from uuid import UUID

from pecia.kernel.errors import Json, NotFound
from pecia.kernel.identity.caller import Caller, CredentialKind, Scope

if TYPE_CHECKING:
    from joserfc.jwk import OctKey

PATH = "/files/download"
TTL_S = 900.0
ALGORITHM = "HS256"
# Domain separation: anything else signed with this key must not pass for a link.
AUDIENCE = PATH
MAX_TOKEN_CHARS = 8_000


@dataclass(frozen=True, slots=True)
class DownloadTicket:
    """The payload of a link."""

    tenant_id: UUID
    credential_id: UUID
    kind: CredentialKind
    user_id: UUID | None
    source_id: str
    key: str
    revision: int | None

    @property
    def caller(self) -> Caller:
        """The principal, with only the scope for reading."""
        return Caller(
            credential_id=self.credential_id,
            kind=self.kind,
            tenant_id=self.tenant_id,
            tenant="",
            user_id=self.user_id,
            user="",
            scopes=frozenset({Scope.READ}),
        )


@dataclass(frozen=True, slots=True)
class DownloadLinks:
    """Signs and verifies links."""

    secret: Callable[[], bytes] = field(repr=False)
    public_url: str
    ttl_s: float = TTL_S
    now: Callable[[], float] = time.time

    def url(self, caller: Caller, source_id: str, key: str, revision: int | None) -> str | None:
        """A link to a file for this caller; None if they may search but not read. A file without
        text has no revision."""
        if Scope.READ not in caller.scopes:
            return None
        # Lazy import, here and below: links are made by searches.
        from joserfc import jwt

        claims: dict[str, Json] = {
            "aud": AUDIENCE,
            "exp": int(self.now() + self.ttl_s),
            "tenant": str(caller.tenant_id),
            "credential": str(caller.credential_id),
            "kind": caller.kind.value,
            "user": str(caller.user_id) if caller.user_id else None,
            "source": source_id,
            "key": key,
            "revision": revision,
        }
        token = jwt.encode({"alg": ALGORITHM}, claims, _signing_key(self.secret()))
        return f"{self.public_url.rstrip('/')}{PATH}?{urlencode({'token': token})}"

    def open(self, token: str) -> DownloadTicket:
        """Verify a link. NotFound if it is invalid or expired."""
        if len(token) > MAX_TOKEN_CHARS:
            raise _invalid_link()
        from joserfc import jwt
        from joserfc.errors import JoseError

        try:
            signed = jwt.decode(token, _signing_key(self.secret()), algorithms=[ALGORITHM])
            claims = signed.claims
            is_over = not isinstance(claims["exp"], int) or claims["exp"] <= self.now()
            if claims["aud"] != AUDIENCE or is_over:
                raise _invalid_link()
            return DownloadTicket(
                tenant_id=UUID(claims["tenant"]),
                credential_id=UUID(claims["credential"]),
                kind=CredentialKind(claims["kind"]),
                user_id=UUID(claims["user"]) if claims["user"] else None,
                source_id=claims["source"],
                key=claims["key"],
                revision=claims["revision"],
            )
        except (JoseError, KeyError, TypeError, ValueError, RecursionError):
            raise _invalid_link() from None


# Half of what a link takes is to check the key.
@lru_cache(2)
def _signing_key(secret: bytes) -> "OctKey":
    from joserfc.jwk import OctKey

    return OctKey.import_key(secret)


def _invalid_link() -> NotFound:
    return NotFound("this link is invalid or has expired", hint="search again for a fresh one")
