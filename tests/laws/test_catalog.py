"""The catalog says what the law takes for granted: every table guarded, no role more than it is."""

from typing import LiteralString

import pytest

from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.store.queries import load_queries
from tests.laws.law_database import connect
from tests.laws.paths import Connection
from tests.laws.visible import TABLES

SQL = load_queries("tests.laws", "catalog.sql")
CHECKS = ("tables", "policies", "views", "functions", "roles")


@pytest.mark.parametrize("check", CHECKS)
def test_the_catalog_is_in_order(database: DatabaseLogins, check: str) -> None:
    with connect(database.owner) as owner:
        assert complaints(owner, check) == []


def test_the_law_looks_at_every_table_that_callers_can_read(database: DatabaseLogins) -> None:
    with connect(database.owner) as owner:
        readable = {name for (name,) in owner.execute(SQL["readable"]).fetchall()}
    assert readable == {f"kernel.{table}" for table in TABLES}


@pytest.mark.parametrize(
    ("check", "mistake", "complaint"),
    [
        (
            "tables",
            "CREATE TABLE kernel.bad (tenant_id uuid); GRANT SELECT ON kernel.bad TO pecia_app",
            "has no row-level security that is forced",
        ),
        (
            "tables",
            "ALTER TABLE kernel.file NO FORCE ROW LEVEL SECURITY",
            "has no row-level security that is forced",
        ),
        (
            "tables",
            "DROP POLICY system_all ON kernel.file",
            "has no policy system_all for pecia_system",
        ),
        (
            "tables",
            "GRANT DELETE ON kernel.audit TO pecia_app",
            "lets pecia_app DELETE without a policy for it",
        ),
        (
            "tables",
            "GRANT UPDATE (name) ON kernel.tenant TO pecia_app",
            "lets pecia_app UPDATE without a policy for it",
        ),
        (
            "tables",
            "CREATE TABLE kernel.bad (tenant_id uuid); CALL kernel.guard('kernel.bad')",
            'gives pecia_app nothing and has no comment "system-only: …" that says why',
        ),
        (
            "tables",
            "ALTER TABLE lake.delivery DROP CONSTRAINT delivery_tenant_id_fkey",
            "keeps the rows of a deleted tenant: no foreign keys with ON DELETE CASCADE lead to"
            " kernel.tenant",
        ),
        (
            "tables",
            "CREATE TABLE kernel.bad (id uuid)",
            'has no tenant_id and no comment "untenanted: …" that says why',
        ),
        (
            "tables",
            "GRANT INSERT ON kernel.migration TO pecia_app",
            "has no tenant_id and lets pecia_app write",
        ),
        ("tables", "GRANT TRUNCATE ON kernel.file TO pecia_app", "lets pecia_app TRUNCATE"),
        (
            "policies",
            "CREATE POLICY bad ON kernel.file FOR SELECT USING (true)",
            "is for everybody",
        ),
        (
            "policies",
            "ALTER POLICY see ON kernel.file USING (true)",
            "does not ask for the tenant",
        ),
        (
            "views",
            "CREATE VIEW kernel.bad AS SELECT * FROM kernel.file;"
            " GRANT SELECT ON kernel.bad TO pecia_app",
            "shows pecia_app rows without asking for the tenant behind a barrier",
        ),
        (
            "functions",
            "CREATE FUNCTION kernel.bad() RETURNS integer LANGUAGE sql SECURITY DEFINER"
            " SET search_path = kernel, pg_temp AS 'SELECT 1'",
            "runs with the rights of pecia_owner",
        ),
        (
            "functions",
            "ALTER FUNCTION kernel.enter RESET search_path",
            "has no fixed search_path that ends in pg_temp",
        ),
        (
            "functions",
            "GRANT EXECUTE ON FUNCTION kernel.sealed TO PUBLIC",
            "may be called by everybody",
        ),
        (
            "roles",
            "GRANT CREATE ON SCHEMA kernel TO pecia_app",
            "may create in the schema kernel",
        ),
    ],
)
def test_a_mistake_is_noticed(
    database: DatabaseLogins, check: str, mistake: LiteralString, complaint: str
) -> None:
    with connect(database.owner) as owner:
        owner.execute(mistake)
        assert complaint in [it for _, it in complaints(owner, check)]


def complaints(owner: Connection, check: str) -> list[tuple[str, ...]]:
    return sorted(owner.execute(SQL[check]).fetchall())
