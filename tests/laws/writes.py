"""Writes to try in a world: each kind there is, well-formed, so that only rights stand in its way.

Pure: chance and facts in, a write out. Nothing iterates over a set without sorting it, so equal
chance makes equal writes.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import count as counter
from itertools import islice
from random import Random
from typing import TypeVar

from tests.laws.facts import (
    Audit,
    Credential,
    File,
    Group,
    Key,
    RoleGrant,
    Secret,
    Source,
    Tenant,
    User,
    Verb,
    Write,
)

T = TypeVar("T")

SCOPES = ("pecia.search", "pecia.read", "pecia.write", "pecia.admin")
MODES = ("per_file", "per_file", "per_file", "source_only", "open")
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
PROTOCOLS = ("folder", "web", "upload", "web", "wiki")
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
    "?a",
)
# Those of a site, whose folders are pages as well.
SITE_PREFIXES = ("", "/a/", "/a/", "/a/b/", "/b/", "/a_/", "/a?x=1/")
SITE_KEYS = (
    "/",
    "/a",
    "/a?x=1",
    "/a?x=1?",
    "/a?in=/b/",
    "/a/",
    "/a/1",
    "/a/b",
    "/a/b?y=2",
    "/a/b/3.md",
    "/a-old",
    "/a-old?in=/a/",
    "/a0",
    "/a@b",
    "/b?x",
    "/b/4?z=1",
    "/A",
    "/a_/6",
    "/more?of=/a/1",
)


def keys_of(source: Source) -> Sequence[str]:
    """The keys that files of this source may have."""
    return SITE_KEYS if source.protocol == "web" else KEYS


def prefixes_of(source: Source) -> Sequence[str]:
    return SITE_PREFIXES if source.protocol == "web" else PREFIXES


def make_write(chance: Random, tenant: Tenant, verb: Verb, table: str) -> Write | None:
    """A well-formed write of this kind; None when there is nothing to do it to.

    Well-formed means that nothing but rights can stand in its way.
    """
    made = WRITES[verb, table](chance, tenant)
    return replace(made, verb=verb, table=table, tenant=tenant.name) if made else None


def make_any_write(chance: Random, tenants: Sequence[Tenant]) -> Write | None:
    """Any kind, as likely as the others."""
    verb, table = chance.choice(KINDS)
    return make_write(chance, chance.choice(tenants), verb, table)


def make_step(chance: Random, tenants: Sequence[Tenant]) -> Write | None:
    """A write that is likely to change who sees what."""
    verb, table = chance.choice(STEPS)
    return make_write(chance, chance.choice(tenants), verb, table)


def make_house_write(chance: Random, tenants: Sequence[Tenant]) -> Write | None:
    """A write that only the house itself does, for nobody."""
    tenant = chance.choice(tenants)
    table = chance.choice(("credential", "file", "file", "tenant"))
    made = _HOUSE_WRITES[table](chance, tenant)
    return replace(made, verb="change", table=table, tenant=tenant.name) if made else None


def from_elsewhere(tenant: Tenant) -> list[str]:
    """Names of other systems that are known here, or nothing when all were purged."""
    return [it for it in FROM_ELSEWHERE if it in tenant.principal]


def grantees(tenant: Tenant) -> list[str]:
    """Whom rights are given to: anybody, but most often somebody who is there to ask."""
    users = sorted(f"user::{it}" for it in tenant.user_account)
    return [*sorted(tenant.principal), *users * 3, "role::everyone", "role::anyone", "role::anyone"]


def new_texts(tenant: Tenant, count: int) -> tuple[str, ...]:
    """Words that no file here says."""
    said = {text for it in tenant.file.values() for text in it.texts}
    return tuple(islice((it for n in counter() if (it := f"text {n}") not in said), count))


def some_scopes(chance: Random) -> frozenset[str]:
    if chance.random() < 0.6:
        return frozenset(SCOPES)
    return frozenset(it for it in SCOPES if chance.random() < 0.5)


def some(chance: Random, options: Sequence[T], most: int) -> frozenset[T]:
    return frozenset(
        chance.choice(options) for _ in range(chance.randint(0, most) if options else 0)
    )


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


def _remove_user(chance: Random, tenant: Tenant) -> Write | None:
    user = _one(chance, tenant.user_account)
    if not user:
        return None
    return _write(user, purge=True) if chance.random() < 0.5 else _write(user)


def _add_user_principal(chance: Random, tenant: Tenant) -> Write | None:
    taken = {name for _, name in tenant.user_principal}
    name = _free(chance, from_elsewhere(tenant), taken)
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
    asserted = chance.random() < 0.2
    claims = some(chance, from_elsewhere(tenant), 1) if asserted else frozenset[str]()
    names = [f"{tenant.name}/{user}/{n}" for n in range(1, 50)]
    key = next(it for it in names if it not in tenant.credential)
    return _write(key, Credential(kind, user, some_scopes(chance), claims))


def _change_credential(chance: Random, tenant: Tenant) -> Write | None:
    revoked = [key for key, it in tenant.credential.items() if it.revoked]
    key = _one(chance, revoked if revoked and chance.random() < 0.6 else tenant.credential)
    return _write(key, revoked=key not in revoked) if key else None


def _add_source(chance: Random, tenant: Tenant) -> Write | None:
    source = _free(chance, SOURCES, tenant.source)
    made = Source(chance.choice(MODES), chance.choice(PROTOCOLS))
    return _write(source, made) if source else None


def _change_source(chance: Random, tenant: Tenant) -> Write | None:
    source = _one(chance, tenant.source)
    if not source:
        return None
    if chance.random() < 0.2:
        return _write(source, enabled=not tenant.source[source].enabled)
    return _write(source, trim_mode=chance.choice(MODES))


def _add_role(chance: Random, tenant: Tenant) -> Write | None:
    source = _one(chance, tenant.source)
    whom = chance.choice(grantees(tenant))
    if not source or (source, whom) in tenant.source_role:
        return None
    return _write((source, whom), RoleGrant(chance.choice(("reader", "writer", "owner"))))


def _change_role(chance: Random, tenant: Tenant) -> Write | None:
    key = _one(chance, tenant.source_role)
    return _write(key, role=chance.choice(("reader", "writer", "owner"))) if key else None


def _add_folder_grant(chance: Random, tenant: Tenant) -> Write | None:
    source = _one(chance, tenant.source)
    if not source:
        return None
    prefix = chance.choice(prefixes_of(tenant.source[source]))
    key = (source, prefix, chance.choice(grantees(tenant)))
    if key in tenant.folder_grant:
        return None
    return _write(key, RoleGrant(chance.choice(("reader", "writer"))))


def _change_folder_grant(chance: Random, tenant: Tenant) -> Write | None:
    key = _one(chance, tenant.folder_grant)
    return _write(key, role=chance.choice(("reader", "writer"))) if key else None


def _add_file(chance: Random, tenant: Tenant) -> Write | None:
    source = _one(chance, tenant.source)
    if not source:
        return None
    taken = {key for where, key in tenant.file if where == source}
    key = _free(chance, keys_of(tenant.source[source]), taken)
    texts = new_texts(tenant, chance.randint(0, 1))
    return _write((source, key), File(chance.randint(0, 9), texts=texts)) if key else None


def _change_file(chance: Random, tenant: Tenant) -> Write | None:
    unknown = [key for key, it in tenant.file.items() if not it.known]
    file = _one(chance, unknown if unknown and chance.random() < 0.4 else tenant.file)
    if not file:
        return None
    match chance.choice(("grant", "move", "move", "resize", "say")):
        case "grant":
            return _write(file, granted=some(chance, grantees(tenant), 2), known=True)
        case "move":
            taken = {key for where, key in tenant.file if where == file[0]}
            key = _free(chance, keys_of(tenant.source[file[0]]), taken)
            return _write(file, key=key) if key else None
        case "say":
            return _write(file, text=new_texts(tenant, 1)[0], size_bytes=chance.randint(0, 9))
        case _:
            return _write(file, size_bytes=chance.randint(0, 9))


def _remove_file(chance: Random, tenant: Tenant) -> Write | None:
    key = _one(chance, tenant.file)
    if not key:
        return None
    return _write(key, purge=True) if chance.random() < 0.3 else _write(key)


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


def _change_job(chance: Random, tenant: Tenant) -> Write | None:
    key = _one(chance, tenant.jobs_visible)
    return _write(key, status=chance.choice(("waiting", "cancelled"))) if key else None


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
    ("remove", "user_account"): _remove_user,
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
    ("remove", "file"): _remove_file,
    ("add", "audit"): _add_audit,
    ("change", "jobs_visible"): _change_job,
    ("add", "secret"): _add_secret,
    ("change", "secret"): _change_secret,
    ("remove", "secret"): _remove("secret"),
}

CHANGE_FILE: tuple[Verb, str] = ("change", "file")
CHANGE_JOB: tuple[Verb, str] = ("change", "jobs_visible")

# A change of a file is four things: new facts, new grants, a new place or a new text.
KINDS: list[tuple[Verb, str]] = [*WRITES, *[CHANGE_FILE] * 7, *[CHANGE_JOB] * 3]

# What rights hang on comes up most.
STEPS: list[tuple[Verb, str]] = [
    *WRITES,
    *[it for it in WRITES if it[1] in ("source_role", "folder_grant", "credential")] * 2,
    *[it for it in WRITES if it[1] in ("source", "file") and it[0] != "remove"] * 2,
    *[CHANGE_FILE] * 10,
]


def _suspend(chance: Random, tenant: Tenant) -> Write:
    return _write(tenant.name, status=chance.choice(("active",) * 4 + ("suspended",)))


def _change_claims(chance: Random, tenant: Tenant) -> Write | None:
    oidc = sorted(key for key, it in tenant.credential.items() if it.kind == "oidc")
    key = _one(chance, oidc)
    return _write(key, claims=some(chance, from_elsewhere(tenant), 2)) if key else None


def _capture(chance: Random, tenant: Tenant) -> Write | None:
    key = _one(chance, tenant.file)
    granted = some(chance, grantees(tenant), 2)
    return _write(key, granted=granted, known=chance.random() < 0.5) if key else None


_HOUSE_WRITES: dict[str, Maker] = {
    "tenant": _suspend,
    "credential": _change_claims,
    "file": _capture,
}


def _one(chance: Random, options: Iterable[T]) -> T | None:
    found = sorted(options, key=str)
    return chance.choice(found) if found else None


def _free(chance: Random, options: Sequence[str], taken: Iterable[str]) -> str | None:
    return _one(chance, set(options).difference(taken))
