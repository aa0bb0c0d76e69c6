"""Rights hold: in every world, for every caller, every row seen and every write done is allowed.

The law itself is in law.py, the meaning of rights in oracle.py. Below it are the few truths that
worlds cannot state, such as what happens without an identity.
"""

import time
from dataclasses import asdict
from random import Random
from typing import Any, LiteralString, cast

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.laws.facts import Credential, File, Held, Source, Tenant, User
from tests.laws.ground import Ground
from tests.laws.law import Tally
from tests.laws.oracle import TABLES
from tests.laws.soak import SOAK, Shift, record
from tests.laws.sql import Names
from tests.laws.worlds import SCOPES, World

CHANCE = st.randoms(use_true_random=False)
# Worlds are apart from each other by their tenants, so they can share one database.
SHARED = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@settings(SHARED, max_examples=100, derandomize=True)
@given(chance=CHANCE)
def test_rights_hold_in_these_worlds(ground: Ground, chance: Random) -> None:
    ground.try_world(chance, Tally())


@settings(SHARED, max_examples=30)
@given(chance=CHANCE)
def test_rights_hold_in_worlds_never_seen_before(ground: Ground, chance: Random) -> None:
    ground.try_world(chance, Tally())


@pytest.mark.skipif(not SOAK, reason="the long form of the two above, for make soak")
@pytest.mark.timeout(0)
def test_rights_hold_in_a_great_many_worlds(ground: Ground) -> None:
    tally, shift, begun = Tally(), Shift(), time.monotonic()
    for seed in shift.seeds:
        try:
            ground.try_world(Random(seed), tally)
        except AssertionError as error:
            error.add_note(f"in the world of seed {seed}")
            raise
    elapsed_s = time.monotonic() - begun
    per_s = round(tally.worlds / elapsed_s, 1)
    figures = {"elapsed_s": round(elapsed_s), "worlds_per_s": per_s, "first_seed": shift.first}
    record("soak-rights", {**asdict(tally), **figures})


def test_nobody_sees_nothing(ground: Ground) -> None:
    trial = ground.begin(seed=1)
    shown = ground.path.read_as_is(trial.names)
    assert shown == {table: frozenset() for table in TABLES}


def test_a_forged_identity_is_an_error_wherever_it_looks(ground: Ground) -> None:
    names = load_small(ground)
    forged = f"{'0' * 64}|{names.tenant('t1')}|||am|{{pecia.admin}}|{{1,2,3}}"
    for table in TABLES:
        with pytest.raises(psycopg.Error, match="kernel.enter") as caught, ground.app.transaction():
            ground.app.execute("SELECT set_config('pecia.identity', %s, true)", [forged])
            run(ground, f"SELECT count(*) FROM kernel.{table}")
        assert caught.value.sqlstate == "PE403"


def test_an_identity_does_not_outlive_its_transaction_even_if_kept(ground: Ground) -> None:
    names = load_small(ground)
    kept = as_caller(ground, names, ANA, "SELECT current_setting('pecia.identity')")[0][0]
    assert names.tenant("t1") in kept
    with pytest.raises(psycopg.Error, match="kernel.enter"), ground.app.transaction():
        ground.app.execute("SELECT set_config('pecia.identity', %s, true)", [kept])
        run(ground, "SELECT * FROM kernel.tenant")


def test_no_caller_reads_what_makes_a_credential_or_a_secret(ground: Ground) -> None:
    names = load_small(ground)
    for table, column in (
        ("credential", "hash"),
        ("credential", "claims"),
        ("secret", "nonce"),
        ("secret", "ciphertext"),
    ):
        assert refusal(ground, names, ANA, f"SELECT {column} FROM kernel.{table}") == "42501"


def test_a_grant_cannot_name_a_principal_of_another_tenant(ground: Ground) -> None:
    names = load_small(ground)
    stranger = names.principal("t2", "user::bo")
    with pytest.raises(psycopg.Error) as caught:
        as_caller(ground, names, ANA, f"SELECT kernel.grant_file('s1', 'a/1', '{{{stranger}}}')")
    assert caught.value.sqlstate == "PE404"
    for table, column in (("source_role", ""), ("folder_grant", "'a/', ")):
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            values = f"'{names.tenant('t1')}', 's1', {column}{stranger}, 'reader'"
            as_caller(ground, names, ANA, f"INSERT INTO kernel.{table} VALUES ({values})")


