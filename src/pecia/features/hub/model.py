"""Upstream servers and what they offer, as data. Nothing here connects."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from pecia.kernel.errors import Json

Transport: TypeAlias = Literal["stdio", "http", "sse"]
OPERATOR_ORIGIN = "file"
ToolState: TypeAlias = Literal["approved", "new", "changed", "gone"]


@dataclass(frozen=True, slots=True)
class ServerSecrets:
    """What is sealed: environment of a program, headers of a URL, and the arguments or the URL
    themselves if there is a secret in them. `${secret:NAME}` refers to another secret."""

    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    argv: tuple[str, ...] = field(default=(), repr=False)
    url: str = field(default="", repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        return (*sorted(self.env), *sorted(self.headers))

    @property
    def is_empty(self) -> bool:
        return self == ServerSecrets()


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The address of a server as it is stored and shown: secrets in it are redacted, of variables
    and headers only the names are there."""

    transport: Transport
    argv: tuple[str, ...] = ()
    folder: str | None = None
    url: str = ""
    secrets: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "ServerAddress":
        return cls(
            stored["transport"],
            tuple(stored["argv"]),
            stored["folder"],
            stored["url"],
            tuple(stored["secrets"]),
        )


@dataclass(frozen=True, slots=True)
class ServerEndpoint:
    """The same with credentials: enough to connect, never shown."""

    address: ServerAddress
    secrets: ServerSecrets = field(default_factory=ServerSecrets)
    hosts: tuple[str, ...] = ()
    """Hosts inside the operator's network that it may use."""

    @property
    def env(self) -> Mapping[str, str]:
        return self.secrets.env

    @property
    def headers(self) -> Mapping[str, str]:
        return self.secrets.headers

    @property
    def argv(self) -> tuple[str, ...]:
        return self.secrets.argv or self.address.argv

    @property
    def folder(self) -> str | None:
        return self.address.folder

    @property
    def url(self) -> str:
        return self.secrets.url or self.address.url

    @property
    def is_sse(self) -> bool:
        return self.address.transport == "sse"


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Timeouts of a server, and whether its changes are trusted. None: from the settings."""

    timeout_s: float | None = None
    resets_on_progress: bool = False
    most_s: float | None = None
    takes_changes: bool = False
    """Changes to its tools take effect at once, without approval."""
    strict_capabilities: bool = False

    def to_json(self) -> dict[str, Json]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "ServerOptions":
        return cls(**stored)


@dataclass(frozen=True, slots=True)
class UpstreamServer:
    """A server that the caller may use. `where` and `readers` are for administrators only."""

    name: str
    origin: Literal["caller", "file", "session"]
    address: ServerAddress | None
    options: ServerOptions
    enabled: bool
    readers: tuple[str, ...] | None
    version: int
    created_at: datetime
    changed_at: datetime

    @property
    def is_operator_managed(self) -> bool:
        return self.origin == OPERATOR_ORIGIN


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as its server describes it: checked, size-limited, still untrusted."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    title: str = ""
    output_schema: Mapping[str, Any] | None = None
    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True
    notes: tuple[str, ...] = ()
    """What was dropped from its description or schema, and why."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "OfferedTool":
        given: dict[str, Any] = {**stored, "notes": tuple(stored["notes"])}
        return cls(**given)


@dataclass(frozen=True, slots=True)
class StoredTool:
    """A tool in the store."""

    server: str
    name: str
    exposed: str | None
    approved: OfferedTool | None
    offered: OfferedTool | None
    is_gone: bool = False
    is_enabled: bool = True
    is_open: bool = True
    stamp: str = ""
    """Changes whenever the approved definition changes."""

    @property
    def state(self) -> ToolState:
        if self.is_gone:
            return "gone"
        if self.approved is None:
            return "new"
        return "approved" if self.offered is None else "changed"

    @property
    def effective(self) -> OfferedTool:
        """The approved definition, else the offered one."""
        definition = self.approved or self.offered
        assert definition is not None
        return definition
