"""What the room needs from outside: a way to talk to a server, and which inner hosts a tenant was
given. Who builds the room hands it in."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol
from uuid import UUID

import anyio

from pecia.features.hub.model import ServerEndpoint


class UpstreamProgress(Protocol):
    """Is told how far a call is."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None: ...


class UpstreamConnection(Protocol):
    """An open conversation. What it gives is a stranger's word, as it came over the wire.

    It raises UpstreamError: where `over` is set the server has gone, else it only said no.
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
    """Opens conversations. `hear` is told by the server's own accord which of its lists changed."""

    def open(
        self, place: ServerEndpoint, hear: Callable[[str], None]
    ) -> AbstractAsyncContextManager[UpstreamConnection]: ...


class UpstreamNetwork(Protocol):
    """Which hosts inside the operator's network a server may be on."""

    async def hosts(self, tenant_id: UUID, *, is_operators: bool) -> tuple[str, ...]:
        """Those for a server of this tenant; or for one that the operator named for it."""
        ...

    async def check(self, place: ServerEndpoint) -> None:
        """Forbidden where a server is inside that network, and not on one of its `hosts`."""
        ...


class UpstreamGateway(UpstreamConnectionFactory, UpstreamNetwork, Protocol):
    """Both."""
