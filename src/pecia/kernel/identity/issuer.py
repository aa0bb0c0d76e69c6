"""An issuer as the operator describes it. Only a description: it reads no key and no token."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from pecia.kernel.errors import InvalidEnum, InvalidFormat, InvalidInput, MissingField, OutOfRange
from pecia.kernel.identity.claims import ClaimNames
from pecia.kernel.identity.jwk import KEY_SHAPE_BY_ALGORITHM

MAX_LEEWAY_S = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """An issuer we trust, and what we believe of its tokens.

    With `tenant_claim` the issuer speaks for every tenant it names; with `tenant`, for that one.
    `trusts_email` believes addresses that come without `email_verified`.
    """

    issuer: str
    audiences: tuple[str, ...]
    jwks_url: str | None = None
    jwks_file: Path | None = None
    tenant: str | None = None
    tenant_claim: str | None = None
    algorithms: frozenset[str] = frozenset({"RS256", "ES256", "EdDSA"})
    leeway_s: int = 30
    max_token_bytes: int = 16 * 1024
    trusts_email: bool = False
    names: ClaimNames = field(default_factory=ClaimNames)

    def __post_init__(self) -> None:
        if not self.issuer:
            raise MissingField("an issuer needs its identifier", field="issuer")
        if not self.audiences or not all(self.audiences):
            raise MissingField(
                "an issuer needs the audiences that its tokens are made for", field="audiences"
            )
        _refuse_unless_one("jwks_url", self.jwks_url, "jwks_file", self.jwks_file)
        _refuse_unless_one("tenant", self.tenant, "tenant_claim", self.tenant_claim)
        _refuse_algorithms(self.algorithms)
        _refuse_leeway(self.leeway_s)
        if self.jwks_url:
            _refuse_open_url(self.jwks_url)

    @property
    def keys_at(self) -> str:
        """Where its keys are, as a URL or a path."""
        return self.jwks_url or str(self.jwks_file)


def _refuse_unless_one(first: str, one: object, second: str, other: object) -> None:
    if bool(one) == bool(other):
        raise InvalidInput(
            f"an issuer needs either {first} or {second}, and not both",
            field=first,
            expected=f"{first} or {second}",
            got="both" if one else "neither",
        )


def _refuse_algorithms(names: frozenset[str]) -> None:
    unknown = sorted(names - KEY_SHAPE_BY_ALGORITHM.keys())
    if unknown or not names:
        allowed = ", ".join(KEY_SHAPE_BY_ALGORITHM)
        raise InvalidEnum(
            f"algorithms must be among {allowed}; got {', '.join(unknown) or 'none'}",
            field="algorithms",
            allowed=list(KEY_SHAPE_BY_ALGORITHM),
        )


def _refuse_leeway(leeway_s: int) -> None:
    if not 0 <= leeway_s <= MAX_LEEWAY_S:
        raise OutOfRange(
            f"leeway_s must be 0 to {MAX_LEEWAY_S}; got {leeway_s}",
            field="leeway_s",
            min=0,
            max=MAX_LEEWAY_S,
        )


def _refuse_open_url(url: str) -> None:
    """HTTPS only: who can change the keys in transit can sign in as anyone."""
    parts = urlsplit(url)
    is_loopback = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback):
        raise InvalidFormat(
            f"jwks_url must begin with https://; got {url!r}",
            field="jwks_url",
            expected="https://…",
            got=url,
        )
