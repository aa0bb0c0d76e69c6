"""What a handler is handed beside its input: who asks, until when, and a way to talk back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

import anyio

from pecia.kernel.errors import Json, Timeout
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.trace import Trace


@dataclass(frozen=True, slots=True)
class Question:
    """Something only the person at the other end can answer: a form, as a JSON Schema."""

    message: str
    schema: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. `action` is accept, decline or cancel; only accept has content."""

    action: str
    content: Mapping[str, Json] = field(default_factory=dict[str, Json])


class InputRequired(Exception):
    """The handler waits for answers: the door asks, then runs the handler again with them."""

    def __init__(self, key: str, question: Question) -> None:
        super().__init__(f"an answer to {key!r} is needed")
        self.key = key
        self.question = question


class Channel(Protocol):
    """What a door can carry back to its client while a call runs."""

    async def progress(self, done: float, total: float | None, message: str | None) -> None: ...

    async def log(self, level: str, message: str, fields: Mapping[str, Json]) -> None: ...

    async def ask(self, key: str, question: Question) -> Reply:
        """The answer, or InputRequired where the client must come back with it."""
        ...

    async def sample(self, messages: Sequence[Mapping[str, Json]], max_tokens: int) -> str: ...


@dataclass(slots=True)
class Call:
    """One call in flight.

    A handler may be run more than once for one question to the client: what it does before an
    `ask` must be harmless to repeat.
    """

    caller: Caller
    channel: Channel
    trace: Trace
    deadline: float
    session: Mapping[str, Json] = field(default_factory=dict[str, Json])

    @property
    def id(self) -> UUID:
        return self.trace.id

    def remaining_s(self) -> float:
        """Seconds left, or Timeout when there are none."""
        left = self.deadline - anyio.current_time()
        if left <= 0:
            raise Timeout("the deadline of this call has passed")
        return left

    async def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        await self.channel.progress(done, total, message)

    async def log(self, level: str, message: str, **fields: Json) -> None:
        await self.channel.log(level, message, fields)

    async def ask(self, key: str, message: str, schema: Mapping[str, Json]) -> Reply:
        return await self.channel.ask(key, Question(message, schema))

    async def sample(self, messages: Sequence[Mapping[str, Json]], max_tokens: int) -> str:
        return await self.channel.sample(messages, max_tokens)

    def returned(self, source: str, keys: Sequence[str]) -> None:
        """Note for the audit which keys of which source this call gave out."""
        self.trace.returned(source, keys)
