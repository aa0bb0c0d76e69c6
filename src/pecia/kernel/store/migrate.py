"""Migrations: numbered .sql files, each applied once, in one transaction under one lock.

A file that changed after it was applied is an error. So is a database that has a file this program
does not know: a newer program made it, or a development version from before 0.1.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, LiteralString, cast

import psycopg
from psycopg import AsyncConnection

from pecia.kernel.errors import Conflict
from pecia.kernel.store.queries import load_queries

SQL = load_queries("pecia.kernel.store", "migrate.sql")


@dataclass(frozen=True, slots=True)
class SchemaPart:
    """A part of the schema with migrations of its own: the kernel, or a feature."""

    name: str
    package: str


KERNEL_SCHEMA = SchemaPart("kernel", "pecia.kernel.store.schema")


@dataclass(frozen=True, slots=True)
class Migration:
    """One file."""

    part: str
    name: str
    sql: LiteralString

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


def list_migrations(parts: Sequence[SchemaPart]) -> list[Migration]:
    """Every file of every part: the kernel first, each part in the order of its numbers."""
    return [it for part in parts for it in _load_migrations(part)]


async def migrate(conninfo: str, parts: Sequence[SchemaPart]) -> list[Migration]:
    """Bring the database up to date, as its owner. What was applied; nothing when all was."""
    async with await AsyncConnection.connect(conninfo, autocommit=True) as connection:
        async with connection.transaction():
            await connection.execute(SQL["lock"])
            missing = find_pending(list_migrations(parts), await _read_applied(connection))
            await apply_migrations(connection, missing)
            await _require_guarded(connection, {it.part for it in missing} - {KERNEL_SCHEMA.name})
        return missing


async def apply_migrations(connection: AsyncConnection[Any], missing: Sequence[Migration]) -> None:
    """Apply and record these, in the transaction of the connection."""
    for migration in missing:
        await connection.execute(migration.sql)
        await connection.execute(
            SQL["record"],
            {"part": migration.part, "name": migration.name, "sha256": migration.sha256},
        )


def find_pending(
    known: Sequence[Migration], applied: dict[tuple[str, str], str]
) -> list[Migration]:
    """What is still to do; Conflict when program and database do not belong together."""
    _require_known(known, applied)
    for it in known:
        if applied.get((it.part, it.name), it.sha256) != it.sha256:
            raise Conflict(
                f"migration {it.part}/{it.name} changed after it was applied",
                migration=f"{it.part}/{it.name}",
            )
    return [it for it in known if (it.part, it.name) not in applied]


def _require_known(known: Sequence[Migration], applied: dict[tuple[str, str], str]) -> None:
    """Refuse a database with files of another line of migrations."""
    names = {(it.part, it.name) for it in known}
    parts = {it.part for it in known}
    unknown = sorted(it for it in applied if it not in names and it[0] in parts)
    if not unknown:
        return
    found = "/".join(unknown[0])
    # A newer program has our files and more; another line lacks some of ours.
    if names <= applied.keys():
        raise Conflict(
            f"the database is newer than this Pecia: it has {found}; upgrade Pecia",
            migration=found,
        )
    raise Conflict(
        f"the database was made by a development version of Pecia: it has {found}, which no release"
        " has, and it cannot be upgraded; use an empty database (another PECIA_HOME, or another"
        " PECIA_DATABASE_URL) and add tenants and sources again; nothing was changed",
        migration=found,
    )


async def _require_guarded(connection: AsyncConnection[Any], parts: set[str]) -> None:
    """No feature, ours or a plugin's, makes a table that shows one tenant's rows to another."""
    found = await connection.execute(SQL["unguarded"], {"schemas": [*parts]})
    for (table,) in await found.fetchall():
        raise Conflict(
            f"the table {table} has no row-level security: CALL kernel.guard('{table}') in its "
            "migration, or give it a comment that begins with 'untenanted: ' if it has no "
            "tenant_id and no tenant's data",
            table=table,
        )


async def _read_applied(connection: AsyncConnection[Any]) -> dict[tuple[str, str], str]:
    try:
        async with connection.transaction():
            rows = await (await connection.execute(SQL["applied"])).fetchall()
    except psycopg.errors.UndefinedTable:
        return {}
    return {(part, name): sha256 for part, name, sha256 in rows}


def _load_migrations(part: SchemaPart) -> list[Migration]:
    found = [it for it in files(part.package).iterdir() if it.name.endswith(".sql")]
    return [
        # Shipped in the wheel: as much ours as a literal in the code.
        Migration(part.name, it.name, cast(LiteralString, it.read_text(encoding="utf-8")))
        for it in sorted(found, key=lambda it: it.name)
    ]
