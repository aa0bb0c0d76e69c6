"""The open conversations of this process: one for each server, opened when it is first needed.

A server that died is started again by whoever asks next; one that keeps dying is left alone for
longer and longer. Outside of `running` nobody owns a conversation: each is opened for one question.
"""

import math
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias
from uuid import UUID

import anyio
from anyio.abc import TaskGroup, TaskStatus

from pecia.kernel.errors import PeciaError, Timeout, Unavailable, UpstreamError
from pecia.kernel.logs import Log
from pecia.rooms.hub.model import Place
from pecia.rooms.hub.ports import Line, Lines

Key: TypeAlias = tuple[UUID, str]
State: TypeAlias = Literal["up", "down", "idle"]

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
PATIENCE_S = 1.0

_log = Log(__name__)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A server to talk to. `place` says where it is, asked only when a line must be opened."""

    key: Key
    version: Hashable
    """A conversation that was opened for another version of it is ended."""
    place: Callable[[], Awaitable[Place]]
    greet: Callable[[Line], Awaitable[None]]
    """What is done first in a new conversation, before anybody else may use it."""
    hear: Callable[[str], None]

    @property
    def name(self) -> str:
        return self.key[1]


@dataclass(frozen=True, slots=True)
class Condition:
    """How a server is, as far as this process knows."""

    state: State
    since: datetime | None = None
    reason: str = ""
    software: str = ""
    revision: str = ""


@dataclass(frozen=True, slots=True)
class Connected:
    """A conversation, and whether it began with this question."""

    line: Line
    is_fresh: bool


@dataclass(slots=True)
class _Slot:
    """What is known of one server, in one version of it."""

    version: Hashable
    line: Line | None = None
    end: anyio.Event = field(default_factory=anyio.Event)
    opening: anyio.Lock = field(default_factory=anyio.Lock)
    condition: Condition = Condition("idle")
    failures: int = 0
    not_before: float = -math.inf

    def is_up(self, line: Line) -> None:
        about = line.about
        self.line = line
        software = f"{about['name']} {about['version']}".strip()[:200]
        self.condition = Condition("up", datetime.now(UTC), "", software, about["revision"])

    def is_down(self, error: PeciaError) -> None:
        """The first death costs nothing; every one after it without an answer costs more."""
        self.condition = Condition("down", datetime.now(UTC), error.message)
        if self.failures:
            wait_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** (self.failures - 1))
            self.not_before = anyio.current_time() + wait_s * random.uniform(0.75, 1.25)
        self.failures += 1


class Switchboard:
    """Connects whoever asks."""

    def __init__(self, lines: Lines, *, connect_s: float) -> None:
        self._lines = lines
        self._connect_s = connect_s
        self._slots: dict[Key, _Slot] = {}
        self._tasks: TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """While it is entered, conversations stay open from one question to the next."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
                tasks.cancel_scope.cancel()

    def start_soon(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do something beside all calls, if anybody is there to own it."""
        if self._tasks is not None:
            self._tasks.start_soon(work)

    @asynccontextmanager
    async def line(self, wanted: Wanted) -> AsyncGenerator[Connected]:
        """A conversation with the server, for as long as the block. It may end before."""
        slot = self._slot(wanted)
        if self._tasks is not None:
            yield await self._held(wanted, slot, self._tasks)
            return
        async with self._opened(wanted, slot) as line:
            yield Connected(line, is_fresh=True)

    def condition(self, key: Key) -> Condition:
        slot = self._slots.get(key)
        return slot.condition if slot else Condition("idle")

    def answered(self, key: Key) -> None:
        """It is well: its next death is its first again."""
        if slot := self._slots.get(key):
            slot.failures = 0

    def forget(self, key: Key) -> None:
        """End the conversation with a server that is no longer wanted as it was."""
        if slot := self._slots.pop(key, None):
            slot.end.set()

    def _slot(self, wanted: Wanted) -> _Slot:
        slot = self._slots.get(wanted.key)
        if slot is not None and slot.version != wanted.version:
            self.forget(wanted.key)
            slot = None
        return slot or self._slots.setdefault(wanted.key, _Slot(wanted.version))

    async def _held(self, wanted: Wanted, slot: _Slot, tasks: TaskGroup) -> Connected:
        async with slot.opening:
            if slot.line is not None and not slot.line.over.is_set():
                return Connected(slot.line, is_fresh=False)
            line: Line = await tasks.start(self._keep, wanted, slot)
            return Connected(line, is_fresh=True)

    async def _keep(self, wanted: Wanted, slot: _Slot, *, task_status: TaskStatus[Line]) -> None:
        """Holds one conversation from its beginning to its end."""
        has_begun = False
        try:
            async with self._opened(wanted, slot) as line:
                has_begun = True
                task_status.started(line)
                await _first(line.over, slot.end)
                if not slot.end.is_set():
                    raise UpstreamError("it ended by itself")
        except PeciaError as error:
            if not has_begun:
                # Whoever waits for it is told; nobody else needs to be.
                raise
            _log.failure("hub.line", error)

    @asynccontextmanager
    async def _opened(self, wanted: Wanted, slot: _Slot) -> AsyncGenerator[Line]:
        """A new conversation, greeted in time. Where it ends by itself, that is noted."""
        await _rest(wanted, slot)
        line: Line | None = None
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + self._connect_s) as clock:
                async with self._lines.open(await wanted.place(), wanted.hear) as line:
                    await wanted.greet(line)
                    clock.deadline = math.inf
                    slot.is_up(line)
                    yield line
            if clock.cancelled_caught:
                line = None
                raise self._late(wanted)
        except PeciaError as error:
            is_over = line is None or line.over.is_set()
            # While this one came to its end, somebody may have opened the next.
            if is_over and (slot.line is None or slot.line is line):
                slot.is_down(error)
            raise
        finally:
            if slot.line is line:
                slot.line = None

    def _late(self, wanted: Wanted) -> Timeout:
        limit_s = self._connect_s
        return Timeout(
            f"the server {wanted.name} did not answer in {limit_s:g} s",
            server=wanted.name,
            timeout_s=limit_s,
        )


async def _rest(wanted: Wanted, slot: _Slot) -> None:
    """Leave a server that keeps failing alone for a while."""
    left = slot.not_before - anyio.current_time()
    if left > PATIENCE_S:
        raise Unavailable(
            f"the server {wanted.name} is down: {slot.condition.reason}",
            server=wanted.name,
            retry_after_s=round(left, 1),
        )
    if left > 0:
        await anyio.sleep(left)


async def _first(*events: anyio.Event) -> None:
    async with anyio.create_task_group() as tasks:

        async def watch(event: anyio.Event) -> None:
            await event.wait()
            tasks.cancel_scope.cancel()

        for it in events:
            tasks.start_soon(watch, it)
