"""The law bites: switch off any policy, trigger or condition that keeps rights, and it says so.

Each is weakened alone, in a database of its own, until the law complains, and is then put back.
"""

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from random import Random
from typing import LiteralString, NamedTuple, cast

import psycopg
import pytest

from tests.laws.facts import Verb
from tests.laws.law import Tally, Trial, check_asks, check_reads
from tests.laws.law_database import BO, LawDatabase
from tests.laws.paths import Ask, Sweep
from tests.laws.sql import calls_function
from tests.laws.writes import make_write

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

WORLDS = 12
FRESH_WORLDS = 250


class Policy(NamedTuple):
    table: str
    name: str
    command: str
    using: str | None
    check: str | None


def test_every_policy_matters(ground: LawDatabase) -> None:
    trials = [ground.begin(seed) for seed in range(WORLDS)]
    toothless: list[str] = []
    for policy in policies(ground):
        hold_to(ground, policy, trials)
        with loosened(ground, policy):
            if not complains(lambda it=policy: hold_to(ground, it, trials)):
                toothless.append(f"{policy.name} on {policy.table}")
    assert toothless == []


def test_the_second_half_of_the_policy_for_moves_matters(ground: LawDatabase) -> None:
    """Only where the mover sees the new place too, which no small number of worlds tries."""
    names = ground.load_small()
    policy = next(it for it in policies(ground) if (it.table, it.command) == ("file", "UPDATE"))
    move = "UPDATE kernel.file SET key = 'a/2' WHERE key = 'b/2'"
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        ground.run_as(names, BO, move)
    with loosened(ground, policy._replace(using=None)):
        ground.run_as(names, BO, move)


# Worlds in which the rarest of them were seen.
TELLING = (0, 6, 7, 19, 36)


def test_every_trigger_that_keeps_rights_matters(ground: LawDatabase) -> None:
    toothless: list[str] = []
    for table, name in triggers(ground):
        with disabled(ground, table, name):
            if not complains(lambda: try_fresh_worlds(ground, *TELLING)):
                toothless.append(f"{name} on {table}")
    assert toothless == []


# Not about rights: caches hear of changes, quotas are kept, the queue follows, indexes are told.
LOGGING = ("logged_in", "logged_out", "logged_over", "logged_last")
# Those that forget with a purged user what they kept.
FORGETTING = (
    "packages_forgotten",
    "model_use_forgotten",
    "memories_forgotten",
    "wiki_config_forgotten",
)
OTHER_TRIGGERS = (
    *("notified", "kept", "memory_words_kept", "dropped", "suggestions_moved"),
    *LOGGING,
    *FORGETTING,
)


# A function, a condition in it, a weaker one, and a world in which that was seen. The others are
# tried too, should worlds be made otherwise one day.
CONDITIONS = [
    ("enter", "who.revoked_at IS NOT NULL", "false", 5),
    ("enter", "who.expires_at <= now()", "false", 8),
    ("enter", "who.user_status = 'disabled'", "false", 2),
    ("enter", "who.tenant_status <> 'active'", "false", 4),
    ("principals_of", "SELECT unnest(in_claims)", "SELECT NULL::integer WHERE false", 6),
    ("principals_of", "AND in_user IS NOT NULL", "", 1),
    ("principals_of", "AND m.user_id = in_user", "", 14),
    ("principals_of", "AND in_admin", "", 1),
    ("may_administer", "AND kernel.has_scope('pecia.admin')", "", 5),
    ("may_govern", "kernel.has_scope('pecia.admin') AND", "", 0),
    ("owns", "ARRAY['owner']", "ARRAY['owner', 'writer']", 4),
    ("owns", "kernel.is_member() AND", "", 48),
    ("may_write", "AND kernel.has_scope('pecia.write')", "", 0),
    ("may_write", "kernel.is_member() AND", "", 1),
    ("may_write", "ARRAY['owner', 'writer']", "ARRAY['owner', 'writer', 'reader']", 33),
    ("may_write", "AND role = 'writer'", "", 24),
    ("may_write", "AND kernel.covers(prefix, in_key)", "", 4),
    ("holds_role", "AND principal_id = ANY (kernel.me())", "", 6),
    ("derive_class", "AND mode = 'open'", "", 2),
    ("derive_class", "role <> 'reader' OR", "", 2),
    ("derive_class", "OR mode = 'source_only'", "OR true", 6),
    ("derive_class", "mode = 'per_file' AND NEW.known", "mode = 'per_file'", 7),
    ("derive_class", "mode = 'per_file' AND NEW.known", "NEW.known", 5),
    ("derive_class", "WHEN mode = 'per_file' THEN NEW.reading", "WHEN true THEN NEW.reading", 6),
    ("covers", "starts_with(key, prefix)", "key LIKE prefix || '%'", 1),
    ("covers", "prefix <> '/' AND", "", 1),
    ("covers", "AND starts_with(prefix, '/')", "", 39),
    ("covers", "AND starts_with(key || '?'", "AND false AND starts_with(key || '?'", 18),
    ("covers", "left(prefix, -1) || '?')", "left(prefix, -1))", 22),
    ("folder_holders", "kernel.covers(prefix, in_key)", "starts_with(in_key, prefix)", 18),
    ("after_prefix", "|| '0'", "|| '/'", 17),
    ("regrant_folder", "OR f.key = page", "", 48),
    ("regrant_folder", "|| '@'", "|| '?'", 33),
    ("regrant_folder", "kernel.covers(g.prefix, f.key)", "starts_with(f.key, g.prefix)", 33),
    ("regrant_folder", "class.files = cardinality(part.keys)", "true", 17),
    ("regrant_file", "class.files = 1", "true", 6),
    ("place_file", "COALESCE(old_class.granted, '{}')", "'{}'", 286),
    ("place_file", "COALESCE(old_class.known, true)", "true", 53),
    ("grant_file", "IF NOT kernel.may_govern(in_source)", "IF false", 0),
    ("require_may_put", "NOT kernel.may_write(f.source_id, f.key)", "false", 1),
    ("purge_files", "NOT kernel.may_govern(in_source)", "false", 14),
    (
        "acting_tenant",
        "kernel.tenant() IS NULL AND in_tenant IS NOT NULL AND pg_has_role",
        "true OR pg_has_role",
        70,
    ),
    ("count_moves", "chunks = a.chunks + net.chunks", "chunks = a.chunks", 0),
    ("purge_user", "IF NOT kernel.may_administer()", "IF false", 10),
    ("require_may_change_job", "NOT kernel.has_scope('pecia.write')", "false", 87),
    ("require_may_change_job", "<> ARRAY[kernel.user_id()]", "IS NULL", 33),
    ("intern", "NOT kernel.is_member() OR NOT kernel.has_scope('pecia.admin')", "false", 16),
]


