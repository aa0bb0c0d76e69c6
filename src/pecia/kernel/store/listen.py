"""LISTEN on a connection of its own, with reconnect."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, NoReturn, TypeAlias

import anyio
import psycopg
from psycopg import AsyncConnection, Notify, sql

from pecia.kernel.errors import PeciaError
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store

CONNECT_TIMEOUT_S = 10
BACKOFF_MIN_S = 0.1
BACKOFF_MAX_S = 5.0

OnNotify: TypeAlias = Callable[[Notify | None], Awaitable[None]]
"""Called with each notification; with None after every connect: some may have been missed."""

_log = Log(__name__)


async def listen(
    store: Store,
    channels: Sequence[str],
    notify: OnNotify,
    action: str,
    *,
    before_reconnect: Callable[[], Awaitable[None]] | None = None,
) -> NoReturn:
    """Call `notify` for each notification, until cancelled. `action` names the listener in the log.

    A lost connection, or a `notify` that fails, means reconnect: after 0.1 s, then twice as long
    each time, 5 s at most.
    """
    backoff_s = BACKOFF_MIN_S
    while True:
        try:
            async with _connect(store.logins.system) as connection:
                # All in one message: no moment in which only some are listened to.
                listens = (sql.SQL("LISTEN {}").format(sql.Identifier(it)) for it in channels)
                await connection.execute(sql.SQL("; ").join(listens))
                await notify(None)
                backoff_s = BACKOFF_MIN_S
                async with aclosing(connection.notifies()) as notifications:
                    async for notification in notifications:
                        await notify(notification)
        except (psycopg.Error, PeciaError) as error:
            _log.failure(action, error)
        if before_reconnect is not None:
            await before_reconnect()
        await anyio.sleep(backoff_s)
        backoff_s = min(2 * backoff_s, BACKOFF_MAX_S)


@asynccontextmanager
async def _connect(conninfo: str) -> AsyncGenerator[AsyncConnection[Any]]:
    # Cancelled half-way, a connection would stay open on the server until its timeout.
    with anyio.CancelScope(shield=True) as scope:
        connection = await AsyncConnection.connect(
            conninfo, autocommit=True, connect_timeout=CONNECT_TIMEOUT_S
        )
        try:
            scope.shield = False
            yield connection
        finally:
            # At once: there is nothing to roll back, and a cancelled task gets no more turns.
            connection.pgconn.finish()
