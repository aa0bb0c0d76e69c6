"""The queue's schema is the one that the installed procrastinate works on."""

from importlib.metadata import version
from importlib.resources import files
from typing import Any, LiteralString, cast

import psycopg

from pecia.kernel.store.cluster import DatabaseLogins

# Everything of one schema that its program relies on, as text without the schema's name.
DESCRIBE: LiteralString = """
WITH here AS (SELECT current_schema()::regnamespace AS id, current_schema() || '.' AS prefix)
SELECT found FROM here, LATERAL (
    SELECT concat_ws(' ', 'column', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
                     a.attnotnull, a.attidentity, pg_get_expr(d.adbin, d.adrelid))
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
      LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
     WHERE c.relnamespace = here.id AND c.relkind IN ('r', 'c') AND a.attnum > 0
    UNION ALL
    SELECT concat_ws(' ', 'label', t.typname, e.enumsortorder, e.enumlabel)
      FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid WHERE t.typnamespace = here.id
    UNION ALL
    SELECT concat_ws(' ', 'index', replace(pg_get_indexdef(i.indexrelid), here.prefix, ''))
      FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE c.relnamespace = here.id
    UNION ALL
    SELECT concat_ws(' ', 'constraint', conrelid::regclass, conname, pg_get_constraintdef(oid))
      FROM pg_constraint WHERE connamespace = here.id
    UNION ALL
    SELECT concat_ws(' ', 'function', proname, pg_get_function_arguments(oid),
                     pg_get_function_result(oid), prosrc)
      FROM pg_proc WHERE pronamespace = here.id
    UNION ALL
    SELECT concat_ws(' ', 'trigger', replace(pg_get_triggerdef(t.oid), here.prefix, ''))
      FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
     WHERE c.relnamespace = here.id AND NOT t.tgisinternal
) AS everything (found)
"""


def described(connection: psycopg.Connection[Any], use: LiteralString) -> set[str]:
    connection.execute(use)
    return {row[0] for row in connection.execute(DESCRIBE)}


def test_migrations_lead_to_the_schema_of_the_installed_procrastinate(
    database: DatabaseLogins,
) -> None:
    shipped = files("procrastinate").joinpath("sql", "schema.sql").read_text(encoding="utf-8")
    with psycopg.connect(database.owner) as connection:
        ours = described(connection, "SET search_path = jobs")
        connection.execute("CREATE SCHEMA shipped")
        connection.execute("SET search_path = shipped")
        connection.execute(cast(LiteralString, shipped))
        theirs = described(connection, "SET search_path = shipped")
        connection.rollback()
    assert len(ours) > 60
    assert ours == theirs, (
        f"procrastinate {version('procrastinate')} has another schema: "
        "add a migration with the steps from its own migrations"
    )
