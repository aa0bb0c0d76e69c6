"""Who wants to hear that something changed, in either era. No tenant hears of another's changes."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import UUID

import anyio
from mcp.server.context import HandlerResult
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp_types import (
    EmptyResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    UnsubscribeRequestParams,
)

from pecia.interfaces.mcp.errors import rpc_error
from pecia.interfaces.mcp.request_context import Context, get_connection, get_request_context
from pecia.kernel.errors import QuotaExceeded
from pecia.kernel.identity.caller import Caller, Operator

MAX_URIS = 1_000
"""Subscriptions of one session or stream; more than any client shows."""
NOTIFY_TIMEOUT_S = 1.0

__all__ = [
    "PromptsListChanged",
    "ResourceUpdated",
    "ResourcesListChanged",
    "Subscriptions",
    "ToolsListChanged",
    "requested_uris",
]


def requested_uris(params: SubscriptionsListenRequestParams) -> list[str]:
    """The resources that a stream is asked to watch, each once."""
    uris = sorted({str(it) for it in params.notifications.resource_subscriptions or ()})
    if len(uris) > MAX_URIS:
        raise rpc_error(_quota_error(), modern=True)
    return uris


Stamps: TypeAlias = Callable[[Caller, Sequence[str]], Awaitable[Mapping[str, int]]]
"""What tells a change of each resource that this caller may read now; others are absent."""


@dataclass(slots=True)
class _Listeners:
    """Those of one user, who may all read the same."""

    who: Caller | Operator
    known: dict[str, int] = field(default_factory=dict[str, int])
    """The stamps that these listeners were told of, or began with."""
    streamed: Counter[str] = field(default_factory=Counter[str])
    bus: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)
    sessions: dict[object, tuple[ServerSession, set[str]]] = field(
        default_factory=dict[object, tuple[ServerSession, set[str]]]
    )

    def __post_init__(self) -> None:
        self.streams = ListenHandler(self.bus)

    streams: ListenHandler = field(init=False)

    @property
    def tenant_id(self) -> UUID:
        return UUID(int=0) if isinstance(self.who, Operator) else self.who.tenant_id

    def subscribed_uris(self) -> set[str]:
        """Every resource that any of them asked for."""
        asked = (uris for _, uris in self.sessions.values())
        return {it for it, count in self.streamed.items() if count}.union(*asked)

    async def notify(self, event: ServerEvent) -> None:
        await self.bus.publish(event)
        for session, uris in [*self.sessions.values()]:
            # One that is just going, or does not read on, must not keep others from hearing.
            gone = suppress(anyio.ClosedResourceError, anyio.BrokenResourceError)
            with gone, anyio.move_on_after(NOTIFY_TIMEOUT_S):
                await _notify_session(session, uris, event)


class Subscriptions:
    """Subscriptions of every session and stream of this process."""

    def __init__(self) -> None:
        self._by_owner: dict[str, _Listeners] = {}
        self.stamps: Stamps = _no_stamps

    async def publish(self, tenant_id: UUID, event: ServerEvent) -> None:
        """Tell whoever of that tenant listens."""
        for listeners in self._of_tenant(tenant_id):
            await listeners.notify(event)

    async def notify_all_tenants(self) -> None:
        """Nobody knows what changed: tell all of it."""
        for tenant_id in {it.tenant_id for it in self._by_owner.values()}:
            await self.notify_tenant(tenant_id)

    async def notify_tenant(self, tenant_id: UUID) -> None:
        """Something changed in a tenant: tell each who asked for it and may read it now."""
        for listeners in self._of_tenant(tenant_id):
            now = await self._read_stamps(listeners, sorted(listeners.subscribed_uris()))
            changed = [uri for uri, stamp in now.items() if listeners.known.get(uri) != stamp]
            listeners.known |= now
            for uri in changed:
                await listeners.notify(ResourceUpdated(uri=uri))

    async def listen(self, ctx: Context, params: SubscriptionsListenRequestParams) -> HandlerResult:
        """A stream of the newer era, for as long as the client keeps it."""
        listeners, uris = self._listeners_of(ctx), requested_uris(params)
        listeners.streamed.update(uris)
        try:
            listeners.known |= await self._read_stamps(listeners, uris)
            return await listeners.streams(ctx, params)
        finally:
            listeners.streamed.subtract(uris)
            self._cleanup(listeners)

    async def add_session(self, ctx: Context) -> None:
        """A session of the older era hears of changed lists without asking."""
        listeners, connection = self._listeners_of(ctx), get_connection(ctx)
        if connection in listeners.sessions:
            return
        listeners.sessions[connection] = (ctx.session, set())

        def leave() -> None:
            listeners.sessions.pop(connection, None)
            self._cleanup(listeners)

        connection.exit_stack.callback(leave)

    async def subscribe(self, ctx: Context, params: SubscribeRequestParams) -> EmptyResult:
        await self.add_session(ctx)
        listeners, uri = self._listeners_of(ctx), str(params.uri)
        uris = listeners.sessions[get_connection(ctx)][1]
        if len(uris) >= MAX_URIS:
            raise rpc_error(_quota_error(), modern=False)
        listeners.known |= await self._read_stamps(listeners, [uri])
        uris.add(uri)
        return EmptyResult()

    async def unsubscribe(self, ctx: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        found = self._listeners_of(ctx).sessions.get(get_connection(ctx))
        if found is not None:
            found[1].discard(str(params.uri))
        return EmptyResult()

    def close(self) -> None:
        """End every stream in good order."""
        for listeners in self._by_owner.values():
            listeners.streams.close()

    def _listeners_of(self, ctx: Context) -> _Listeners:
        here = get_request_context(ctx)
        found = self._by_owner.setdefault(here.owner, _Listeners(here.caller))
        # The token they came with last is the one whose rights count.
        found.who = here.caller
        return found

    def _of_tenant(self, tenant_id: UUID) -> list[_Listeners]:
        return [it for it in self._by_owner.values() if it.tenant_id == tenant_id]

    async def _read_stamps(self, listeners: _Listeners, uris: Sequence[str]) -> Mapping[str, int]:
        if not uris or isinstance(listeners.who, Operator):
            return {}
        return await self.stamps(listeners.who, uris)

    def _cleanup(self, listeners: _Listeners) -> None:
        """Forget those who have all gone."""
        if not listeners.sessions and not any(listeners.streamed.values()):
            left = {name: it for name, it in self._by_owner.items() if it is not listeners}
            self._by_owner = left


async def _no_stamps(caller: Caller, uris: Sequence[str]) -> Mapping[str, int]:
    return {}


def _quota_error() -> QuotaExceeded:
    return QuotaExceeded(
        f"{MAX_URIS} subscriptions a session", quota="subscriptions", limit=MAX_URIS
    )


async def _notify_session(session: ServerSession, uris: set[str], event: ServerEvent) -> None:
    match event:
        case ResourceUpdated(uri=uri):
            if str(uri) in uris:
                await session.send_resource_updated(uri)
        case ToolsListChanged():
            await session.send_tool_list_changed()
        case PromptsListChanged():
            await session.send_prompt_list_changed()
        case ResourcesListChanged():
            await session.send_resource_list_changed()
