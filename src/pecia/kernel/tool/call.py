"""What a handler is handed beside its input: who asks, until when, and a way to talk back."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias
from uuid import UUID

import anyio
import orjson

from pecia.kernel.errors import Json, Timeout
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.audit.record import AuditRecord


@dataclass(frozen=True, slots=True)
class Elicitation:
    """Something only the person at the other end can answer: a form, as a JSON Schema."""

    message: str
    schema: Mapping[str, Json]
    is_confirmation: bool = False
    """Whether something is done upon the yes: an answer that nobody asked for does not count."""


@dataclass(frozen=True, slots=True)
class SamplingRequest:
    """A few words from the model that the client lends."""

    messages: Sequence[Mapping[str, Json]]
    max_tokens: int


@dataclass(frozen=True, slots=True)
class RootsRequest:
    """Which folders the client works in."""


ClientInquiry: TypeAlias = Elicitation | SamplingRequest | RootsRequest


@dataclass(frozen=True, slots=True)
class ClientReply:
    """What came back. `action` is accept, decline or cancel; only accept has content."""

    action: str
    content: Mapping[str, Json] = field(default_factory=dict[str, Json])


class InputRequired(Exception):
    """The handler waits for answers: the door asks, then runs the handler again with them."""

    def __init__(self, inquiries: Mapping[str, ClientInquiry]) -> None:
        super().__init__(f"answers are needed: {', '.join(inquiries)}")
        self.inquiries = inquiries


class Channel(Protocol):
    """What a door can carry back to its client while a call runs."""

    async def progress(self, done: float, total: float | None, message: str | None) -> None: ...

    async def log(self, level: str, message: str, fields: Mapping[str, Json]) -> None: ...

    async def inquire(self, inquiries: Mapping[str, ClientInquiry]) -> Mapping[str, ClientReply]:
        """Every answer, or InputRequired where the client must come back with them.

        Of several questions, those that this client cannot be asked come back as `cancel`.
        """
        ...

    async def detach(self) -> bool:
        """Let the request go, where the client can follow what goes on. Whether it could."""
        ...


@dataclass(slots=True)
class Call:
    """One call in flight.

    A handler may be run more than once for one question to the client: what it does before an
    `ask` must be harmless to repeat.
    """

    caller: Caller
    channel: Channel
    trace: AuditRecord
    deadline: float
    session: Mapping[str, Json] = field(default_factory=dict[str, Json])
    model_key: str | None = field(default=None, repr=False)
    """The caller's own key to a model, which came with the request and goes with it."""
    idle: Callable[[], AbstractAsyncContextManager[None]] = field(default=nullcontext, repr=False)
    """While the call waits for somebody else: others run in its place."""
    confirmed: set[bytes] = field(default_factory=set[bytes], repr=False)
    """The acts that a person has said yes to in this call, which may be run more than once."""

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

    async def elicit(self, key: str, message: str, schema: Mapping[str, Json]) -> ClientReply:
        """The answer of a person to a form. The key names the question among those of this call."""
        return (await self.inquire({key: Elicitation(message, schema)}))[key]

    async def elicit_confirmation(
        self, key: str, message: str, schema: Mapping[str, Json]
    ) -> ClientReply:
        """The same for a yes upon which something is done."""
        return (await self.inquire({key: Elicitation(message, schema, is_confirmation=True)}))[key]

    async def sample(self, messages: Sequence[Mapping[str, Json]], max_tokens: int) -> str:
        """What the client's model says."""
        # Named by what is asked, so that the handler finds its answer when it is run again.
        key = f"sample-{hashlib.sha256(orjson.dumps(messages)).hexdigest()[:16]}"
        reply = (await self.inquire({key: SamplingRequest(messages, max_tokens)}))[key]
        return str(reply.content.get("text", ""))

    async def roots(self) -> Sequence[str]:
        """The URIs of the folders that the client works in."""
        found = (await self.inquire({"roots": RootsRequest()}))["roots"].content.get("roots")
        return [str(it) for it in found] if isinstance(found, list) else []

    async def inquire(self, inquiries: Mapping[str, ClientInquiry]) -> Mapping[str, ClientReply]:
        """Several answers in one round."""
        async with self.idle():
            return await self.channel.inquire(inquiries)

    async def detach(self) -> bool:
        """Go on without the request from here, because this takes long; False where it must wait.

        A client that can is told how to ask after the call.
        """
        return await self.channel.detach()

    def record_returned(self, source: str, keys: Sequence[str]) -> None:
        """Note for the audit which keys of which source this call gave out."""
        self.trace.record_returned(source, keys)
