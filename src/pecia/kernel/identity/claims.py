"""What an issuer's token says about its bearer, in our words.

Pure. It reads claims that were already verified, and never widens them: an address nobody
verified names no principal.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from pecia.kernel.errors import BadArgument, Json
from pecia.kernel.identity.principal import Principal, PrincipalKind
from pecia.kernel.identity.token_error import invalid_token


@dataclass(frozen=True, slots=True)
class ClaimNames:
    """Where an issuer puts what we need: a claim, or a dotted path such as `realm_access.roles`."""

    subject: str = "sub"
    email: str = "email"
    upn: str = "upn"
    groups: str = "groups"
    scopes: tuple[str, ...] = ("scope", "scp", "roles")


@dataclass(frozen=True, slots=True)
class Claims:
    """A verified token. `has_more_groups` says that the issuer left groups out for their number."""

    issuer: str
    subject: str
    tenant: str
    email: str | None
    email_is_verified: bool
    upn: str | None
    groups: tuple[str, ...]
    has_more_groups: bool
    scopes: frozenset[str]
    expires_at: datetime
    token_id: str


def list_principals(claims: Claims) -> tuple[Principal, ...]:
    """Every name under which files may have been granted to the bearer."""
    try:
        return tuple(dict.fromkeys(_principals(claims)))
    except BadArgument as error:
        raise invalid_token(f"the token names an impossible principal: {error}") from error


def read_text_claim(claims: Mapping[str, Json], name: str) -> str | None:
    """One text. Absent and empty are the same; any other type is refused."""
    value = _lookup(claims, name)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise invalid_token(f"the token's {name!r} claim must be text")
    return value


def require_text_claim(claims: Mapping[str, Json], name: str) -> str:
    value = read_text_claim(claims, name)
    if value is None:
        raise invalid_token(f"the token has no {name!r} claim")
    return value


def read_list_claim(claims: Mapping[str, Json], name: str) -> tuple[str, ...]:
    """A list of texts; issuers write a list of one as the text itself."""
    value = _lookup(claims, name)
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        return (value,)
    texts = [it for it in value if isinstance(it, str)] if isinstance(value, list) else []
    if not isinstance(value, list) or len(texts) != len(value):
        raise invalid_token(f"the token's {name!r} claim must be a list of texts")
    return tuple(texts)


def read_scope_claims(claims: Mapping[str, Json], names: tuple[str, ...]) -> frozenset[str]:
    """Every scope of these claims: the words of a text, or the entries of a list as they are."""
    scopes: set[str] = set()
    for name in names:
        value = _lookup(claims, name)
        # A role may have spaces in its name, and its words are not roles.
        scopes.update(value.split() if isinstance(value, str) else read_list_claim(claims, name))
    return frozenset(scopes)


def read_expiry_claim(claims: Mapping[str, Json]) -> datetime:
    expires_at = claims.get("exp")
    if isinstance(expires_at, int | float):
        try:
            return datetime.fromtimestamp(expires_at, UTC)
        except (OverflowError, ValueError, OSError):
            pass
    raise invalid_token("the token's 'exp' claim is not a time we can count")


def has_more_groups(claims: Mapping[str, Json], name: str) -> bool:
    """Issuers with a limit on groups send a pointer to a directory instead of the list."""
    elsewhere = claims.get("_claim_names")
    return isinstance(elsewhere, dict) and name in elsewhere


def _principals(claims: Claims) -> Iterator[Principal]:
    yield Principal(PrincipalKind.OID, claims.issuer, claims.subject, at="oid")
    if claims.email and claims.email_is_verified:
        yield Principal(PrincipalKind.EMAIL, "", claims.email, at="email")
    if claims.upn:
        yield Principal(PrincipalKind.UPN, "", claims.upn, at="upn")
    for group in claims.groups:
        yield Principal(PrincipalKind.GROUP, claims.issuer, group, at="group")


def _lookup(claims: Mapping[str, Json], name: str) -> Json:
    """The claim of that very name, since names may hold dots; else the end of the path."""
    if name in claims:
        return claims[name]
    head, dot, rest = name.partition(".")
    inner = claims.get(head) if dot else None
    return _lookup(inner, rest) if isinstance(inner, dict) else None
