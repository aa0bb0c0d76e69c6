"""Rights hold: in every world, for every caller, every row seen and every write done is allowed.

The law itself is in law.py, the meaning of rights in oracle.py. Below it are the few truths that
worlds cannot state, such as what happens without an identity.
"""

import time
from dataclasses import asdict
from random import Random
from typing import LiteralString, cast

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench import result
from tests.laws.law import Tally
from tests.laws.law_database import ANA, BO, LawDatabase
from tests.laws.sql import Names
from tests.laws.visible import TABLES
from tests.soak import FIRST, SOAK, WORLDS

CHANCE = st.randoms(use_true_random=False)
# Worlds are apart from each other by their tenants, so they can share one database.
SHARED = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


# Shrinking a world that breaks the law may take minutes.
@pytest.mark.timeout(600)
@settings(SHARED, max_examples=60, derandomize=True)
@given(chance=CHANCE)
def test_rights_hold_in_these_worlds(ground: LawDatabase, chance: Random) -> None:
    ground.try_world(chance, Tally())


@pytest.mark.timeout(600)
@settings(SHARED, max_examples=30)
@given(chance=CHANCE)
def test_rights_hold_in_worlds_never_seen_before(ground: LawDatabase, chance: Random) -> None:
    ground.try_world(chance, Tally())


@pytest.mark.timeout(0 if SOAK else 60)
def test_rights_hold_in_a_great_many_worlds(ground: LawDatabase) -> None:
    """Larger worlds than Hypothesis likes to make, and in a soak very many of them."""
    tally, begun = Tally(), time.monotonic()
    for seed in range(FIRST, FIRST + WORLDS):
        try:
            ground.try_world(Random(seed), tally)
        except (AssertionError, psycopg.Error) as error:
            error.add_note(f"in the world of seed {seed}")
            raise
    elapsed_s = time.monotonic() - begun
    if SOAK:
        rate = {"elapsed_s": round(elapsed_s), "worlds_per_s": round(tally.worlds / elapsed_s, 1)}
        result.write("soak-rights", {**asdict(tally), **rate, "first_seed": FIRST})


def test_nobody_sees_nothing(ground: LawDatabase) -> None:
    trial = ground.begin(seed=1)
    shown = ground.path.read_as_is(trial.names)
    assert shown == {table: frozenset() for table in TABLES}


def test_a_forged_identity_is_an_error_wherever_it_looks(ground: LawDatabase) -> None:
    names = ground.load_small()
    forged = f"{'0' * 64}|{names.tenant('t1')}|||am|{{pecia.admin}}|{{1,2,3}}"
    for table in TABLES:
        assert read_with(ground, forged, table) == "PE403"


def test_an_identity_does_not_outlive_its_transaction_even_if_kept(ground: LawDatabase) -> None:
    names = ground.load_small()
    kept = ground.run_as(names, ANA, "SELECT current_setting('pecia.identity')")[0][0]
    assert names.tenant("t1") in kept
    assert read_with(ground, kept, "tenant") == "PE403"


def test_no_caller_reads_what_makes_a_credential_or_a_secret(ground: LawDatabase) -> None:
    names = ground.load_small()
    for table, column in (
        ("credential", "hash"),
        ("credential", "claims"),
        ("secret", "nonce"),
        ("secret", "ciphertext"),
    ):
        assert refusal(ground, names, ANA, f"SELECT {column} FROM kernel.{table}") == "42501"


def test_a_grant_cannot_name_a_principal_of_another_tenant(ground: LawDatabase) -> None:
    names = ground.load_small()
    stranger = names.principal("t2", "user::bo")
    with pytest.raises(psycopg.Error) as caught:
        ground.run_as(names, ANA, f"SELECT kernel.grant_file('s1', 'a/1', '{{{stranger}}}')")
    assert caught.value.sqlstate == "PE404"
    for table, column in (("source_role", ""), ("folder_grant", "'a/', ")):
        values = f"'{names.tenant('t1')}', 's1', {column}{stranger}, 'reader'"
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            ground.run_as(names, ANA, f"INSERT INTO kernel.{table} VALUES ({values})")


def test_a_source_that_is_hidden_refuses_like_one_that_is_not_there(ground: LawDatabase) -> None:
    names = ground.load_small()
    refusals = {
        refusal(ground, names, BO, f"INSERT INTO kernel.{table} ({columns}) VALUES ({values})")
        for source in ("hidden", "missing")
        for table, columns, values in [
            ("file", "tenant_id, source_id, key", f"'{names.tenant('t1')}', '{source}', 'a/1'")
        ]
    }
    assert refusals == {"42501"}


def test_a_folder_writer_may_put_a_file_again_and_again(ground: LawDatabase) -> None:
    """The class of the first file in a folder is made by the statement that puts it."""
    names = ground.load_small()
    put = f"""
        INSERT INTO kernel.file (tenant_id, source_id, key, size_bytes)
        VALUES ('{names.tenant("t1")}', 's1', 'b/new', 1)
        ON CONFLICT (tenant_id, source_id, key) DO UPDATE SET size_bytes = 2
        RETURNING size_bytes
    """
    assert ground.run_as(names, BO, put) == [(1,)]
    assert ground.run_as(names, BO, put) == [(2,)]


def test_a_file_moves_only_to_where_its_mover_may_write(ground: LawDatabase) -> None:
    names = ground.load_small()
    move = "UPDATE kernel.file SET key = '{}' WHERE key = 'b/2'"
    assert refusal(ground, names, BO, move.format("a/2")) == "42501"
    ground.run_as(names, BO, move.format("b/c/2"))
    assert ("b/c/2",) in ground.run_as(names, BO, "SELECT key FROM kernel.file")


def test_tenants_can_be_removed_with_everything_in_them(ground: LawDatabase) -> None:
    gone, left = (
        [it for seed in range(6) for it in ground.begin(seed).names.tenant_ids] for _ in range(2)
    )
    before = rows_of(ground, left)
    kept_by_processes = {"kernel.index_node", "kernel.confirmation"}
    assert {table for table, rows in before.items() if not rows} <= kept_by_processes
    ground.system.execute("DELETE FROM kernel.tenant WHERE id = ANY (%s)", [gone])
    assert not any(rows_of(ground, gone).values())
    assert rows_of(ground, left) == before


def read_with(ground: LawDatabase, identity: str, table: str) -> str | None:
    """How the database refuses to read with an identity that nobody entered with."""
    with ground.app.transaction(force_rollback=True):
        ground.app.execute("SELECT set_config('pecia.identity', %s, true)", [identity])
        with pytest.raises(psycopg.Error) as caught:
            ground.run(f"SELECT count(*) FROM kernel.{table}")
    return caught.value.sqlstate


def refusal(ground: LawDatabase, names: Names, who: str, statement: str) -> str | None:
    with pytest.raises(psycopg.Error) as caught:
        ground.run_as(names, who, statement)
    return caught.value.sqlstate


def rows_of(ground: LawDatabase, tenants: list[str]) -> dict[str, int]:
    """How many rows they have, in each table that knows tenants."""
    tables = ground.system.execute("""
        SELECT attrelid::regclass::text FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
         WHERE attname = 'tenant_id' AND relkind IN ('r', 'p') AND NOT relispartition
           AND relnamespace = 'kernel'::regnamespace
    """).fetchall()
    counts: dict[str, int] = {}
    for (table,) in tables:
        count = cast(LiteralString, f"SELECT count(*) FROM {table} WHERE tenant_id = ANY (%s)")
        found = ground.system.execute(count, [tenants]).fetchone()
        counts[table] = found[0] if found else 0
    return counts
