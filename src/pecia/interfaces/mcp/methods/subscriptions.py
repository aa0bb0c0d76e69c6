"""Subscriptions to changes, in both eras. No tenant is notified of another's changes."""

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
"""Subscriptions of one session or stream; more than any client needs."""
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
    """The resources that a stream subscribes to, deduplicated."""
    uris = sorted({str(it) for it in params.notifications.resource_subscriptions or ()})
    if len(uris) > MAX_URIS:
        raise rpc_error(_quota_error(), modern=True)
    return uris


Stamps: TypeAlias = Callable[[Caller, Sequence[str]], Awaitable[Mapping[str, int]]]
"""The change stamp of each resource that this caller may read now; others are absent."""


@dataclass(slots=True)
class _Listeners:
    """The listeners of one user, who may all read the same."""

    who: Caller | Operator
    known: dict[str, int] = field(default_factory=dict[str, int])
    """The stamps last notified, or those at subscription."""
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
        """Every resource that any of them subscribed to."""
        asked = (uris for _, uris in self.sessions.values())
        return {it for it, count in self.streamed.items() if count}.union(*asked)

    async def notify(self, event: ServerEvent) -> None:
        await self.bus.publish(event)
        for session, uris in [*self.sessions.values()]:
            # A session that is closing or does not read must not block the others.
            gone = suppress(anyio.ClosedResourceError, anyio.BrokenResourceError)
            with gone, anyio.move_on_after(NOTIFY_TIMEOUT_S):
                await _notify_session(session, uris, event)


class Subscriptions:
    """Subscriptions of every session and stream of this process."""

    def __init__(self) -> None:
        self._by_owner: dict[str, _Listeners] = {}
        self.stamps: Stamps = _no_stamps

    async def publish(self, tenant_id: UUID, event: ServerEvent) -> None:
        """Notify all listeners of that tenant."""
        for listeners in self._of_tenant(tenant_id):
            await listeners.notify(event)

    async def notify_all_tenants(self) -> None:
        """After missed notifications: compare every subscription of every tenant."""
        for tenant_id in self.tenants():
            await self.notify_tenant(tenant_id)

    def tenants(self) -> set[UUID]:
        """The tenants with a listener in this process."""
        return {it.tenant_id for it in self._by_owner.values()}

    async def notify_tenant(self, tenant_id: UUID) -> None:
        """Something changed in a tenant: notify the subscribers who may read it now."""
        for listeners in self._of_tenant(tenant_id):
            now = await self._read_stamps(listeners, sorted(listeners.subscribed_uris()))
            changed = [uri for uri, stamp in now.items() if listeners.known.get(uri) != stamp]
            listeners.known |= now
            for uri in changed:
                await listeners.notify(ResourceUpdated(uri=uri))

    async def listen(self, ctx: Context, params: SubscriptionsListenRequestParams) -> HandlerResult:
        """A modern stream, open until the client closes it."""
        listeners, uris = self._listeners_of(ctx), requested_uris(params)
        listeners.streamed.update(uris)
        try:
            listeners.known |= await self._read_stamps(listeners, uris)
            return await listeners.streams(ctx, params)
        finally:
            listeners.streamed.subtract(uris)
            self._cleanup(listeners)

    async def add_session(self, ctx: Context) -> None:
        """A legacy session is notified of changed lists without subscribing."""
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
        """Close every stream cleanly."""
        for listeners in self._by_owner.values():
            listeners.streams.close()

    def _listeners_of(self, ctx: Context) -> _Listeners:
        here = get_request_context(ctx)
        found = self._by_owner.setdefault(here.owner, _Listeners(here.caller))
        # The rights of the token that was used last count.
        found.who = here.caller
        return found

    def _of_tenant(self, tenant_id: UUID) -> list[_Listeners]:
        return [it for it in self._by_owner.values() if it.tenant_id == tenant_id]

    async def _read_stamps(self, listeners: _Listeners, uris: Sequence[str]) -> Mapping[str, int]:
        if not uris or isinstance(listeners.who, Operator):
            return {}
        return await self.stamps(listeners.who, uris)

    def _cleanup(self, listeners: _Listeners) -> None:
        """Remove an owner without sessions and streams."""
        if not listeners.sessions and not any(listeners.streamed.values()):
            left = {name: it for name, it in self._by_owner.items() if it is not listeners}
            self._by_owner = left


async def _no_stamps(caller: Caller, uris: Sequence[str]) -> Mapping[str, int]:
    return {}


def _quota_error() -> QuotaExceeded:
    return QuotaExceeded(
        f"at most {MAX_URIS} subscriptions per session", quota="subscriptions", limit=MAX_URIS
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
