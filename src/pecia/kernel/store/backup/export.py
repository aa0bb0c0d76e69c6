"""One tenant's rows as JSON lines, for people and other programs. Never a secret, never a hash."""

import zipfile
from pathlib import Path
from typing import Any

import psycopg
from psycopg import AsyncConnection, IsolationLevel, sql

from pecia.kernel.errors import NotFound, list_hint
from pecia.kernel.store.backup.archive import new_archive
from pecia.kernel.store.backup.dump import SQL, ReportTable
from pecia.kernel.store.pg_errors import as_pecia_error


async def export_tenant(
    conninfo: str, tenant: str, path: Path, report: ReportTable
) -> dict[str, int]:
    """How many rows of which table went into the zip at `path`, all of one moment."""
    try:
        async with await AsyncConnection.connect(conninfo) as connection:
            await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
            await connection.set_read_only(True)
            found = await (await connection.execute(SQL["tenant_id"], {"name": tenant})).fetchone()
            if found is None:
                hint = list_hint("pecia tenant list")
                raise NotFound(f"no tenant {tenant!r}", tenant=tenant, hint=hint)
            with new_archive(path) as file:
                return await _export(connection, found[0], file, report)
    except psycopg.Error as error:
        raise as_pecia_error(error) from error


async def _export(
    connection: AsyncConnection[Any], tenant_id: object, file: zipfile.ZipFile, report: ReportTable
) -> dict[str, int]:
    tables = await (await connection.execute(SQL["tenant_tables"], {})).fetchall()
    counts: dict[str, int] = {}
    for done, (name, in_schema, in_table, column) in enumerate(tables, start=1):
        # The hash of a token is of no use to its owner and of some to a thief.
        statement = sql.SQL("SELECT (to_jsonb(t) - 'hash')::text FROM {} t WHERE t.{} = %s").format(
            sql.Identifier(in_schema, in_table), sql.Identifier(column)
        )
        rows = 0
        with file.open(f"{name}.jsonl", "w", force_zip64=True) as member:
            async with connection.cursor() as cursor:
                async for (line,) in cursor.stream(statement, (tenant_id,)):
                    member.write(line.encode() + b"\n")
                    rows += 1
        counts[name] = rows
        report(name, done, len(tables))
    return counts
