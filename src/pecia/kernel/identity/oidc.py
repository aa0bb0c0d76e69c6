"""Access tokens of the configured issuers: proved genuine, alive, and meant for this server.

It trusts no key, address or algorithm that a token proposes, and never passes a token on.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial

import anyio
from joserfc.errors import ClaimError, ExpiredTokenError
from joserfc.jwt import JWTClaimsRegistry

from pecia.kernel.errors import Conflict
from pecia.kernel.identity.claims import (
    ClaimNames,
    Claims,
    has_more_groups,
    list_principals,
    read_expiry_claim,
    read_list_claim,
    read_scope_claims,
    read_text_claim,
    require_text_claim,
)
from pecia.kernel.identity.issuer import Issuer
from pecia.kernel.identity.jwks import FILE_CACHE_POLICY, FetchJwks, JwksCache, JwksCachePolicy
from pecia.kernel.identity.jwt import SignedToken, parse_jwt, verify_signature
from pecia.kernel.identity.token_error import invalid_token

__all__ = [
    "ClaimNames",
    "Claims",
    "FetchJwks",
    "Issuer",
    "JwksCachePolicy",
    "TokenVerifier",
    "list_principals",
]


class TokenVerifier:
    """Verifies the tokens of every configured issuer."""

    def __init__(
        self,
        issuers: Sequence[Issuer],
        fetch: FetchJwks,
        *,
        freshness: JwksCachePolicy | None = None,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._issuers = {issuer.issuer: issuer for issuer in issuers}
        if len(self._issuers) != len(issuers):
            raise Conflict("two issuers have the same identifier")
        self._max_bytes = max((it.max_token_bytes for it in issuers), default=0)
        self._now = now
        # Issuers that share an address share its keys, and how often it may be asked.
        self._jwks_by_place = {
            it.keys_at: _jwks(it, fetch, freshness or JwksCachePolicy(), clock) for it in issuers
        }

    async def verify(self, text: str) -> Claims:
        """What the token says, once all of it is proved; else AuthRequired, or Unavailable."""
        if len(text) > self._max_bytes:
            raise invalid_token(f"the token is longer than {self._max_bytes} bytes")
        token = parse_jwt(text)
        issuer = self._issuer(token, len(text))
        key = await self._jwks_by_place[issuer.keys_at].find(token.kid, token.algorithm)
        verify_signature(token, key)
        self._refuse_unfit(token, issuer)
        return _claims(token, issuer)

    def _issuer(self, token: SignedToken, size_bytes: int) -> Issuer:
        """Whose keys must have signed the token, should it be genuine."""
        name = token.claims.get("iss")
        issuer = self._issuers.get(name) if isinstance(name, str) else None
        if issuer is None:
            raise invalid_token("the token's issuer is not one of ours")
        if size_bytes > issuer.max_token_bytes:
            raise invalid_token(f"the token is longer than {issuer.max_token_bytes} bytes")
        if token.algorithm not in issuer.algorithms:
            raise invalid_token("the token's algorithm is not one that its issuer may use")
        return issuer

    def _refuse_unfit(self, token: SignedToken, issuer: Issuer) -> None:
        rules = JWTClaimsRegistry(
            now=int(self._now()),
            leeway=issuer.leeway_s,
            iss={"essential": True, "value": issuer.issuer},
            aud={"essential": True, "values": list(issuer.audiences)},
            exp={"essential": True},
        )
        try:
            rules.validate(token.claims)
        except ExpiredTokenError as error:
            raise invalid_token("the token has expired") from error
        except ClaimError as error:
            raise invalid_token(
                f"the token is not for us, or not now: {error.description}"
            ) from error


def _claims(token: SignedToken, issuer: Issuer) -> Claims:
    claims, names = token.claims, issuer.names
    is_verified = claims.get("email_verified") in (True, "true")
    return Claims(
        issuer=issuer.issuer,
        subject=require_text_claim(claims, names.subject),
        tenant=issuer.tenant or require_text_claim(claims, issuer.tenant_claim or ""),
        email=read_text_claim(claims, names.email),
        email_is_verified=issuer.trusts_email or is_verified,
        upn=read_text_claim(claims, names.upn),
        groups=read_list_claim(claims, names.groups),
        has_more_groups=has_more_groups(claims, names.groups),
        scopes=read_scope_claims(claims, names.scopes),
        expires_at=read_expiry_claim(claims),
        token_id=read_text_claim(claims, "jti") or token.fingerprint,
    )


def _jwks(
    issuer: Issuer, fetch: FetchJwks, freshness: JwksCachePolicy, clock: Callable[[], float]
) -> JwksCache:
    if issuer.jwks_file is not None:
        return JwksCache(
            issuer.keys_at, anyio.Path(issuer.jwks_file).read_bytes, FILE_CACHE_POLICY, clock
        )
    return JwksCache(issuer.keys_at, partial(fetch, issuer.keys_at), freshness, clock)
