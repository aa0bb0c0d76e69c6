"""Conversations that are opened, kept, lost and opened again."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import anyio
import pytest

from pecia.features.hub import connection_pool as boards
from pecia.features.hub.connection_pool import ConnectionPool, ConnectionRequest
from pecia.features.hub.model import ServerAddress, ServerEndpoint
from pecia.features.hub.ports import UpstreamConnection, UpstreamProgress
from pecia.kernel.errors import Timeout, Unavailable, UpstreamError

pytestmark = pytest.mark.anyio

KEY = (UUID(int=1), "there")
ABOUT: dict[str, Any] = {
    "name": "s",
    "version": "1",
    "revision": "2026-07-28",
    "can": {"tools": {}},
}


@dataclass(slots=True)
class Fake:
    """A conversation that does nothing."""

    over: anyio.Event = field(default_factory=anyio.Event)
    about: Mapping[str, Any] = field(default_factory=lambda: ABOUT)

    async def tools(self) -> list[dict[str, Any]]:
        return []

    async def call(
        self, tool: str, arguments: Mapping[str, Any], progress: UpstreamProgress | None = None
    ) -> dict[str, Any]:
        return {}


@dataclass(slots=True)
class Fakes:
    """Opens them, and counts; as long as it is broken, it fails."""

    opened: list[Fake] = field(default_factory=list[Fake])
    closed: int = 0
    is_broken: bool = False
    is_slow: bool = False

    @asynccontextmanager
    async def open(
        self, endpoint: ServerEndpoint, on_list_changed: Callable[[str], None]
    ) -> AsyncGenerator[UpstreamConnection]:
        if self.is_broken:
            raise UpstreamError("it is broken")
        if self.is_slow:
            await anyio.sleep_forever()
        self.opened.append(Fake())
        try:
            yield self.opened[-1]
        finally:
            self.closed += 1


def wanted(version: int = 1) -> ConnectionRequest:
    async def place() -> ServerEndpoint:
        return ServerEndpoint(ServerAddress("http", url="https://x.example"))

    async def greet(line: UpstreamConnection) -> None: ...

    return ConnectionRequest(KEY, version, place, greet, lambda what: None)


async def use(board: ConnectionPool, version: int = 1) -> bool:
    """Whether a conversation had to be opened for it."""
    async with board.acquire(wanted(version)) as connected:
        return connected.is_fresh


async def test_one_conversation_serves_many_questions() -> None:
    lines = Fakes()
    board = ConnectionPool(lines, connect_s=30)
    async with board.running():
        assert [await use(board) for _ in range(3)] == [True, False, False]
        assert board.status(KEY).state == "up"
    assert (len(lines.opened), lines.closed) == (1, 1)


async def test_those_who_come_at_once_share_it() -> None:
    lines = Fakes()
    board = ConnectionPool(lines, connect_s=30)
    async with board.running(), anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(use, board)
    assert len(lines.opened) == 1


async def test_without_an_owner_each_question_has_its_own() -> None:
    lines = Fakes()
    board = ConnectionPool(lines, connect_s=30)
    assert [await use(board) for _ in range(2)] == [True, True]
    assert (len(lines.opened), lines.closed) == (2, 2)


async def test_one_that_ended_is_opened_again() -> None:
    lines = Fakes()
    board = ConnectionPool(lines, connect_s=30)
    async with board.running():
        await use(board)
        lines.opened[0].over.set()
        assert await use(board)
    assert lines.closed == 2


async def test_another_version_ends_the_conversation_with_the_first() -> None:
    lines = Fakes()
    board = ConnectionPool(lines, connect_s=30)
    async with board.running():
        await use(board, 1)
        assert await use(board, 2)
        with anyio.fail_after(30):
            while not lines.closed:  # noqa: ASYNC110 - nobody says when it is closed.
                await anyio.sleep(0.01)


async def test_one_that_keeps_failing_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boards, "BACKOFF_INITIAL_S", 1_000.0)
    lines = Fakes(is_broken=True)
    board = ConnectionPool(lines, connect_s=30)
    async with board.running():
        for _ in range(2):
            with pytest.raises(UpstreamError, match="it is broken"):
                await use(board)
        lines.is_broken = False
        with pytest.raises(Unavailable, match="it is broken") as refused:
            await use(board)
    assert refused.value.fields["server"] == "there"
    assert lines.opened == []
    assert board.status(KEY).state == "down"


async def test_an_answer_makes_good_for_earlier_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boards, "BACKOFF_INITIAL_S", 1_000.0)
    lines = Fakes(is_broken=True)
    board = ConnectionPool(lines, connect_s=30)
    async with board.running():
        with pytest.raises(UpstreamError):
            await use(board)
        lines.is_broken = False
        await use(board)
        board.reset_failures(KEY)
        lines.opened[0].over.set()
        assert await use(board)


async def test_one_that_does_not_answer_is_given_up() -> None:
    board = ConnectionPool(Fakes(is_slow=True), connect_s=0.05)
    async with board.running():
        with pytest.raises(Timeout, match="did not answer"):
            await use(board)
    assert board.status(KEY).state == "down"
