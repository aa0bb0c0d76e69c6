"""Twins of a world: equal in all that one caller may see, and otherwise as different as may be.

Pure: chance and facts in, facts out. Whoever asks in either must be told the same.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any, TypeAlias, cast

import pytest

from tests.laws.facts import File, RoleGrant, Source, Tenant
from tests.laws.lake_oracle import At
from tests.laws.oracle import Caller, caller, sees_file
from tests.laws.visible import Rows, visible
from tests.laws.worlds import World, make_world
from tests.laws.writes import PROTOCOLS, SOURCES, keys_of

Change: TypeAlias = Callable[[Random, Tenant, str], None]

SEEN = ("source", "source_role", "folder_grant", "file", "revision", "chunk", "vector", "acl")
"""What twins have in common. Classes are seen by the files that carry them."""


def worlds_to_tell_apart(first: int) -> Iterator[tuple[int, Random, World, tuple[Tenant, str]]]:
    """Worlds by their seeds, each with a member who may read some of its texts and not others."""
    for seed in count(first):
        chance = Random(seed)
        world = make_world(chance)
        members = [it for it in world.credentials if _sees_some(*it)]
        if members:
            yield seed, chance, world, chance.choice(members)


def _sees_some(tenant: Tenant, credential: str) -> bool:
    who = caller(tenant, credential)
    if who is None or not who.is_member or not {"pecia.search", "pecia.read"} <= who.scopes:
        return False
    texts = [sees_file(who, *at) for at, it in tenant.file.items() if it.texts]
    return any(texts) and not all(texts)


def hidden(who: Caller) -> list[At]:
    return [at for at in sorted(who.tenant.file) if not sees_file(who, *at)]


def twin(chance: Random, tenant: Tenant, credential: str, changes: int = 8) -> Tenant:
    """The same tenant to this caller, after changes they cannot see."""
    made = deepcopy(tenant)
    for n in range(changes):
        tried = deepcopy(made)
        chance.choice(_CHANGES)(chance, tried, f"text {9000 + n}")
        if shown(tried, credential) == shown(tenant, credential):
            made = tried
    return made


def reworded(tenant: Tenant, credential: str) -> Tenant:
    """The same tenant to this caller; hidden files say another number, and as many words."""
    made = deepcopy(tenant)
    who = caller(made, credential)
    assert who is not None
    for n, at in enumerate(hidden(who)):
        texts = made.file[at].texts
        others = tuple(f"text {9000 + 100 * n + m}" for m in range(len(texts)))
        made.file[at] = replace(made.file[at], texts=others)
    return made


def shown(tenant: Tenant, credential: str) -> dict[str, Rows]:
    who = caller(tenant, credential)
    assert who is not None
    rows = visible(who)
    return {table: rows[table] for table in SEEN}


# The engine reckons in 24 bits, and the index keeps five digits of what it says.
DIGITS = 1e-4


def near(it: Any) -> Any:
    """The same, with every number as near as can be told."""
    if isinstance(it, dict):
        return {name: near(value) for name, value in cast(dict[str, Any], it).items()}
    if isinstance(it, list):
        return [near(value) for value in cast(list[Any], it)]
    return pytest.approx(it, rel=DIGITS, abs=DIGITS) if isinstance(it, float) else it


def _one(chance: Random, tenant: Tenant) -> At | None:
    return chance.choice(sorted(tenant.file)) if tenant.file else None


def _place(chance: Random, tenant: Tenant, source: str) -> At:
    return source, chance.choice(keys_of(tenant.source[source]))


def _drop_file(chance: Random, tenant: Tenant, text: str) -> None:
    if at := _one(chance, tenant):
        del tenant.file[at]


def _reword(chance: Random, tenant: Tenant, text: str) -> None:
    """Words that are asked for, in a text the caller may not see."""
    if at := _one(chance, tenant):
        texts = (f"text text {text}",)
        tenant.file[at] = replace(tenant.file[at], texts=texts, embedded=chance.random() < 0.5)


def _regrant(chance: Random, tenant: Tenant, text: str) -> None:
    if at := _one(chance, tenant):
        granted = frozenset(chance.sample(sorted(tenant.principal), k=2))
        tenant.file[at] = replace(tenant.file[at], granted=granted, known=chance.random() < 0.5)


def _add_file(chance: Random, tenant: Tenant, text: str) -> None:
    at = _place(chance, tenant, chance.choice(sorted(tenant.source))) if tenant.source else None
    if at and at not in tenant.file:
        tenant.file[at] = File(7, texts=(text,), embedded=chance.random() < 0.5)


def _move_file(chance: Random, tenant: Tenant, text: str) -> None:
    at = _one(chance, tenant)
    if at and (to := _place(chance, tenant, at[0])) not in tenant.file:
        tenant.file[to] = tenant.file.pop(at)


def _add_source(chance: Random, tenant: Tenant, text: str) -> None:
    source = chance.choice(SOURCES)
    if source not in tenant.source:
        tenant.source[source] = Source("per_file", chance.choice(PROTOCOLS))
        tenant.file[_place(chance, tenant, source)] = File(3, texts=(text,))


def _drop_source(chance: Random, tenant: Tenant, text: str) -> None:
    if not tenant.source:
        return
    gone = chance.choice(sorted(tenant.source))
    del tenant.source[gone]
    tenant.source_role = {k: it for k, it in tenant.source_role.items() if k[0] != gone}
    tenant.folder_grant = {k: it for k, it in tenant.folder_grant.items() if k[0] != gone}
    tenant.file = {k: it for k, it in tenant.file.items() if k[0] != gone}


def _grant_others(chance: Random, tenant: Tenant, text: str) -> None:
    if tenant.source:
        key = (chance.choice(sorted(tenant.source)), chance.choice(sorted(tenant.principal)))
        tenant.source_role[key] = RoleGrant(chance.choice(("reader", "writer", "owner")))


_CHANGES: tuple[Change, ...] = (
    _drop_file,
    _reword,
    _reword,
    _regrant,
    _add_file,
    _add_file,
    _move_file,
    _add_source,
    _drop_source,
    _grant_others,
)
