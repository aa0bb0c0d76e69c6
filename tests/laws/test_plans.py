"""The shapes of plans under row-level security, at 20,000 files in 1,000 classes.

A policy is a part of every plan. These are the shapes that make it cheap: keys by an index, and the
caller's identity worked out once for a statement, not once for a row.
"""

from collections.abc import Iterator
from typing import Any, LiteralString, cast
from uuid import UUID

from pecia.kernel.store.queries import load_queries
from tests.laws.law_database import LawDatabase

CORPUS = load_queries("pecia.kernel.corpus.catalog")
FILES, CLASSES = 20_000, 1_000

# How many of the classes each caller sees.
NARROW, BROAD = 10, 900

READS: dict[str, dict[str, Any]] = {
    "file": {"source_id": "s1", "key": "0500/10500"},
    "files": {"source_id": "s1", "prefix": "", "before": None, "after": "", "limit": 50},
    "files_below": {
        "source_id": "s1",
        "prefix": "0500/",
        "before": "05000",
        "after": "",
        "limit": 50,
    },
    "files_after": {
        "source_id": "s1",
        "prefix": "",
        "before": None,
        "after": "0500/10500",
        "limit": 50,
    },
}


def test_files_are_found_by_an_index_and_who_asks_is_asked_once(ground: LawDatabase) -> None:
    for seen, credential in fill(ground).items():
        for name, values in READS.items():
            plan = explain(ground, credential, CORPUS[name.partition("_")[0]], values)
            where = f"{name} by a caller who sees {seen} classes"
            assert scans_of(plan, "file") <= INDEX_SCANS, where
            assert scans_of(plan, "acl") <= INDEX_SCANS, where
            assert any("key" in it for it in index_conditions(plan)), where
            assert asked_for_each_row(plan) == [], where
            assert all(it["Actual Loops"] <= 1 for it in init_plans(plan)), where


def test_other_shapes_are_noticed(ground: LawDatabase) -> None:
    """A pattern is not leakproof, so it waits for the policy; a bare function runs for each row."""
    credential = fill(ground)[BROAD]
    like = "SELECT key FROM kernel.file WHERE source_id = 's1' AND key LIKE '0500/%'"
    assert not any("key" in it for it in index_conditions(explain(ground, credential, like, None)))
    ground.owner.execute(UNWRAPPED)
    assert asked_for_each_row(explain(ground, credential, CORPUS["file"], READS["file"]))


UNWRAPPED: LiteralString = """
ALTER POLICY see ON kernel.file USING (
    tenant_id = kernel.tenant()
    AND EXISTS (SELECT 1 FROM kernel.acl a WHERE a.tenant_id = file.tenant_id AND a.id = file.acl_id
                   AND a.principals && kernel.me()))
"""

INDEX_SCANS = {"Index Scan", "Index Only Scan", "Bitmap Heap Scan"}

Node = dict[str, Any]


def fill(ground: LawDatabase) -> dict[int, UUID]:
    """A large tenant among small ones; a credential for each number of classes seen."""
    for n in range(8):
        ground.begin(seed=n)
    # Files get the class they are given here, so that a thousand take a second and not a minute.
    ground.owner.execute("ALTER TABLE kernel.file DISABLE TRIGGER placed")
    ((tenant,),) = ground.system.execute("SELECT kernel.create_tenant('large')").fetchall()
    values = {"tenant": tenant, "files": FILES, "classes": CLASSES}
    for statement in FILL:
        ground.system.execute(statement, values)
    ground.owner.execute("ALTER TABLE kernel.file ENABLE TRIGGER placed")
    return {
        seen: ground.system.execute(CREDENTIAL, {**values, "seen": seen}).fetchall()[0][0]
        for seen in (NARROW, BROAD)
    }


FILL: list[LiteralString] = [
    "INSERT INTO kernel.user_account (tenant_id, name) VALUES (%(tenant)s, 'ana')",
    "INSERT INTO kernel.source (tenant_id, id, protocol) VALUES (%(tenant)s, 's1', 'folder')",
    """
    INSERT INTO kernel.principal (tenant_id, kind, scope, value)
    SELECT %(tenant)s, 'posixgid', 'nas', n FROM generate_series(1, %(classes)s) AS n
    """,
    """
    INSERT INTO kernel.acl (tenant_id, source_id, granted, facts, principals)
    SELECT tenant_id, 's1', ARRAY[id], '', '{}' FROM kernel.principal
     WHERE tenant_id = %(tenant)s AND kind = 'posixgid'
    """,
    """
    INSERT INTO kernel.file (tenant_id, source_id, key, acl_id)
    SELECT %(tenant)s, 's1', to_char(n %% %(classes)s, 'FM0000/') || to_char(n, 'FM00000'), a.id
      FROM generate_series(0, %(files)s - 1) AS n
      JOIN (SELECT id, row_number() OVER (ORDER BY id) - 1 AS at FROM kernel.acl
             WHERE tenant_id = %(tenant)s AND NOT is_source) AS a ON a.at = n %% %(classes)s
    """,
    "ANALYZE",
]
CREDENTIAL: LiteralString = """
    INSERT INTO kernel.credential (tenant_id, kind, user_id, scopes, claims)
    SELECT %(tenant)s, 'oidc', u.id, '{pecia.read}',
           ARRAY(SELECT id FROM kernel.principal
                  WHERE tenant_id = %(tenant)s AND kind = 'posixgid' ORDER BY id LIMIT %(seen)s)
      FROM kernel.user_account u WHERE u.tenant_id = %(tenant)s
    RETURNING id
"""


def explain(
    ground: LawDatabase, credential: UUID, statement: LiteralString, values: dict[str, Any] | None
) -> Node:
    with ground.app.transaction():
        ground.app.execute("SELECT kernel.enter(%s)", [credential])
        found = ground.app.execute(
            "EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON, TIMING off) " + statement, values
        )
        return cast(list[tuple[list[Node]]], found.fetchall())[0][0][0]["Plan"]


def nodes(plan: Node) -> Iterator[Node]:
    yield plan
    for below in plan.get("Plans", []):
        yield from nodes(below)


def init_plans(plan: Node) -> list[Node]:
    return [it for it in nodes(plan) if it.get("Parent Relationship") == "InitPlan"]


def of_table(node: Node, table: str) -> bool:
    return node.get("Relation Name") == table


def index_conditions(plan: Node) -> list[str]:
    return [it.get("Index Cond", "") for it in nodes(plan) if of_table(it, "file")]


def scans_of(plan: Node, table: str) -> set[str]:
    return {it["Node Type"] for it in nodes(plan) if of_table(it, table)}


def asked_for_each_row(plan: Node) -> list[str]:
    """Expressions that work out who asks again for every row they meet."""
    if plan.get("Parent Relationship") == "InitPlan":
        return []
    found = {name: str(plan.get(name)) for name in PER_ROW}
    mine = [f"{name}: {it}" for name, it in found.items() if "kernel.identity(" in it]
    return [*mine, *(it for below in plan.get("Plans", []) for it in asked_for_each_row(below))]


# Conditions of an index are worked out once for a scan.
PER_ROW = ("Filter", "Join Filter", "Output")
