"""From an archive into an empty database: the schema as it was, the rows, then what came since."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
from psycopg import AsyncConnection, sql

from pecia.kernel.errors import Conflict, Unprocessable
from pecia.kernel.store.backup.archive import (
    BackupArchive,
    BackupManifest,
    TableEntry,
    open_archive,
)
from pecia.kernel.store.backup.dump import SQL, ReportTable
from pecia.kernel.store.migrate import (
    Migration,
    SchemaPart,
    apply_migrations,
    list_migrations,
    migrate,
)
from pecia.kernel.store.pg_errors import as_pecia_error

BLOCK_BYTES = 1 << 20


async def restore(
    conninfo: str, path: Path, parts: Sequence[SchemaPart], report: ReportTable
) -> BackupManifest:
    """Fill an empty database, as its owner. All of it arrives, or nothing does."""
    with open_archive(path) as archive:
        known = _migrations_of_backup(list_migrations(parts), archive.manifest)
        try:
            async with await AsyncConnection.connect(conninfo, autocommit=True) as connection:
                await _require_empty(connection)
                async with connection.transaction():
                    await apply_migrations(connection, known)
                    await _load(connection, archive, report)
        except psycopg.Error as error:
            raise as_pecia_error(error) from error
        await migrate(conninfo, parts)
        await _reset_changelog(conninfo)
        return archive.manifest


async def _reset_changelog(conninfo: str) -> None:
    """Indexes of the original are not indexes of the copy, though their numbers fit."""
    async with await AsyncConnection.connect(conninfo, autocommit=True) as connection:
        await connection.execute(SQL["renew_clocks"])
        await connection.execute(SQL["forget_nodes"])
        await connection.execute(SQL["forget_workers"])


def _migrations_of_backup(known: Sequence[Migration], manifest: BackupManifest) -> list[Migration]:
    """The migrations the backup had. One we do not know, or know otherwise, is a Conflict."""
    if absent := sorted({it.part for it in manifest.migrations} - {it.part for it in known}):
        raise Conflict(
            f"this backup has tables of {', '.join(absent)}, which is not installed here or is"
            " disabled",
            missing=[*absent],
            hint="Install and enable the plugin, then restore again.",
        )
    wanted = {(it.part, it.name): it.sha256 for it in manifest.migrations}
    found = [it for it in known if (it.part, it.name) in wanted]
    same = all(wanted[it.part, it.name] == it.sha256 for it in found)
    if len(found) != len(wanted) or not same:
        raise Conflict(
            f"this backup was made by Pecia {manifest.pecia}, whose tables this one does not know",
            made_by=manifest.pecia,
            hint=f"Restore it with Pecia {manifest.pecia}.",
        )
    return found


async def _require_empty(connection: AsyncConnection[Any]) -> None:
    row = await (await connection.execute(SQL["is_empty"], {})).fetchone()
    if row is None or not row[0]:
        raise Conflict(
            "a backup is restored into an empty database, and this one is not empty",
            hint="Name a new home with PECIA_HOME=/PATH, or another database.",
        )


async def _load(
    connection: AsyncConnection[Any], archive: BackupArchive, report: ReportTable
) -> None:
    """Rows as they were: no policy, no trigger and no default has a say while they return."""
    entries = {it.name: it for it in archive.manifest.tables}
    rows = await (await connection.execute(SQL["in_order"], {"names": [*entries]})).fetchall()
    for done, (name, in_schema, in_table, is_forced) in enumerate(rows, start=1):
        table = sql.Identifier(in_schema, in_table)
        await connection.execute(_ALTER.format(table, _OPEN))
        await _load_table(connection, archive, entries[name], table)
        await connection.execute(_ALTER.format(table, _SHUT if is_forced else _SHUT_UNFORCED))
        report(name, done, len(rows))
    await connection.execute(SQL["advance_sequences"], {})


_ALTER = sql.SQL("ALTER TABLE {} {}")
_OPEN = sql.SQL("NO FORCE ROW LEVEL SECURITY, DISABLE TRIGGER USER")
_SHUT = sql.SQL("FORCE ROW LEVEL SECURITY, ENABLE TRIGGER USER")
_SHUT_UNFORCED = sql.SQL("ENABLE TRIGGER USER")


async def _load_table(
    connection: AsyncConnection[Any],
    archive: BackupArchive,
    entry: TableEntry,
    table: sql.Identifier,
) -> None:
    columns = sql.SQL(", ").join(map(sql.Identifier, entry.columns))
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(table, columns)
    digest = hashlib.sha256()
    async with connection.cursor() as cursor:
        with archive.file.open(entry.member) as member:
            async with cursor.copy(statement) as copy:
                while block := member.read(BLOCK_BYTES):
                    digest.update(block)
                    await copy.write(block)
        if digest.hexdigest() != entry.sha256 or cursor.rowcount != entry.rows:
            raise Unprocessable(
                f"the table {entry.name} in this backup is damaged", table=entry.name
            )
