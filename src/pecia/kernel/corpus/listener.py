"""LISTEN for commits, to wake the processes that follow the change log."""

from collections.abc import Callable
from typing import NoReturn

import anyio
import psycopg

from pecia.kernel.corpus import changelog
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store

RECONNECT_DELAY_S = 1.0

_log = Log(__name__)


async def listen_for_changes(
    store: Store, wake: Callable[[], None], action: str, retry_s: float = RECONNECT_DELAY_S
) -> NoReturn:
    """Call `wake` at every commit with changes, and whenever one may have been missed.

    `action` names the listener in the log. Reconnects until cancelled.
    """
    while True:
        try:
            login = store.logins.system
            connection = await psycopg.AsyncConnection.connect(login, autocommit=True)
            async with connection:
                await connection.execute(changelog.SQL["listen"])
                wake()
                async for _ in connection.notifies():
                    wake()
        except psycopg.Error as error:
            _log.failure(action, error)
        await anyio.sleep(retry_s)
