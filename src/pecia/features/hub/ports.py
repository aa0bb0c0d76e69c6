"""What the hub needs from outside: connections to servers, and the internal hosts a tenant may use.
Injected at composition."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol
from uuid import UUID

import anyio

from pecia.features.hub.model import ServerEndpoint


class UpstreamProgress(Protocol):
    """Receives progress of a call."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None: ...


class UpstreamConnection(Protocol):
    """An open connection. What it returns is untrusted, as received.

    It raises UpstreamError: if `over` is set the connection is gone, else the server refused.
    """

    @property
    def over(self) -> anyio.Event: ...

    @property
    def about(self) -> Mapping[str, Any]: ...

    async def tools(self) -> list[dict[str, Any]]: ...

    async def call(
        self, tool: str, arguments: Mapping[str, Any], progress: UpstreamProgress | None = None
    ) -> dict[str, Any]: ...


class UpstreamConnectionFactory(Protocol):
    """Opens connections. `on_list_changed` is called when the server announces a changed list."""

    def open(
        self, endpoint: ServerEndpoint, on_list_changed: Callable[[str], None]
    ) -> AbstractAsyncContextManager[UpstreamConnection]: ...


class UpstreamNetwork(Protocol):
    """Which hosts inside the operator's network a server may be on."""

    async def hosts(self, tenant_id: UUID, *, is_operators: bool) -> tuple[str, ...]:
        """The hosts for a server of this tenant, or for one the operator configured for it."""
        ...

    async def check(self, endpoint: ServerEndpoint) -> None:
        """Forbidden where a server is inside that network, and not on one of its `hosts`."""
        ...


class UpstreamGateway(UpstreamConnectionFactory, UpstreamNetwork, Protocol):
    """Both."""