def test_a_source_that_is_hidden_refuses_like_one_that_is_not_there(ground: Ground) -> None:
    names = load_small(ground)
    refusals = {
        refusal(ground, names, BO, f"INSERT INTO kernel.{table} ({columns}) VALUES ({values})")
        for source in ("hidden", "missing")
        for table, columns, values in [
            ("file", "tenant_id, source_id, key", f"'{names.tenant('t1')}', '{source}', 'a/1'")
        ]
    }
    assert refusals == {"42501"}


def test_a_folder_writer_may_put_a_file_again_and_again(ground: Ground) -> None:
    """The class of the first file in a folder is made by the statement that puts it."""
    names = load_small(ground)
    put = f"""
        INSERT INTO kernel.file (tenant_id, source_id, key, size_bytes)
        VALUES ('{names.tenant("t1")}', 's1', 'b/new', 1)
        ON CONFLICT (tenant_id, source_id, key) DO UPDATE SET size_bytes = 2
        RETURNING size_bytes
    """
    assert as_caller(ground, names, BO, put) == [(1,)]
    assert as_caller(ground, names, BO, put) == [(2,)]


def test_tenants_can_be_removed_with_everything_in_them(ground: Ground) -> None:
    gone, left = (
        [it for seed in range(6) for it in ground.begin(seed).names.tenant_ids] for _ in range(2)
    )
    before = rows_of(ground, left)
    assert all(before[f"kernel.{table}"] for table in TABLES if table != "tenant")
    ground.system.execute("DELETE FROM kernel.tenant WHERE id = ANY (%s)", [gone])
    assert not any(rows_of(ground, gone).values())
    assert rows_of(ground, left) == before


ANA, BO = "t1/ana/1", "t1/bo/1"


def load_small(ground: Ground) -> Names:
    """Two tenants. In the first, ana administers, and bo writes in the folder `b/` of `s1`."""
    every = frozenset(SCOPES)
    home = Tenant("t1", principal={"user::ana", "user::bo"})
    home.user_account = {"ana": User("admin"), "bo": User()}
    home.credential = {
        ANA: Credential("pat", "ana", every),
        BO: Credential("pat", "bo", every),
    }
    home.source = {"s1": Source("per_file"), "hidden": Source("per_file")}
    home.folder_grant = {("s1", "b/", "user::bo"): Held("writer")}
    home.file = {("s1", "a/1"): File(1), ("s1", "b/2"): File(2), ("hidden", "a/1"): File(3)}
    away = Tenant("t2", principal={"user::bo"}, user_account={"bo": User()})
    return ground.house.load(World([home, away]), Random(0))


def as_caller(ground: Ground, names: Names, who: str, statement: str) -> list[tuple[Any, ...]]:
    """One statement as somebody, kept when it succeeds."""
    with ground.app.transaction():
        ground.app.execute("SELECT kernel.enter(%s)", [names.id(who)])
        return run(ground, statement)


def refusal(ground: Ground, names: Names, who: str, statement: str) -> str | None:
    with pytest.raises(psycopg.Error) as caught:
        as_caller(ground, names, who, statement)
    return caught.value.sqlstate


def run(ground: Ground, statement: str) -> list[tuple[Any, ...]]:
    # Made of this file's own words.
    found = ground.app.execute(cast(LiteralString, statement))
    return found.fetchall() if found.description else []


def rows_of(ground: Ground, tenants: list[str]) -> dict[str, int]:
    """How many rows they have, in each table that knows tenants."""
    tables = ground.system.execute("""
        SELECT attrelid::regclass::text FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
         WHERE attname = 'tenant_id' AND relkind = 'r' AND relnamespace = 'kernel'::regnamespace
    """).fetchall()
    counts: dict[str, int] = {}
    for (table,) in tables:
        count = cast(LiteralString, f"SELECT count(*) FROM {table} WHERE tenant_id = ANY (%s)")
        found = ground.system.execute(count, [tenants]).fetchone()
        counts[table] = found[0] if found else 0
    return counts
