"""A Pecia whose hub keeps its conversations open, and upstreams to talk to, programs and sites."""

import shlex
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from socket import socket
from typing import Any, cast

from pecia.app.app import App
from pecia.app.composition.hub import HubGateway
from pecia.app.dispatch import RequestContext
from pecia.features.hub.feature import HubContext, build_hub_feature, open_hub
from pecia.features.hub.hub import Hub
from pecia.features.hub.settings import HubSettings
from pecia.interfaces.http.server import serve_asgi
from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Caller
from pecia.kernel.settings.kernel import KernelSettings
from pecia.kernel.tool.call import Channel
from pecia.kernel.tool.model import ToolResult
from pecia.kernel.tool.null_channel import NULL_CHANNEL
from pecia.kernel.tool.view import combine_tools
from tests.confirming_channel import Person
from tests.conftest import House
from tests.unit.features.hub import upstream
from tests.unit.features.hub.upstream import Site

PROGRAM = str(Path(upstream.__file__))


@dataclass(frozen=True, slots=True)
class HubServer:
    """An open Pecia, its hub, and who comes."""

    app: App
    hub: Hub
    ana: Caller
    bo: Caller

    async def call(self, who: Caller, tool: str, /, **given: Json) -> dict[str, Any]:
        """What a tool of the hub gives."""
        return await self.call_on(Person(), who, tool, given)

    async def call_on(
        self, channel: Channel, who: Caller, tool: str, given: Mapping[str, Json]
    ) -> dict[str, Any]:
        """The same, for a client that can be talked to."""
        visit = RequestContext("test", channel=channel)
        result = await self.app.call(who, f"hub.{tool}", given, visit)
        return cast(dict[str, Any], result.structured)

    async def ask(
        self,
        who: Caller,
        server: str,
        tool: str,
        /,
        channel: Channel = NULL_CHANNEL,
        **arguments: Json,
    ) -> ToolResult:
        """What a tool of an upstream gives."""
        given: dict[str, Json] = {"server": server, "tool": tool, "arguments": arguments}
        visit = RequestContext("test", channel=channel)
        return await self.app.call(who, "hub.call_server_tool", given, visit)

    async def add_program(self, server: str, *words: str, **more: Json) -> dict[str, Any]:
        """A server that is a program of this machine."""
        argv = [sys.executable, PROGRAM, *words]
        return await self.call(
            self.ana,
            "add_server",
            server=server,
            command=shlex.join(argv),
            **more,
        )


@asynccontextmanager
async def grounded(house: House, **changes: Any) -> AsyncGenerator[HubServer]:
    """The house with a hub whose settings are changed, and which is running."""
    app = house.app
    settings = app.settings.part(HubSettings).model_copy(update=changes)
    others = [it for it in app.features if it.name != "hub"]
    built_in = {tool.name for feature in others for tool in feature.tools}
    ours = HubContext(built_in, is_own_machine=True, confirmations=app.confirmations)
    hub = open_hub(app.store, app.keyring, HubGateway(app.settings, app.store), settings, ours)
    features = (*others, build_hub_feature(hub, ours))
    everything = combine_tools(tool for feature in features for tool in feature.tools)
    async with hub.running():
        yield HubServer(
            replace(app, features=features, full_view=everything), hub, house.ana, house.bo
        )


@asynccontextmanager
async def site(house: House, *words: str, token: str = "") -> AsyncGenerator[tuple[str, Site]]:
    """An upstream on a free port of this machine: where it is, and itself."""
    made = Site([*words], token)
    async with listening_site(made, house.app.settings.kernel) as url:
        yield url, made


@asynccontextmanager
async def listening_site(made: Site, settings: KernelSettings) -> AsyncGenerator[str]:
    with socket() as listener:
        listener.bind(("127.0.0.1", 0))
        async with made.running(), serve_asgi(made, settings, listener) as where:
            yield where.url
