"""What a room brings, as data: rooms built side by side meet here and nowhere else."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from pecia.kernel.identity.caller import Caller
from pecia.kernel.jobs import Job
from pecia.kernel.settings.model import SettingsSection
from pecia.kernel.store.purge import PurgeTarget
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.dynamic_tools import DynamicTools
from pecia.kernel.tool.model import AnyTool, Prompt, Resource, ResourceTemplate


@dataclass(frozen=True, slots=True)
class FeatureRequest:
    """An HTTP request to a room's own page or socket, stripped to what a room may know."""

    call: Call
    """Who asks, from where and until when: what a tool is told of a call."""
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes = b""

    @property
    def caller(self) -> Caller:
        return self.call.caller


@dataclass(frozen=True, slots=True)
class FeaturePage:
    """What a room's page answers."""

    body: bytes
    content_type: str = "text/html; charset=utf-8"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class FeatureRoute:
    """A page or download of a room. The door authenticates, audits and renders errors."""

    method: str
    path: str
    name: str
    serve: Callable[[FeatureRequest], Awaitable[FeaturePage]]
    public: bool = False
    timeout_s: float | None = None
    """Else the one that the server has for every request."""


class MessageStream(Protocol):
    """Messages of bytes, both ways. EndOfStream says that nobody is there."""

    async def receive(self) -> bytes: ...

    async def send(self, message: bytes) -> None: ...


@dataclass(frozen=True, slots=True)
class FeatureSocket:
    """A websocket of a room. It opens with the first message that `serve` waits for or sends: what
    fails before is an answer to the request, and what fails later closes it."""

    path: str
    name: str
    serve: Callable[[FeatureRequest, MessageStream], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Feature:
    """A family of tools and everything that comes with it."""

    name: str
    tools: tuple[AnyTool, ...] = ()
    resources: tuple[Resource, ...] = ()
    templates: tuple[ResourceTemplate, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    routes: tuple[FeatureRoute, ...] = ()
    sockets: tuple[FeatureSocket, ...] = ()
    jobs: tuple[Job, ...] = ()
    background_tasks: tuple[Callable[[], Coroutine[Any, Any, None]], ...] = ()
    """What workers do all the time, beside jobs. Harmless to be done by several at once."""
    settings: tuple[type[SettingsSection], ...] = ()
    lifespan: Callable[[], AbstractAsyncContextManager[None]] | None = None
    """Entered while an App is open. It starts nothing that nobody asked for."""
    dynamic_tools: DynamicTools | None = None
    """Tools beside `tools` that come and go, and differ by caller."""
    migrations: str | None = None
    """The package that holds the room's numbered .sql files."""
    purge: Callable[[PurgeTarget], Awaitable[None]] | None = None
    instructions: str | None = None
    """What an agent is told when it comes to this room's own endpoint."""
