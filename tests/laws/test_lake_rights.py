"""Rights hold in the lake: every tool shows exactly what the oracle says, and refuses one way.

The law is in lake_law.py, the meaning of rights in oracle.py and lake_oracle.py.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from random import Random

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pecia.app.app import SETTINGS, App, open_app
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import house_flags, no_fetch
from tests.laws.facts import Tenant, Write, apply
from tests.laws.lake_clients import Inside, embed, index, with_hashing
from tests.laws.lake_law import (
    Standing,
    Tally,
    TokenHolder,
    check,
    check_in_flight,
    check_reading,
    questions,
    standing,
)
from tests.laws.lake_oracle import At, Question
from tests.laws.law_database import connect
from tests.laws.oracle import caller
from tests.laws.paths import SystemPath
from tests.laws.sql import Names, bearer
from tests.laws.worlds import World, make_world
from tests.laws.writes import make_step
from tests.soak import FIRST, SOAK, WORLDS, record

# A world costs an index of each tenant and some sixty calls a caller.
SHARE = 20
MOST_STEPS = 12
MOST_IN_FLIGHT = 8


@dataclass(frozen=True, slots=True)
class LakeApp:
    """An open App, and the house that makes worlds in its database."""

    app: App
    portal: BlockingPortal
    house: SystemPath

    def load(self, world: World, chance: Random) -> Names:
        return self.house.load(world, chance)

    def settle(self, world: World, names: Names) -> None:
        """Vectors and words as the store has them now."""
        for tenant in world.tenants:
            texts = [it.texts[-1] for it in tenant.file.values() if it.embedded]
            self.portal.call(embed, self.app.store, names.tenant(tenant.name), texts)
        self.portal.call(index, self.app, names.tenant_ids)

    def step(self, world: World, names: Names, chance: Random) -> list[str]:
        """One change by the house, told; nothing when there was nothing to change."""
        write = make_step(chance, world.tenants)
        if write is None or "purge" in write.changes:
            return []
        self.house.do(names, write)
        apply(world.tenant(write.tenant), write)
        if write.table in ("principal", "user_account", "user_group"):
            self.house.learn_principals(names)
        return [str(write)]

    def switch_off(self, world: World, names: Names, chance: Random) -> None:
        """One source, in about half of the worlds."""
        tenant = chance.choice(world.tenants)
        source = chance.choice([None, *sorted(tenant.source)])
        if source is not None:
            off = Write("change", "source", tenant.name, source, changes={"enabled": False})
            self.house.do(names, off)
            apply(tenant, off)

    def try_world(self, chance: Random) -> Tally:
        """A new world, some steps old, held to the law."""
        world = make_world(chance)
        names = self.load(world, chance)
        for _ in range(chance.randint(0, MOST_STEPS)):
            self.step(world, names, chance)
        self.switch_off(world, names, chance)
        self.settle(world, names)
        try:
            return self.check(world, names, chance)
        except AssertionError as error:
            error.add_note(str(world))
            raise

    def check_flight(
        self,
        tenant: Tenant,
        names: Names,
        settled: dict[At, Standing],
        chance: Random,
        total: Tally,
    ) -> None:
        for visitor in self.visitors(tenant, names, total):
            # The same each time, so that an answer kept from the last time would be a wrong one.
            same = [Question("text"), Question("text", mode="hybrid")]
            for asked in (*same, chance.choice([*questions(chance, tenant)])):
                self.portal.call(check_in_flight, visitor, asked, settled, total)

    def check_reading(self, tenant: Tenant, names: Names, total: Tally) -> None:
        for visitor in self.visitors(tenant, names, total):
            self.portal.call(check_reading, visitor)

    def visitors(self, tenant: Tenant, names: Names, total: Tally) -> Iterator[TokenHolder]:
        """Members who may search and read."""
        for credential in tenant.credential:
            who = caller(tenant, credential)
            if who and who.is_member and {"pecia.search", "pecia.read"} <= who.scopes:
                yield TokenHolder(Inside(self.app), bearer(names, credential), who, total)

    def check(self, world: World, names: Names, chance: Random) -> Tally:
        total = Tally(worlds=1)
        for tenant, credential in world.credentials:
            token = bearer(names, credential)
            add(
                total,
                self.portal.call(check, Inside(self.app), tenant, credential, token, chance),
            )
        return total


@pytest.fixture
def shore(database: DatabaseLogins, tmp_path: Path) -> Iterator[LakeApp]:
    loaded = load_settings(
        SETTINGS,
        flags=house_flags(database, tmp_path / "home"),
        environ={},
        project_file=None,
        user_file=None,
    )
    with start_blocking_portal() as portal, connect(database.system) as system:
        opening = open_app(loaded, fetch=no_fetch, report=lambda _: None)
        with portal.wrap_async_context_manager(opening) as app:
            yield LakeApp(with_hashing(app), portal, SystemPath(system))


@pytest.mark.timeout(0 if SOAK else 120)
def test_every_tool_shows_what_may_be_seen_and_refuses_the_rest_one_way(shore: LakeApp) -> None:
    total = Tally()
    for seed in range(FIRST, FIRST + WORLDS // SHARE):
        try:
            add(total, shore.try_world(Random(seed)))
        except AssertionError as error:
            error.add_note(f"in the world of seed {seed}")
            raise
    assert total.hits
    assert total.refusals
    record("search-rights", {**asdict(total), "first_seed": FIRST})


@pytest.mark.timeout(600)
@settings(
    deadline=None,
    max_examples=4,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 2**64))
def test_rights_hold_in_worlds_never_seen_before(shore: LakeApp, seed: int) -> None:
    # A seed, as Hypothesis cannot replay draws whose number depends on what the store answered.
    shore.try_world(Random(seed))


@pytest.mark.timeout(0 if SOAK else 120)
def test_rights_that_change_in_flight_hold_in_the_very_next_answer(shore: LakeApp) -> None:
    """The indexes are held back: rights and texts change, and only the store knows."""
    total = Tally()
    for seed in range(FIRST, FIRST + WORLDS // SHARE):
        chance = Random(seed)
        world = make_world(chance)
        names = shore.load(world, chance)
        shore.settle(world, names)
        settled = [{at: standing(it, at) for at in it.file} for it in world.tenants]
        story: list[str] = []
        try:
            for _ in range(chance.randint(2, MOST_IN_FLIGHT)):
                for tenant, before in zip(world.tenants, settled, strict=True):
                    shore.check_flight(tenant, names, before, chance, total)
                story += shore.step(world, names, chance)
            for tenant in world.tenants:
                shore.check_reading(tenant, names, total)
            shore.settle(world, names)
            add(total, shore.check(world, names, chance))
        except AssertionError as error:
            error.add_note(f"in the world of seed {seed}: {world}\nsince the index: {story}")
            raise
    assert total.hits
    record("search-flight", {**asdict(total), "first_seed": FIRST})


def add(total: Tally, more: Tally) -> None:
    for it in fields(Tally):
        setattr(total, it.name, getattr(total, it.name) + getattr(more, it.name))