def test_every_condition_matters(ground: LawDatabase) -> None:
    toothless: list[str] = []
    for function, before, after, telling in CONDITIONS:
        with rewritten(ground, function, before, after):
            if not complains(lambda it=telling: try_fresh_worlds(ground, it)):
                toothless.append(f"{before} in {function}")
    assert toothless == []


def complains(hold: Callable[[], None]) -> bool:
    """Whether the law, or a constraint of the database, says that something is wrong."""
    try:
        hold()
    except (AssertionError, psycopg.Error):
        return True
    return False


def hold_to(ground: LawDatabase, policy: Policy, trials: Iterable[Trial]) -> None:
    """Whatever of the law this policy has to do with, in worlds that are there already."""
    for trial in trials:
        if policy.command == "SELECT":
            check_reads(trial)
        else:
            check_asks(trial, ground.path, asks_of(VERBS[policy.command], policy.table, trial))


VERBS: dict[str, Verb] = {"INSERT": "add", "UPDATE": "change", "DELETE": "remove"}


def asks_of(verb: Verb, table: str, trial: Trial) -> Iterable[tuple[str, Ask]]:
    """Everybody asks for several writes of a kind, and to do it to every row."""
    chance = Random(0)
    made = [make_write(chance, it, verb, table) for it in trial.world.tenants for _ in range(4)]
    asks: list[Ask] = [it for it in made if it and not calls_function(it)]
    if verb != "add":
        asks.append(Sweep(verb, table))
    return [(credential, ask) for _, credential in trial.world.credentials for ask in asks]


def try_fresh_worlds(ground: LawDatabase, *first: int) -> None:
    for seed in (*first, *range(FRESH_WORLDS)):
        ground.try_world(Random(seed), Tally())


def policies(ground: LawDatabase) -> list[Policy]:
    found = ground.owner.execute("""
        SELECT tablename, policyname, cmd, qual, with_check FROM pg_policies
         WHERE schemaname = 'kernel' AND 'pecia_app' = ANY (roles) ORDER BY 1, 2
    """)
    return [Policy(*it) for it in found.fetchall()]


def triggers(ground: LawDatabase) -> list[tuple[str, str]]:
    found = ground.owner.execute("""
        SELECT tgrelid::regclass::text, tgname FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid
         WHERE NOT tgisinternal AND c.relnamespace = 'kernel'::regnamespace ORDER BY 1, 2
    """)
    return [(table, name) for table, name in found.fetchall() if name not in OTHER_TRIGGERS]


@contextmanager
def loosened(ground: LawDatabase, policy: Policy) -> Generator[None]:
    """The policy lets everything pass."""
    clauses = {"USING": policy.using, "WITH CHECK": policy.check}
    alter = f"ALTER POLICY {policy.name} ON kernel.{policy.table} "
    run(ground, alter + " ".join(f"{clause} (true)" for clause, it in clauses.items() if it))
    yield
    run(ground, alter + " ".join(f"{clause} ({it})" for clause, it in clauses.items() if it))


@contextmanager
def disabled(ground: LawDatabase, table: str, trigger: str) -> Generator[None]:
    run(ground, f"ALTER TABLE {table} DISABLE TRIGGER {trigger}")
    yield
    run(ground, f"ALTER TABLE {table} ENABLE TRIGGER {trigger}")


@contextmanager
def rewritten(ground: LawDatabase, function: str, before: str, after: str) -> Generator[None]:
    """The function with one condition changed. That the condition is not there is an error."""
    found = ground.owner.execute(
        "SELECT pg_get_functiondef(oid) FROM pg_proc"
        " WHERE pronamespace = 'kernel'::regnamespace AND proname = %s",
        [function],
    )
    ((whole,),) = found.fetchall()
    assert whole.count(before) == 1
    run(ground, whole.replace(before, after))
    yield
    run(ground, whole)


def run(ground: LawDatabase, statement: str) -> None:
    # Made of the catalog's words and this file's own.
    ground.owner.execute(cast(LiteralString, statement))
