"""What a handler gets beside its input: caller, deadline, and a channel to the client."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias
from uuid import UUID

import anyio
import orjson

from pecia.kernel.errors import Json, Timeout, Unprocessable
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.audit.record import AuditRecord

CLIENT_NAME, CLIENT_VERSION = "client.name", "client.version"
"""Keys of a call's session: the client program as it calls itself. It grants nothing."""


@dataclass(frozen=True, slots=True)
class Elicitation:
    """A form for the person at the client, as a JSON Schema (MCP elicitation)."""

    message: str
    schema: Mapping[str, Json]
    is_confirmation: bool = False
    """Whether an accept triggers an action: an unsolicited answer does not count."""


@dataclass(frozen=True, slots=True)
class SamplingRequest:
    """A completion from the client's model (MCP sampling)."""

    messages: Sequence[Mapping[str, Json]]
    max_tokens: int


@dataclass(frozen=True, slots=True)
class RootsRequest:
    """The client's folders (MCP roots)."""


ClientInquiry: TypeAlias = Elicitation | SamplingRequest | RootsRequest


@dataclass(frozen=True, slots=True)
class ClientReply:
    """The answer. `action` is accept, decline or cancel; only accept has content."""

    action: str
    content: Mapping[str, Json] = field(default_factory=dict[str, Json])


class FormWithheld(Unprocessable):
    """The client shows forms, but its answer would not count as a person's."""


class InputRequired(Exception):
    """The handler needs answers: the interface asks, then runs the handler again with them."""

    def __init__(self, inquiries: Mapping[str, ClientInquiry]) -> None:
        super().__init__(f"answers are needed: {', '.join(inquiries)}")
        self.inquiries = inquiries


class Channel(Protocol):
    """What an interface can send to its client while a call runs."""

    async def progress(self, done: float, total: float | None, message: str | None) -> None: ...

    async def partial(self, found: Mapping[str, Json]) -> None:
        """What is known of the result so far, in its shape."""
        ...

    async def log(self, level: str, message: str, fields: Mapping[str, Json]) -> None: ...

    async def inquire(self, inquiries: Mapping[str, ClientInquiry]) -> Mapping[str, ClientReply]:
        """Every answer, or InputRequired where the client must come back with them.

        Of several questions, those that this client does not support come back as `cancel`.
        """
        ...

    async def detach(self) -> bool:
        """Detach from the request, if the client can poll the call. Returns whether it could."""
        ...


@dataclass(slots=True)
class Call:
    """One call in flight.

    A handler may be run more than once for one question to the client: what it does before an
    `ask` must be idempotent.
    """

    caller: Caller
    channel: Channel
    trace: AuditRecord
    deadline: float
    session: Mapping[str, Json] = field(default_factory=dict[str, Json])
    model_key: str | None = field(default=None, repr=False)
    """The caller's own model key, for this request alone."""
    idle: Callable[[], AbstractAsyncContextManager[None]] = field(default=nullcontext, repr=False)
    """Releases the slot while the call waits for another server."""
    confirmed: set[bytes] = field(default_factory=set[bytes], repr=False)
    """The actions a person has confirmed in this call, which may be run more than once."""
    attempt: int = 1
    """Above 1, an attempt before lost a write conflict."""

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

    async def partial(self, found: Mapping[str, Json]) -> None:
        """For a client that shows results as they come; others get the whole alone."""
        await self.channel.partial(found)

    async def log(self, level: str, message: str, **fields: Json) -> None:
        await self.channel.log(level, message, fields)

    async def elicit(self, key: str, message: str, schema: Mapping[str, Json]) -> ClientReply:
        """The answer of a person to a form. The key names the question among those of this call."""
        return (await self.inquire({key: Elicitation(message, schema)}))[key]

    async def elicit_confirmation(
        self, key: str, message: str, schema: Mapping[str, Json]
    ) -> ClientReply:
        """The same, where an accept triggers an action."""
        return (await self.inquire({key: Elicitation(message, schema, is_confirmation=True)}))[key]

    async def sample(self, messages: Sequence[Mapping[str, Json]], max_tokens: int) -> str:
        """The completion of the client's model."""
        # Keyed by the question, so that the handler finds its answer when it is run again.
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
        """Continue as a task, because this takes long; False if the client cannot poll.

        A client that can gets the task's id.
        """
        return await self.channel.detach()

    def record_returned(self, source: str, keys: Sequence[str]) -> None:
        """Record for the audit log which keys of which source this call returned."""
        self.trace.record_returned(source, keys)
