"""Who wants to hear that something changed, in either era. No tenant hears of another's changes."""

from collections import defaultdict
from dataclasses import dataclass, field
from uuid import UUID

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

from pecia.doors.mcp.errors import rpc_error
from pecia.doors.mcp.standing import Context, connection_of, standing_of
from pecia.kernel.errors import QuotaExceeded
from pecia.kernel.identity.caller import Operator

MOST_URIS = 1_000
"""Subscriptions of one session or stream; more than any client shows."""

__all__ = [
    "Changes",
    "PromptsListChanged",
    "ResourceUpdated",
    "ResourcesListChanged",
    "ToolsListChanged",
    "wanted",
]


def wanted(params: SubscriptionsListenRequestParams) -> list[str]:
    """The resources that a stream is asked to watch, each once."""
    uris = sorted({str(it) for it in params.notifications.resource_subscriptions or ()})
    if len(uris) > MOST_URIS:
        raise rpc_error(_full(), modern=True)
    return uris


@dataclass(slots=True)
class _Listeners:
    """Those of one tenant."""

    bus: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)
    sessions: dict[object, tuple[ServerSession, set[str]]] = field(
        default_factory=dict[object, tuple[ServerSession, set[str]]]
    )

    def __post_init__(self) -> None:
        self.streams = ListenHandler(self.bus)

    streams: ListenHandler = field(init=False)


class Changes:
    """Subscriptions of every session and stream of this process."""

    def __init__(self) -> None:
        self._by_tenant: defaultdict[UUID, _Listeners] = defaultdict(_Listeners)

    async def publish(self, tenant_id: UUID, event: ServerEvent) -> None:
        """Tell whoever of that tenant listens."""
        listeners = self._by_tenant.get(tenant_id)
        if listeners is None:
            return
        await listeners.bus.publish(event)
        for session, uris in [*listeners.sessions.values()]:
            await _tell(session, uris, event)

    async def listen(self, ctx: Context, params: SubscriptionsListenRequestParams) -> HandlerResult:
        """A stream of the newer era, for as long as the client keeps it."""
        return await self._of(ctx).streams(ctx, params)

    async def join(self, ctx: Context) -> None:
        """A session of the older era hears of changed lists without asking."""
        listeners, connection = self._of(ctx), connection_of(ctx)
        if connection in listeners.sessions:
            return
        listeners.sessions[connection] = (ctx.session, set())
        connection.exit_stack.callback(listeners.sessions.pop, connection, None)

    async def subscribe(self, ctx: Context, params: SubscribeRequestParams) -> EmptyResult:
        await self.join(ctx)
        uris = self._of(ctx).sessions[connection_of(ctx)][1]
        if len(uris) >= MOST_URIS:
            raise rpc_error(_full(), modern=False)
        uris.add(str(params.uri))
        return EmptyResult()

    async def unsubscribe(self, ctx: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        found = self._of(ctx).sessions.get(connection_of(ctx))
        if found is not None:
            found[1].discard(str(params.uri))
        return EmptyResult()

    def close(self) -> None:
        """End every stream in good order."""
        for listeners in self._by_tenant.values():
            listeners.streams.close()

    def _of(self, ctx: Context) -> _Listeners:
        who = standing_of(ctx).who
        return self._by_tenant[UUID(int=0) if isinstance(who, Operator) else who.tenant_id]


def _full() -> QuotaExceeded:
    return QuotaExceeded(
        f"{MOST_URIS} subscriptions a session", quota="subscriptions", limit=MOST_URIS
    )


async def _tell(session: ServerSession, uris: set[str], event: ServerEvent) -> None:
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
