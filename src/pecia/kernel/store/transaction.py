"""A transaction with its caller set. From here on PostgreSQL checks rights."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, LiteralString, TypeAlias, TypeVar

from psycopg import AsyncConnection
from psycopg.rows import class_row, dict_row, scalar_row

from pecia.kernel.errors import NotFound

DictRow: TypeAlias = dict[str, Any]
T = TypeVar("T")


def array_literal(ids: Iterable[int]) -> str:
    """Numbers as the database reads an array: the driver takes a microsecond for each."""
    return f"{{{','.join(map(str, ids))}}}"


class Transaction:
    """One transaction. Statements are named SQL; parameters go by name."""

    __slots__ = ("_connection",)

    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def fetch_all(self, sql: LiteralString, **values: Any) -> list[DictRow]:
        async with self._connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(sql, values)
            return await cursor.fetchall()

    async def fetch_all_as(self, kind: type[T], sql: LiteralString, **values: Any) -> list[T]:
        """Rows as instances of `kind`, whose fields are the columns."""
        async with self._connection.cursor(row_factory=class_row(kind)) as cursor:
            await cursor.execute(sql, values)
            return await cursor.fetchall()

    async def fetch_mapped(
        self, make: Callable[[Sequence[Any]], T], sql: LiteralString, **values: Any
    ) -> list[T]:
        """Rows mapped by position, not by name. Half the time of a dictionary: for hot paths."""
        async with self._connection.cursor(row_factory=lambda _: make) as cursor:
            await cursor.execute(sql, values)
            return await cursor.fetchall()

    async def fetch_optional(self, sql: LiteralString, **values: Any) -> DictRow | None:
        """The first row, or None."""
        async with self._connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(sql, values)
            return await cursor.fetchone()

    async def fetch_one(self, sql: LiteralString, missing: str, **values: Any) -> DictRow:
        """The first row, or NotFound with `missing` as its message."""
        row = await self.fetch_optional(sql, **values)
        if row is None:
            raise NotFound(missing)
        return row

    async def fetch_value(self, sql: LiteralString, **values: Any) -> Any:
        """The first column of the first row, or None."""
        async with self._connection.cursor(row_factory=scalar_row) as cursor:
            await cursor.execute(sql, values)
            return await cursor.fetchone()

    async def execute(self, sql: LiteralString, **values: Any) -> int:
        """How many rows the statement touched."""
        async with self._connection.cursor() as cursor:
            await cursor.execute(sql, values)
            return cursor.rowcount

    async def execute_many(self, sql: LiteralString, rows: Sequence[dict[str, Any]]) -> None:
        async with self._connection.cursor() as cursor:
            await cursor.executemany(sql, rows)
