"""What a feature serves, as data. Features know each other only through this."""

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pecia.kernel.corpus.connector_kind import ConnectorRegistry
from pecia.kernel.corpus.search.search import Corpus
from pecia.kernel.errors import Unprocessable
from pecia.kernel.identity.caller import Caller
from pecia.kernel.jobs import Job
from pecia.kernel.secrets.keyring import Keyring
from pecia.kernel.settings.load import Settings
from pecia.kernel.store.audit.log import AuditLog
from pecia.kernel.store.purge import PurgeTarget
from pecia.kernel.store.store import Store
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.dynamic_tools import DynamicTools
from pecia.kernel.tool.model import AnyTool, Prompt, Resource, ResourceTemplate
from pecia.kernel.tool.skill import ListSkills

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FeatureRequest:
    """An HTTP request to a feature's page or socket, reduced to what a feature may know."""

    call: Call
    """Caller, channel and deadline, as for a tool call."""
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes = b""

    @property
    def caller(self) -> Caller:
        return self.call.caller


@dataclass(frozen=True, slots=True)
class FeaturePage:
    """The response of a feature's page."""

    body: bytes
    content_type: str = "text/html; charset=utf-8"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class FeatureRoute:
    """A page or download of a feature. The interface authenticates, audits and renders errors."""

    method: str
    path: str
    name: str
    serve: Callable[[FeatureRequest], Awaitable[FeaturePage]]
    public: bool = False
    timeout_s: float | None = None
    """None: the server's default."""


class MessageStream(Protocol):
    """Binary messages, both ways. EndOfStream when the peer is gone."""

    async def receive(self) -> bytes: ...

    async def send(self, message: bytes) -> None: ...


@dataclass(frozen=True, slots=True)
class FeatureSocket:
    """A websocket of a feature. It opens with the first message that `serve` waits for or sends: a
    failure before that answers the request, a later one closes the socket."""

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
    skills: ListSkills | None = None
    """Agent Skills that it serves, which differ by caller."""
    routes: tuple[FeatureRoute, ...] = ()
    sockets: tuple[FeatureSocket, ...] = ()
    jobs: tuple[Job, ...] = ()
    background_tasks: tuple[Callable[[], Coroutine[Any, Any, None]], ...] = ()
    """What workers run beside jobs. Safe to run in several processes at once."""
    lifespan: Callable[[], AbstractAsyncContextManager[None]] | None = None
    """Entered while an App is open. It starts nothing by itself."""
    dynamic_tools: DynamicTools | None = None
    """Tools beside `tools` that come and go, and differ by caller."""
    services: tuple[object, ...] = ()
    """What features built later may use, found by type."""
    purge: Callable[[PurgeTarget], Awaitable[None]] | None = None
    instructions: str | None = None
    """The MCP instructions of this feature's own endpoint."""
    overview: Callable[[Caller], Awaitable[Sequence[str] | None]] | None = None
    """What its tools work on for this caller, by name. None: its tools could only fail."""


@dataclass(frozen=True, slots=True)
class FeatureContext:
    """What a feature is built from. Nothing is open yet: building does no I/O."""

    settings: Settings
    store: Store
    corpus: Corpus
    audit_log: AuditLog
    keyring: Keyring
    connectors: ConnectorRegistry
    features: tuple[Feature, ...] = ()
    """Those that are built already."""

    def service(self, kind: type[T]) -> T:
        """What a feature that is built already offers, by its type."""
        return find_service(self.features, kind)


def find_service(features: Iterable[Feature], kind: type[T]) -> T:
    """The one service of that type."""
    for feature in features:
        for service in feature.services:
            if isinstance(service, kind):
                return service
    raise Unprocessable(f"no feature offers {kind.__name__}")
