"""From a busy database into an archive: one snapshot, so that the parts belong together."""

import hashlib
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg import AsyncConnection, IsolationLevel, sql
from psycopg.rows import dict_row

from pecia import __version__
from pecia.kernel.store.backup.archive import (
    FORMAT,
    MANIFEST,
    BackupManifest,
    MigrationEntry,
    TableEntry,
    new_archive,
)
from pecia.kernel.store.pg_errors import as_pecia_error
from pecia.kernel.store.queries import load_queries

SQL = load_queries("pecia.kernel.store.backup")

ReportTable = Callable[[str, int, int], None]
"""Called after each table: its name, how many are done, how many there are."""


async def back_up(conninfo: str, path: Path, report: ReportTable) -> BackupManifest:
    """Everything in the database, as the system login sees it, at one moment."""
    try:
        async with await AsyncConnection.connect(conninfo) as connection:
            await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
            await connection.set_read_only(True)
            with new_archive(path) as file:
                return await _dump(connection, file, report)
    except psycopg.Error as error:
        raise as_pecia_error(error) from error


async def _dump(
    connection: AsyncConnection[Any], file: zipfile.ZipFile, report: ReportTable
) -> BackupManifest:
    async with connection.cursor(row_factory=dict_row) as cursor:
        applied = await (await cursor.execute(SQL["applied"], {})).fetchall()
        found = await (await cursor.execute(SQL["tables"], {})).fetchall()
    tables: list[TableEntry] = []
    for done, row in enumerate(found, start=1):
        tables.append(await _dump_table(connection, file, row))
        report(row["name"], done, len(found))
    manifest = BackupManifest(
        format=FORMAT,
        pecia=__version__,
        made_at=datetime.now(UTC).isoformat(),
        migrations=[MigrationEntry(**it) for it in applied],
        tables=tables,
    )
    file.writestr(MANIFEST, manifest.model_dump_json(indent=1))
    return manifest


async def _dump_table(
    connection: AsyncConnection[Any], file: zipfile.ZipFile, row: dict[str, Any]
) -> TableEntry:
    entry = TableEntry(name=row["name"], columns=row["columns"], rows=0, sha256="")
    statement = sql.SQL("COPY (SELECT {} FROM {}.{}) TO STDOUT").format(
        sql.SQL(", ").join(map(sql.Identifier, row["columns"])),
        sql.Identifier(row["in_schema"]),
        sql.Identifier(row["in_table"]),
    )
    digest = hashlib.sha256()
    rows = 0
    with file.open(entry.member, "w", force_zip64=True) as member:
        async with connection.cursor() as cursor, cursor.copy(statement) as copy:
            async for block in copy:
                rows += bytes(block).count(b"\n")
                digest.update(block)
                member.write(block)
    return entry.model_copy(update={"rows": rows, "sha256": digest.hexdigest()})
