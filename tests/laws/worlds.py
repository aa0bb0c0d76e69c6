"""Worlds to try the law of rights on. Pure: chance in, facts out.

Chance is a `random.Random`: Hypothesis hands in one whose choices it can shrink, the soak one with
a seed. Equal chance makes equal worlds.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from random import Random

from tests.laws.facts import Audit, Credential, Group, Job, Quota, Tenant, User, Write, apply
from tests.laws.writes import (
    FROM_ELSEWHERE,
    GROUPS,
    USERS,
    grantees,
    make_write,
    new_texts,
    some,
    some_scopes,
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
            granted=some(chance, grantees(tenant), 3),
            known=chance.random() < 0.6,
            texts=(texts := new_texts(tenant, chance.choice((0, 1, 1, 2)))),
            embedded=bool(texts) and chance.random() < 0.7,
        )
    _add(chance, tenant, "secret", chance.randint(0, 1))
    for kind in ("files", "chunks")[: chance.randint(0, 2)]:
        tenant.quota[kind] = Quota(chance.choice((1000, 5000)))
    for n in range(chance.randint(0, 2)):
        asked_by = some(chance, sorted(tenant.user_account), 2)
        tenant.jobs_visible[f"{tenant.name}/job/{n}"] = Job(asked_by)
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
                some_scopes(chance),
                claims=some(chance, FROM_ELSEWHERE, 2) if kind == "oidc" else frozenset(),
                revoked=chance.random() < 0.07,
                expired=chance.random() < 0.07,
            )
    if chance.random() < 0.6:
        anonymous = Credential("anonymous", None, some_scopes(chance))
        tenant.credential[f"{tenant.name}/anonymous"] = anonymous
    for n, key in enumerate(_some_in_order(chance, tenant.credential, 2)):
        told = Audit(tenant.credential[key].user_id, key)
        tenant.audit[f"{tenant.name}/audit/{n}"] = told


def _add(chance: Random, tenant: Tenant, table: str, count: int) -> None:
    for _ in range(count):
        if made := make_write(chance, tenant, "add", table):
            apply(tenant, made)


def _some_in_order(chance: Random, options: Iterable[str], most: int) -> list[str]:
    return sorted(some(chance, sorted(options), most))
