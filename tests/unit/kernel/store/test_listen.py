"""A listener whose connection is cut comes back, and says that it may have missed something."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.streams.memory import MemoryObjectReceiveStream
from psycopg import Notify

from pecia.kernel.errors import Unavailable
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.store.listen import OnNotify, listen
from pecia.kernel.store.store import Store
from tests.listeners import cut_listeners

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(database: DatabaseLogins) -> AsyncGenerator[Store]:
    found = Store(database)
    await found.open()
    yield found
    await found.close()


async def tell(store: Store, text: str) -> None:
    async with store.system() as tx:
        await tx.fetch_value("SELECT pg_notify('probe', %(text)s)::text", text=text)


@asynccontextmanager
async def listening(
    store: Store, first: OnNotify | None = None
) -> AsyncGenerator[MemoryObjectReceiveStream[str | None]]:
    """What a listener of the channel `probe` is called with, one after the other."""
    send, receive = anyio.create_memory_object_stream[str | None](100)

    async def notify(notification: Notify | None) -> None:
        if first is not None:
            await first(notification)
        await send.send(notification.payload if notification else None)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks, send, receive:
            tasks.start_soon(listen, store, ["probe"], notify, "probe.listen")
            yield receive
            tasks.cancel_scope.cancel()


async def test_after_a_cut_the_listener_is_called_once_more_and_then_as_before(
    store: Store,
) -> None:
    async with listening(store) as heard:
        assert await heard.receive() is None
        await tell(store, "before")
        assert await heard.receive() == "before"
        for round_ in ("one", "two"):
            await cut_listeners(store.logins.system, 1)
            assert await heard.receive() is None
            await tell(store, round_)
            assert await heard.receive() == round_


async def test_a_callback_that_fails_is_called_again_after_a_reconnect(store: Store) -> None:
    failures = [Unavailable("not now")]

    async def fail_once(notification: Notify | None) -> None:
        if notification is not None and failures:
            raise failures.pop()

    async with listening(store, fail_once) as heard:
        assert await heard.receive() is None
        await tell(store, "lost")
        assert await heard.receive() is None
        await tell(store, "found")
        assert await heard.receive() == "found"
