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
    expiry_claim,
    has_more_groups,
    list_claim,
    principals,
    required_text_claim,
    scope_claims,
    text_claim,
)
from pecia.kernel.identity.issuer import Issuer
from pecia.kernel.identity.jwks import FILE_FRESHNESS, Fetch, Freshness, Jwks
from pecia.kernel.identity.refusal import bad_token
from pecia.kernel.identity.signed_token import SignedToken, parse, prove

__all__ = ["ClaimNames", "Claims", "Fetch", "Freshness", "Issuer", "Verifier", "principals"]


class Verifier:
    """Verifies the tokens of every configured issuer."""

    def __init__(
        self,
        issuers: Sequence[Issuer],
        fetch: Fetch,
        *,
        freshness: Freshness | None = None,
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
            it.keys_at: _jwks(it, fetch, freshness or Freshness(), clock) for it in issuers
        }

    async def verify(self, text: str) -> Claims:
        """What the token says, once all of it is proved; else AuthRequired, or Unavailable."""
        if len(text) > self._max_bytes:
            raise bad_token(f"the token is longer than {self._max_bytes} bytes")
        token = parse(text)
        issuer = self._issuer(token, len(text))
        key = await self._jwks_by_place[issuer.keys_at].find(token.kid, token.algorithm)
        prove(token, key)
        self._refuse_unfit(token, issuer)
        return _claims(token, issuer)

    def _issuer(self, token: SignedToken, size_bytes: int) -> Issuer:
        """Whose keys must have signed the token, should it be genuine."""
        name = token.claims.get("iss")
        issuer = self._issuers.get(name) if isinstance(name, str) else None
        if issuer is None:
            raise bad_token("the token's issuer is not one of ours")
        if size_bytes > issuer.max_token_bytes:
            raise bad_token(f"the token is longer than {issuer.max_token_bytes} bytes")
        if token.algorithm not in issuer.algorithms:
            raise bad_token("the token's algorithm is not one that its issuer may use")
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
            raise bad_token("the token has expired") from error
        except ClaimError as error:
            raise bad_token(f"the token is not for us, or not now: {error.description}") from error


def _claims(token: SignedToken, issuer: Issuer) -> Claims:
    claims, names = token.claims, issuer.names
    is_verified = claims.get("email_verified") in (True, "true")
    return Claims(
        issuer=issuer.issuer,
        subject=required_text_claim(claims, names.subject),
        tenant=issuer.tenant or required_text_claim(claims, issuer.tenant_claim or ""),
        email=text_claim(claims, names.email),
        email_is_verified=issuer.trusts_email or is_verified,
        upn=text_claim(claims, names.upn),
        groups=list_claim(claims, names.groups),
        has_more_groups=has_more_groups(claims, names.groups),
        scopes=scope_claims(claims, names.scopes),
        expires_at=expiry_claim(claims),
        token_id=text_claim(claims, "jti") or token.fingerprint,
    )


def _jwks(issuer: Issuer, fetch: Fetch, freshness: Freshness, clock: Callable[[], float]) -> Jwks:
    if issuer.jwks_file is not None:
        return Jwks(issuer.keys_at, anyio.Path(issuer.jwks_file).read_bytes, FILE_FRESHNESS, clock)
    return Jwks(issuer.keys_at, partial(fetch, issuer.keys_at), freshness, clock)
