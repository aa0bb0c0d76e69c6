"""Database access, by three kinds of transaction.

`reading` is a caller's, read-only; `writing` is a caller's and commits the call's audit row with
it; `system` has no caller: migrations, jobs and the life cycle. It is easy to grep.
"""

import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, LiteralString, TypeAlias, TypeVar

import anyio
import orjson
import psycopg
from psycopg import AsyncClientCursor, AsyncConnection, pq
from psycopg.rows import class_row, dict_row, scalar_row
from psycopg.types.json import set_json_dumps, set_json_loads
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from pecia.kernel.errors import NotFound, Unavailable
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.audit.record import AuditRecord, build_audit_row
from pecia.kernel.store.cluster.logins import DatabaseLogins
from pecia.kernel.store.pg_errors import as_pecia_error
from pecia.kernel.store.queries import load_queries

SQL = load_queries("pecia.kernel.store")

set_json_dumps(orjson.dumps)
set_json_loads(orjson.loads)

# One snapshot for all statements of an answer.
BEGIN_READ_ONLY: LiteralString = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
BEGIN_READ_WRITE: LiteralString = "BEGIN;"


# A process of PostgreSQL that has run our statements takes 15 MB.
MAX_IDLE_S = 30.0


@dataclass(frozen=True, slots=True)
class PoolSize:
    """How many connections are kept and opened, and how long a call waits for a free one."""

    min_size: int = 1
    max_size: int = 10
    timeout_s: float = 10


DictRow: TypeAlias = dict[str, Any]
T = TypeVar("T")


def array_literal(ids: Iterable[int]) -> str:
    """Numbers as the database reads an array: the driver takes a microsecond for each."""
    return f"{{{','.join(map(str, ids))}}}"


class Transaction:
    """One transaction with its caller set: PostgreSQL checks rights from here on. Statements are
    named SQL; parameters go by name.
    """

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


_SILENT: Final = logging.NullHandler()


class Store:
    """Two pools: one for callers, under row-level security, and one for the system."""

    def __init__(
        self, logins: DatabaseLogins, *, app: PoolSize | None = None, system: PoolSize | None = None
    ) -> None:
        self.logins = logins
        self._app = _pool(logins.app, app or PoolSize())
        self._system = _pool(logins.system, system or PoolSize(max_size=4))

    async def open(self) -> None:
        # A pool warns of every connection that it finds closed, on the user's screen. As the
        # database stops that is all of them; what a call lost, the call itself says.
        logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
        # Where no log is configured, as in a command, Python prints the driver's warnings.
        logging.getLogger("psycopg").addHandler(_SILENT)
        await self._app.open()
        await self._system.open()

    async def close(self) -> None:
        await self._app.close()
        await self._system.close()

    def pool_stats(self) -> dict[str, dict[str, int]]:
        """The driver's statistics of each pool."""
        return {"app": self._app.get_stats(), "system": self._system.get_stats()}

    @asynccontextmanager
    async def reading(self, caller: Caller) -> AsyncGenerator[Transaction]:
        """What this caller may see. Nothing can be changed in it."""
        async with _transaction(self._app, BEGIN_READ_ONLY, caller) as connection:
            yield Transaction(connection)

    @asynccontextmanager
    async def writing(self, caller: Caller, trace: AuditRecord) -> AsyncGenerator[Transaction]:
        """What this caller may see and change. The audit row commits with it, or neither does."""
        async with _transaction(self._app, BEGIN_READ_WRITE, caller) as connection:
            yield Transaction(connection)
            await connection.execute(SQL["add_audit"], build_audit_row(trace, "ok"))
        trace.is_written = True

    @asynccontextmanager
    async def system(self) -> AsyncGenerator[Transaction]:
        """Everything, for nobody. Only for migrations, jobs, identity and the life cycle."""
        async with _transaction(self._system, BEGIN_READ_WRITE) as connection:
            yield Transaction(connection)


@asynccontextmanager
async def _transaction(
    pool: AsyncConnectionPool[AsyncConnection[Any]],
    begin: LiteralString,
    caller: Caller | None = None,
) -> AsyncGenerator[AsyncConnection[Any]]:
    """BEGIN … COMMIT on a pooled connection, with the driver's failures turned into ours."""
    try:
        async with pool.connection() as connection:
            try:
                await _begin(connection, begin, caller)
                yield connection
            except BaseException:
                # Also when cancelled: a connection left in mid-transaction is lost to the pool.
                with anyio.CancelScope(shield=True):
                    await _roll_back(connection)
                raise
            await connection.execute("COMMIT")
    except PoolTimeout:
        raise Unavailable(
            "every database connection is busy; try again in 2 s", retry_after_seconds=2
        ) from None
    except psycopg.Error as error:
        raise as_pecia_error(error) from error


async def _begin(
    connection: AsyncConnection[Any], begin: LiteralString, caller: Caller | None
) -> None:
    """BEGIN and set the caller, in one message to the database."""
    if caller is None:
        await connection.execute(begin)
        return
    # Two statements in one message cannot have parameters: this cursor writes them into the text.
    async with AsyncClientCursor(connection) as cursor:
        await cursor.execute(begin + SQL["enter"], {"credential": caller.credential_id})


async def _roll_back(connection: AsyncConnection[Any]) -> None:
    """A connection cancelled in mid-query is closed: the pool makes another."""
    in_transaction = (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR)
    if connection.pgconn.transaction_status in in_transaction:
        await connection.execute("ROLLBACK")
    else:
        await connection.close()


def _pool(conninfo: str, size: PoolSize) -> AsyncConnectionPool[AsyncConnection[Any]]:
    return AsyncConnectionPool(
        conninfo,
        min_size=size.min_size,
        max_size=size.max_size,
        open=False,
        timeout=size.timeout_s,
        max_idle=MAX_IDLE_S,
        # We send BEGIN ourselves, so that READ ONLY is in the same message.
        kwargs={"autocommit": True},
    )
