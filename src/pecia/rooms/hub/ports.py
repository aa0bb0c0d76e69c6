"""What the room needs from outside: a way to talk to a server. Who builds the room hands it in."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import anyio

from pecia.rooms.hub.model import Place


class Progress(Protocol):
    """Is told how far a call is."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None: ...


class Line(Protocol):
    """An open conversation. What it gives is a stranger's word, as it came over the wire.

    It raises UpstreamError: where `over` is set the server has gone, else it only said no.
    """

    @property
    def over(self) -> anyio.Event: ...

    @property
    def about(self) -> Mapping[str, Any]: ...

    async def tools(self) -> list[dict[str, Any]]: ...

    async def call(
        self, tool: str, arguments: Mapping[str, Any], progress: Progress | None = None
    ) -> dict[str, Any]: ...


class Lines(Protocol):
    """Opens conversations. `hear` is told by the server's own accord which of its lists changed."""

    def open(
        self, place: Place, hear: Callable[[str], None]
    ) -> AbstractAsyncContextManager[Line]: ...
