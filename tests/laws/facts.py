"""The facts of a tenant as plain data, and what a write does to them. No rights, and no database.

Fields bear the names of the tables they stand for. Everything has a readable name: users and groups
are `ana`, principals are `user::ana` or `email::ana@example.org`, credentials are `t1/ana/1`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

Key: TypeAlias = str | tuple[str, ...]
Verb: TypeAlias = Literal["add", "change", "remove"]

ROLES = ("role::admin", "role::everyone", "role::anyone")


@dataclass(frozen=True, slots=True)
class User:
    role: str = "member"
    status: str = "active"


@dataclass(frozen=True, slots=True)
class Group:
    name: str


@dataclass(frozen=True, slots=True)
class Credential:
    kind: str
    user_id: str | None
    scopes: frozenset[str]
    claims: frozenset[str] = frozenset()
    revoked: bool = False
    expired: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    trim_mode: str
    protocol: str = "folder"
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class RoleGrant:
    """What a principal holds: a role in a source, or in one of its folders."""

    role: str


@dataclass(frozen=True, slots=True)
class File:
    """`texts` are its revisions, the last one current. No two files say the same."""

    size_bytes: int = 0
    granted: frozenset[str] = frozenset()
    known: bool = True
    texts: tuple[str, ...] = ()
    embedded: bool = False


@dataclass(frozen=True, slots=True)
class Audit:
    user_id: str | None
    credential_id: str


@dataclass(frozen=True, slots=True)
class Secret:
    key_id: str


@dataclass(frozen=True, slots=True)
class Quota:
    most: int


@dataclass(frozen=True, slots=True)
class Job:
    asked_by: frozenset[str]
    status: str = "waiting"


@dataclass(slots=True)
class Tenant:
    """All that is true in one tenant. Keys of several parts are in the order of the tables' own."""

    name: str
    status: str = "active"
    principal: set[str] = field(default_factory=lambda: set(ROLES))
    user_account: dict[str, User] = field(default_factory=dict[str, User])
    user_principal: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    user_group: dict[str, Group] = field(default_factory=dict[str, Group])
    group_member: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    credential: dict[str, Credential] = field(default_factory=dict[str, Credential])
    source: dict[str, Source] = field(default_factory=dict[str, Source])
    source_role: dict[tuple[str, str], RoleGrant] = field(
        default_factory=dict[tuple[str, str], RoleGrant]
    )
    folder_grant: dict[tuple[str, str, str], RoleGrant] = field(
        default_factory=dict[tuple[str, str, str], RoleGrant]
    )
    file: dict[tuple[str, str], File] = field(default_factory=dict[tuple[str, str], File])
    audit: dict[str, Audit] = field(default_factory=dict[str, Audit])
    secret: dict[tuple[str, str], Secret] = field(default_factory=dict[tuple[str, str], Secret])
    quota: dict[str, Quota] = field(default_factory=dict[str, Quota])
    jobs_visible: dict[str, Job] = field(default_factory=dict[str, Job])


@dataclass(frozen=True, slots=True)
class Write:
    """One row added, changed or removed. `row` is for adding, `changes` for changing.

    A user who is removed with the change `purge` leaves no trace of their names. The change `text`
    puts a file anew, with another text.
    """

    verb: Verb
    table: str
    tenant: str
    key: Key
    row: Any = None
    changes: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __str__(self) -> str:
        what = self.row if self.verb == "add" else dict(self.changes) or ""
        return f"{self.verb} {self.table} {self.tenant}:{self.key} {what}"


def apply(tenant: Tenant, write: Write) -> None:
    """Make the write true. What hangs on a removed row goes with it."""
    if write.table == "tenant":
        tenant.status = write.changes["status"]
        return
    table: Any = getattr(tenant, write.table)
    match write.verb:
        case "add":
            _add(tenant, table, write)
        case "change":
            _change(table, write)
        case "remove":
            if isinstance(table, set):
                table.discard(write.key)  # pyright: ignore[reportUnknownMemberType] - of keys
            else:
                del table[write.key]
            _forget(tenant, write)


def _add(tenant: Tenant, table: Any, write: Write) -> None:
    if isinstance(table, set):
        table.add(write.key)  # pyright: ignore[reportUnknownMemberType] - of keys
    else:
        table[write.key] = write.row
    if write.table in PRINCIPAL_KIND:
        tenant.principal.add(f"{PRINCIPAL_KIND[write.table]}::{write.key}")


def _change(table: Any, write: Write) -> None:
    changes = dict(write.changes)
    key = changes.pop("key", None)
    old = table.pop(write.key)
    if "text" in changes:
        changes |= {"texts": (*old.texts, changes.pop("text")), "embedded": False}
    if write.table == "credential" and "revoked" in changes:
        # Nobody un-revokes.
        changes["revoked"] = old.revoked or changes["revoked"]
    table[(write.key[0], key) if key else write.key] = replace(old, **changes)


PRINCIPAL_KIND = {"user_account": "user", "user_group": "group"}


def _forget(tenant: Tenant, write: Write) -> None:
    gone = write.key
    match write.table:
        case "user_account":
            if write.changes.get("purge"):
                _purge(tenant, str(gone))
            tenant.user_principal = {it for it in tenant.user_principal if it[0] != gone}
            tenant.group_member = {it for it in tenant.group_member if it[1] != gone}
            tenant.credential = {k: v for k, v in tenant.credential.items() if v.user_id != gone}
        case "user_group":
            tenant.group_member = {it for it in tenant.group_member if it[0] != gone}
        case "source":
            tenant.source_role = {k: v for k, v in tenant.source_role.items() if k[0] != gone}
            tenant.folder_grant = {k: v for k, v in tenant.folder_grant.items() if k[0] != gone}
            tenant.file = {k: v for k, v in tenant.file.items() if k[0] != gone}
        case _:
            pass


def _purge(tenant: Tenant, user: str) -> None:
    """No right names them any more, by any of their names, and no row says that it was them."""
    names = {f"user::{user}", *(name for it, name in tenant.user_principal if it == user)}
    tenant.principal -= names
    tenant.source_role = {k: v for k, v in tenant.source_role.items() if k[1] not in names}
    tenant.folder_grant = {k: v for k, v in tenant.folder_grant.items() if k[2] not in names}
    for key, file in tenant.file.items():
        tenant.file[key] = replace(file, granted=file.granted - names)
    for key, credential in tenant.credential.items():
        tenant.credential[key] = replace(credential, claims=credential.claims - names)
    for key, job in tenant.jobs_visible.items():
        tenant.jobs_visible[key] = replace(job, asked_by=job.asked_by - {user})
    for key, audit in tenant.audit.items():
        if audit.user_id == user:
            tenant.audit[key] = Audit(None, "")
