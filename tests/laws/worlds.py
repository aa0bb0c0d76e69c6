"""Worlds to try the law of rights on, and the writes that change them. Pure: chance in, facts out.

Chance is a `random.Random`: Hypothesis hands in one whose choices it can shrink, the soak one with
a seed. Nothing here iterates over a set without sorting it, so equal chance gives equal worlds.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TypeVar

from tests.laws.facts import (
    Audit,
    Credential,
    File,
    Group,
    Held,
    Key,
    Quota,
    Secret,
    Source,
    Tenant,
    User,
    Verb,
    Write,
    apply,
)

T = TypeVar("T")

SCOPES = ("pecia.search", "pecia.read", "pecia.write", "pecia.admin")
MODES = ("per_file", "per_file", "source_only", "open")
USERS = ("ana", "bo", "user3", "user4", "user5")
GROUPS = ("group1", "group2", "group3")
FROM_ELSEWHERE = (
    "email::ana@example.org",
    "email::bo@example.org",
    "posixgid:nas:100",
    "posixgid:nas:200",
    "oid:issuer:group|,{}",
)
SOURCES = ("s1", "s3://bucket/x", "wiki:Größe 'q'", "s4")
# Neighbours of a folder's range, and signs that mean something in patterns.
PREFIXES = ("", "a/", "a/b/", "b/", "a_/", "a%/", "ä/", "/")
KEYS = (
    "a/1.md",
    "a/b/2.md",
    "a/b/c/3.md",
    "b/4.md",
    "a",
    "a.md",
    "a0",
    "a/b",
    "ab/5.md",
    "a_/6.md",
    "a%/7.md",
    "ä/8.md",
    "A/1.md",
    "/9.md",
    "a//10.md",
    "it's/a|{key}",
)


@dataclass(slots=True)
class World:
    """Some tenants of one database. They share the names of everything, and nothing else."""

    tenants: list[Tenant]

    @property
    def credentials(self) -> list[tuple[Tenant, str]]:
        return [(tenant, it) for tenant in self.tenants for it in tenant.credential]

    def tenant(self, name: str) -> Tenant:
        return next(it for it in self.tenants if it.name == name)


def make_world(chance: Random) -> World:
    """One to three tenants with people, sources, files and rights."""
    count = chance.choice((2, 1, 2, 1, 3))
    return World([_make_tenant(chance, f"t{n}") for n in range(1, count + 1)])


def make_write(chance: Random, tenant: Tenant, verb: Verb, table: str) -> Write | None:
    """A well-formed write of this kind; None when there is nothing to do it to.

    Well-formed means that nothing but rights can stand in its way.
    """
    made = WRITES[verb, table](chance, tenant)
    return replace(made, verb=verb, table=table, tenant=tenant.name) if made else None


def make_any_write(chance: Random, world: World) -> Write | None:
    """Every kind is as likely as every other."""
    verb, table = chance.choice(KINDS)
    return make_write(chance, chance.choice(world.tenants), verb, table)


def make_step(chance: Random, world: World) -> Write | None:
    """A write that is likely to change who sees what."""
    verb, table = chance.choice(STEPS)
    return make_write(chance, chance.choice(world.tenants), verb, table)


def make_house_write(chance: Random, world: World) -> Write | None:
    """A write that only the house itself does, for nobody."""
    tenant = chance.choice(world.tenants)
    table = chance.choice(("credential", "file", "file", "tenant"))
    made = _HOUSE_WRITES[table](chance, tenant)
    return replace(made, verb="change", table=table, tenant=tenant.name) if made else None


def _make_tenant(chance: Random, name: str) -> Tenant:
    tenant = Tenant(name)
    tenant.principal.update(FROM_ELSEWHERE)
    tenant.status = chance.choice(("active",) * 19 + ("suspended",))
    _add_people(chance, tenant)
    _add_credentials(chance, tenant)
    for table, most in (("source", 2), ("source_role", 4), ("folder_grant", 4), ("file", 8)):
        _add(chance, tenant, table, chance.randint(1, most))
    for key in tenant.file:
        tenant.file[key] = replace(
            tenant.file[key],
            granted=_some(chance, _grantees(tenant), 3),
            known=chance.random() < 0.6,
        )
    _add(chance, tenant, "secret", chance.randint(0, 1))
    for kind in ("files", "chunks")[: chance.randint(0, 2)]:
        tenant.quota[kind] = Quota(chance.choice((1000, 5000)))
    return tenant


def _add_people(chance: Random, tenant: Tenant) -> None:
    for user in USERS[: chance.randint(1, 4)]:
        role = chance.choice(("member",) * 4 + ("admin",))
        status = chance.choice(("active",) * 9 + ("disabled",))
        apply(tenant, Write("add", "user_account", tenant.name, user, User(role, status)))
    for group in GROUPS[: chance.randint(0, 2)]:
        apply(tenant, Write("add", "user_group", tenant.name, group, Group(group)))
    for table in ("user_principal", "group_member"):
        _add(chance, tenant, table, chance.randint(0, 3))


def _add_credentials(chance: Random, tenant: Tenant) -> None:
    for user in tenant.user_account:
        for n in range(1, chance.choice((1, 1, 2)) + 1):
            kind = chance.choice(("pat", "local", "oidc"))
            tenant.credential[f"{tenant.name}/{user}/{n}"] = Credential(
                kind,
                user,
                _scopes(chance),
                claims=_some(chance, FROM_ELSEWHERE, 2) if kind == "oidc" else frozenset(),
                revoked=chance.random() < 0.07,
                expired=chance.random() < 0.07,
            )
    if chance.random() < 0.6:
        anonymous = Credential("anonymous", None, _scopes(chance))
        tenant.credential[f"{tenant.name}/anonymous"] = anonymous
    for n, key in enumerate(_some_in_order(chance, tenant.credential, 2)):
        told = Audit(tenant.credential[key].user_id, key)
        tenant.audit[f"{tenant.name}/audit/{n}"] = told


def _add(chance: Random, tenant: Tenant, table: str, count: int) -> None:
    for _ in range(count):
        if made := make_write(chance, tenant, "add", table):
            apply(tenant, made)


def _write(key: Key, row: object = None, /, **changes: object) -> Write:
    """The part of a write that its maker knows; verb, table and tenant are filled in later."""
    return Write("add", "", "", key, row, changes)


def _add_principal(chance: Random, tenant: Tenant) -> Write:
    return _write(f"email::{chance.choice(('new', 'newer', 'ana'))}@example.org")


def _add_user(chance: Random, tenant: Tenant) -> Write | None:
    name = _free(chance, USERS, tenant.user_account)
    return _write(name, User(chance.choice(("member", "admin")))) if name else None


def _change_user(chance: Random, tenant: Tenant) -> Write | None:
    if not tenant.user_account:
        return None
    user = chance.choice(sorted(tenant.user_account))
    if chance.random() < 0.5:
        return _write(user, role=chance.choice(("member", "admin")))
    return _write(user, status=chance.choice(("active", "disabled")))


def _add_user_principal(chance: Random, tenant: Tenant) -> Write | None:
    taken = {name for _, name in tenant.user_principal}
    name = _free(chance, FROM_ELSEWHERE, taken)
    if not name or not tenant.user_account:
        return None
    return _write((chance.choice(sorted(tenant.user_account)), name))


def _add_group(chance: Random, tenant: Tenant) -> Write | None:
    name = _free(chance, GROUPS, tenant.user_group)
    return _write(name, Group(name)) if name else None


def _change_group(chance: Random, tenant: Tenant) -> Write | None:
    group = _one(chance, tenant.user_group)
    return _write(group, name=f"{group} renamed") if group else None


def _add_member(chance: Random, tenant: Tenant) -> Write | None:
    free = [
        (group, user)
        for group in sorted(tenant.user_group)
        for user in sorted(tenant.user_account)
        if (group, user) not in tenant.group_member
    ]
    return _write(chance.choice(free)) if free else None


def _add_credential(chance: Random, tenant: Tenant) -> Write | None:
    user = _one(chance, tenant.user_account)
    if not user:
        return None
    kind = chance.choice(("pat", "pat", "pat", "local", "oidc"))
    claims = _some(chance, FROM_ELSEWHERE, 1) if chance.random() < 0.2 else frozenset[str]()
    names = [f"{tenant.name}/{user}/{n}" for n in range(1, 50)]
    key = next(it for it in names if it not in tenant.credential)
    return _write(key, Credential(kind, user, _scopes(chance), claims))


def _change_credential(chance: Random, tenant: Tenant) -> Write | None:
    revoked = [key for key, it in tenant.credential.items() if it.revoked]
    key = _one(chance, revoked if revoked and chance.random() < 0.4 else tenant.credential)
    return _write(key, revoked=key not in revoked) if key else None


def _add_source(chance: Random, tenant: Tenant) -> Write | None:
    source = _free(chance, SOURCES, tenant.source)
    return _write(source, Source(chance.choice(MODES))) if source else None


def _change_source(chance: Random, tenant: Tenant) -> Write | None:
    source = _one(chance, tenant.source)
    if not source:
        return None
    if chance.random() < 0.2:
        return _write(source, enabled=False)
    return _write(source, trim_mode=chance.choice(MODES))


def _add_role(chance: Random, tenant: Tenant) -> Write | None:
    source = _one(chance, tenant.source)
    whom = chance.choice(_grantees(tenant))
    if not source or (source, whom) in tenant.source_role:
        return None
    return _write((source, whom), Held(chance.choice(("reader", "writer", "owner"))))


def _change_role(chance: Random, tenant: Tenant) -> Write | None:
    key = _one(chance, tenant.source_role)
    return _write(key, role=chance.choice(("reader", "writer", "owner"))) if key else None


def _add_folder_grant(chance: Random, tenant: Tenant) -> Write | None:
    source = _one(chance, tenant.source)
    if not source:
        return None
    key = (source, chance.choice(PREFIXES), chance.choice(_grantees(tenant)))
    if key in tenant.folder_grant:
        return None
    return _write(key, Held(chance.choice(("reader", "writer"))))


def _change_folder_grant(chance: Random, tenant: Tenant) -> Write | None:
    key = _one(chance, tenant.folder_grant)
    return _write(key, role=chance.choice(("reader", "writer"))) if key else None


def _add_file(chance: Random, tenant: Tenant) -> Write | None:
    source = _one(chance, tenant.source)
    if not source:
        return None
    key = _free(chance, KEYS, {key for where, key in tenant.file if where == source})
    return _write((source, key), File(chance.randint(0, 9))) if key else None


def _change_file(chance: Random, tenant: Tenant) -> Write | None:
    file = _one(chance, tenant.file)
    if not file:
        return None
    match chance.choice(("grant", "move", "move", "resize")):
        case "grant":
            return _write(file, granted=_some(chance, _grantees(tenant), 2), known=True)
        case "move":
            taken = {key for where, key in tenant.file if where == file[0]}
            key = _free(chance, KEYS, taken)
            return _write(file, key=key) if key else None
        case _:
            return _write(file, size_bytes=chance.randint(0, 9))


def _add_audit(chance: Random, tenant: Tenant) -> Write | None:
    credential = _one(chance, tenant.credential)
    user = _one(chance, tenant.user_account)
    if not credential:
        return None
    if chance.random() < 0.7:
        user = tenant.credential[credential].user_id
    return _write(f"{tenant.name}/audit/{len(tenant.audit)}", Audit(user, credential))


def _add_secret(chance: Random, tenant: Tenant) -> Write | None:
    name = _free(chance, SOURCES, {name for _, name in tenant.secret})
    return _write(("source", name), Secret("key1")) if name else None


def _change_secret(chance: Random, tenant: Tenant) -> Write | None:
    key = _one(chance, tenant.secret)
    return _write(key, key_id="key2") if key else None


def _remove(table: str) -> "Maker":
    def make(chance: Random, tenant: Tenant) -> Write | None:
        key = _one(chance, getattr(tenant, table))
        return _write(key) if key else None

    return make


Maker = Callable[[Random, Tenant], Write | None]

WRITES: dict[tuple[Verb, str], Maker] = {
    ("add", "principal"): _add_principal,
    ("add", "user_account"): _add_user,
    ("change", "user_account"): _change_user,
    ("remove", "user_account"): _remove("user_account"),
    ("add", "user_principal"): _add_user_principal,
    ("remove", "user_principal"): _remove("user_principal"),
    ("add", "user_group"): _add_group,
    ("change", "user_group"): _change_group,
    ("remove", "user_group"): _remove("user_group"),
    ("add", "group_member"): _add_member,
    ("remove", "group_member"): _remove("group_member"),
    ("add", "credential"): _add_credential,
    ("change", "credential"): _change_credential,
    ("add", "source"): _add_source,
    ("change", "source"): _change_source,
    ("remove", "source"): _remove("source"),
    ("add", "source_role"): _add_role,
    ("change", "source_role"): _change_role,
    ("remove", "source_role"): _remove("source_role"),
    ("add", "folder_grant"): _add_folder_grant,
    ("change", "folder_grant"): _change_folder_grant,
    ("remove", "folder_grant"): _remove("folder_grant"),
    ("add", "file"): _add_file,
    ("change", "file"): _change_file,
    ("remove", "file"): _remove("file"),
    ("add", "audit"): _add_audit,
    ("add", "secret"): _add_secret,
    ("change", "secret"): _change_secret,
    ("remove", "secret"): _remove("secret"),
}

KINDS = tuple(WRITES)

# What rights hang on comes up most.
STEPS = (
    *WRITES,
    *[it for it in WRITES if it[1] in ("source_role", "folder_grant", "credential")],
    *[it for it in WRITES if it[1] in ("source", "file") and it[0] != "remove"] * 2,
    *[("change", "file")] * 10,
)


def _suspend(chance: Random, tenant: Tenant) -> Write:
    return _write(tenant.name, status=chance.choice(("active",) * 4 + ("suspended",)))


def _change_claims(chance: Random, tenant: Tenant) -> Write | None:
    oidc = sorted(key for key, it in tenant.credential.items() if it.kind == "oidc")
    key = _one(chance, oidc)
    return _write(key, claims=_some(chance, FROM_ELSEWHERE, 2)) if key else None


def _capture(chance: Random, tenant: Tenant) -> Write | None:
    key = _one(chance, tenant.file)
    granted = _some(chance, _grantees(tenant), 2)
    return _write(key, granted=granted, known=chance.random() < 0.5) if key else None


_HOUSE_WRITES: dict[str, Maker] = {
    "tenant": _suspend,
    "credential": _change_claims,
    "file": _capture,
}


def _grantees(tenant: Tenant) -> list[str]:
    """Whom rights are given to: anybody, a role of the tenant as likely as a person."""
    return [*sorted(tenant.principal), "role::everyone", "role::anyone", "role::anyone"]


def _scopes(chance: Random) -> frozenset[str]:
    if chance.random() < 0.6:
        return frozenset(SCOPES)
    return frozenset(it for it in SCOPES if chance.random() < 0.5)


def _one(chance: Random, options: Iterable[T]) -> T | None:
    found = sorted(options, key=str)
    return chance.choice(found) if found else None


def _free(chance: Random, options: Sequence[str], taken: Iterable[str]) -> str | None:
    return _one(chance, set(options).difference(taken))


def _some(chance: Random, options: Sequence[T], most: int) -> frozenset[T]:
    return frozenset(chance.choice(options) for _ in range(chance.randint(0, most)))


def _some_in_order(chance: Random, options: Iterable[str], most: int) -> list[str]:
    return sorted(_some(chance, sorted(options), most))
