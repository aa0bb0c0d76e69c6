"""From an archive into an empty database: the schema as it was, the rows, then what came since."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
from psycopg import AsyncConnection, sql

from pecia.kernel.errors import Conflict, Unprocessable
from pecia.kernel.store.backup.archive import Archive, Manifest, TableEntry, open_archive
from pecia.kernel.store.backup.dump import SQL, Report
from pecia.kernel.store.failures import as_pecia_error
from pecia.kernel.store.migrate import Migration, Part, apply, migrate, migrations

BLOCK = 1 << 20


async def restore(conninfo: str, path: Path, parts: Sequence[Part], report: Report) -> Manifest:
    """Fill an empty database, as its owner. All of it arrives, or nothing does."""
    with open_archive(path) as archive:
        known = _as_it_was(migrations(parts), archive.manifest)
        try:
            async with await AsyncConnection.connect(conninfo, autocommit=True) as connection:
                await _require_empty(connection)
                async with connection.transaction():
                    await apply(connection, known)
                    await _load(connection, archive, report)
        except psycopg.Error as error:
            raise as_pecia_error(error) from error
        await migrate(conninfo, parts)
        await _go_own_way(conninfo)
        return archive.manifest


async def _go_own_way(conninfo: str) -> None:
    """Indexes of the original are not indexes of the copy, though their numbers fit."""
    async with await AsyncConnection.connect(conninfo, autocommit=True) as connection:
        await connection.execute(SQL["renew_clocks"])
        await connection.execute(SQL["forget_nodes"])


def _as_it_was(known: Sequence[Migration], manifest: Manifest) -> list[Migration]:
    """The migrations the backup had. One we do not know, or know otherwise, is a Conflict."""
    wanted = {(it.part, it.name): it.sha256 for it in manifest.migrations}
    found = [it for it in known if (it.part, it.name) in wanted]
    same = all(wanted[it.part, it.name] == it.sha256 for it in found)
    if len(found) != len(wanted) or not same:
        raise Conflict(
            f"this backup was made by Pecia {manifest.pecia}, whose tables this one does not know",
            made_by=manifest.pecia,
        )
    return found


async def _require_empty(connection: AsyncConnection[Any]) -> None:
    row = await (await connection.execute(SQL["is_empty"], {})).fetchone()
    if row is None or not row[0]:
        raise Conflict("a backup is restored into an empty database, and this one is not empty")


async def _load(connection: AsyncConnection[Any], archive: Archive, report: Report) -> None:
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
    connection: AsyncConnection[Any], archive: Archive, entry: TableEntry, table: sql.Identifier
) -> None:
    columns = sql.SQL(", ").join(map(sql.Identifier, entry.columns))
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(table, columns)
    digest = hashlib.sha256()
    async with connection.cursor() as cursor:
        with archive.file.open(entry.member) as member:
            async with cursor.copy(statement) as copy:
                while block := member.read(BLOCK):
                    digest.update(block)
                    await copy.write(block)
        if digest.hexdigest() != entry.sha256 or cursor.rowcount != entry.rows:
            raise Unprocessable(
                f"the table {entry.name} in this backup is damaged", table=entry.name
            )
