"""The setup of an external PostgreSQL as one script for its administrator. Runs nothing."""

from collections.abc import Iterator

from psycopg.sql import Literal

from pecia.app.app import migration_parts
from pecia.kernel.settings.load import Settings
from pecia.kernel.store.cluster.logins import DATABASE, NAME_BY_ROLE
from pecia.kernel.store.migrate import SQL, Migration, list_migrations
from pecia.kernel.store.queries import load_queries

BOOTSTRAP = load_queries("pecia.kernel.store.cluster.data", "bootstrap.sql")

SCRIPT_HEADER = """\
-- For psql, as a superuser: psql -v ON_ERROR_STOP=1 -f this-file
-- It makes three roles, one database and its tables. Afterwards Pecia needs no superuser.
-- Choose the three passwords first. They go into PECIA_DATABASE_URL (app),
-- PECIA_DATABASE_OWNER_URL (owner) and PECIA_DATABASE_SYSTEM_URL (system)."""


def build_schema_script(settings: Settings) -> str:
    """From the roles to the last migration, in order. A second run stops at what exists."""
    return "\n\n".join(_statements(settings)) + "\n"


def _statements(settings: Settings) -> Iterator[str]:
    yield SCRIPT_HEADER
    for role, name in NAME_BY_ROLE.items():
        if role != "superuser":
            yield f"SELECT set_config('pecia.{name}', 'CHOOSE A PASSWORD', false);"
    yield f"{BOOTSTRAP['make_roles']};"
    yield f"{BOOTSTRAP['make_database']};"
    yield f"\\connect {DATABASE}"
    yield f"{BOOTSTRAP['furnish_database']};"
    yield f"SET ROLE {NAME_BY_ROLE['owner']};"
    yield "BEGIN;"
    for migration in list_migrations(migration_parts(settings)):
        yield f"-- {migration.part}/{migration.name}\n{migration.sql.strip()}"
        yield f"{_record_statement(migration)};"
    yield "COMMIT;"


def _record_statement(migration: Migration) -> str:
    """The statement that records an applied migration, with its values inlined."""
    facts = {"part": migration.part, "name": migration.name, "sha256": migration.sha256}
    return SQL["record"] % {name: Literal(value).as_string() for name, value in facts.items()}
