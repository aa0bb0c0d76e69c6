"""Callers. A Caller is proof that authentication happened; nothing here reads a token."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID


class Scope(StrEnum):
    """What a credential may be used for. Never widens what its user may see."""

    SEARCH = "pecia.search"
    READ = "pecia.read"
    WRITE = "pecia.write"
    ADMIN = "pecia.admin"


EVERY_SCOPE = frozenset(Scope)

# Tokens of the context-lake reference name the first two scopes this way.
SCOPE_ALIASES = {"kdbl.search": Scope.SEARCH, "kdbl.read": Scope.READ}


class CredentialKind(StrEnum):
    """How the caller proved who they are."""

    PAT = "pat"
    OIDC = "oidc"
    LOCAL = "local"
    ANONYMOUS = "anonymous"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Caller:
    """One authenticated credential of one user of one tenant."""

    credential_id: UUID
    kind: CredentialKind
    tenant_id: UUID
    tenant: str
    user_id: UUID | None
    user: str
    scopes: frozenset[Scope]
    is_admin: bool = False
    expires_at: datetime | None = None

    @property
    def is_anonymous(self) -> bool:
        return self.kind is CredentialKind.ANONYMOUS


@dataclass(frozen=True, slots=True)
class Operator:
    """A cluster administrator: keeps tenants, and is in none of them."""

    credential_id: UUID
    label: str


def filter_known_scopes(names: frozenset[str] | set[str] | list[str]) -> frozenset[Scope]:
    """The scopes of ours among `names`. Others in a token are ignored."""
    by_name = {scope.value: scope for scope in Scope} | SCOPE_ALIASES
    return frozenset(by_name[name] for name in names if name in by_name)
