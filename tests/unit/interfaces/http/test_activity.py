"""Idle is a server without anything in flight, for as long as the limit says."""

from dataclasses import dataclass

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from pecia.interfaces.http.activity import ActivityMonitor

pytestmark = pytest.mark.anyio


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


async def test_what_is_in_flight_keeps_a_server_busy_until_it_ends() -> None:
    clock = Clock()
    monitor = ActivityMonitor(clock)
    ended = anyio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await ended.wait()

    async def receive() -> Message:
        return {}

    async def send(message: Message) -> None:
        return

    counted = monitor.wrap(app)

    async def serve() -> None:
        await counted({"type": "http"}, receive, send)

    clock.now = 5
    assert monitor.idle_s() == 5
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve)
        await anyio.wait_all_tasks_blocked()
        clock.now = 100
        assert monitor.idle_s() == 0
        ended.set()
    assert monitor.idle_s() == 0
    clock.now = 130
    assert monitor.idle_s() == 30
    with anyio.fail_after(5):
        await monitor.wait_until_idle(30)
