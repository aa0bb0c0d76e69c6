"""Tools, resources and prompts as data: defined once, served by every interface. Knows none."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict

from pecia.kernel.errors import Json, PeciaError
from pecia.kernel.identity.caller import Caller, Scope
from pecia.kernel.on_demand import OnDemand
from pecia.kernel.tool.call import Call


class Input(BaseModel):
    """The arguments of a tool. An argument nobody declared is an error, never ignored."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)


class Output(BaseModel):
    """What a tool gives back."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)


class TextOutput(Output):
    """Of a tool whose answer is text alone."""


@dataclass(frozen=True, slots=True)
class TextContent:
    text: str


@dataclass(frozen=True, slots=True)
class ResourceLink:
    """A citation: a resource the client may open."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None


@dataclass(frozen=True, slots=True)
class EmbeddedResource:
    """A resource sent along, text or bytes."""

    uri: str
    body: str | bytes
    mime_type: str | None = None


@dataclass(frozen=True, slots=True)
class MediaContent:
    """An image or a sound."""

    body: bytes
    mime_type: str


@dataclass(frozen=True, slots=True)
class ForeignContent:
    """A block of another MCP server, in the shape of MCP, to be handed on as it came."""

    block: Mapping[str, Json]


Content: TypeAlias = TextContent | ResourceLink | EmbeddedResource | MediaContent | ForeignContent


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool's result. Without a TextContent, an interface shows `structured` as JSON text.

    `is_foreign`: another server's whole answer, to which nothing is added. `failure`: of which kind
    an error of ours is, where `structured` has the shape that clients of the tool expect.
    """

    structured: Json = None
    content: tuple[Content, ...] = ()
    is_error: bool = False
    meta: Mapping[str, Json] = field(default_factory=dict[str, Json])
    is_foreign: bool = False
    failure: PeciaError | None = None


T = TypeVar("T")
In = TypeVar("In", bound=BaseModel)
Out = TypeVar("Out", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class CitedOutput(Generic[Out]):
    """An output together with citations or embedded resources."""

    output: Out
    content: tuple[Content, ...] = ()


# Compared by identity, which also makes it a cheap key.
@dataclass(frozen=True, slots=True, eq=False)
class Tool(Generic[In, Out]):
    """One tool of one feature. The docstring of `run` is its description, for models."""

    feature: str
    name: str
    scope: Scope
    takes: type[In]
    gives: type[Out]
    run: Callable[[Call, In], Awaitable[Out | CitedOutput[Out] | ToolResult]]
    read_only: bool = True
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False
    public: bool = False
    hidden: bool = False
    title: str = ""
    timeout_s: float | None = None
    lean: "Tool[Any, Any] | None" = None
    """The tool for agents, where a reference prescribes another answer; of the same name."""

    @property
    def description(self) -> str:
        return " ".join((self.run.__doc__ or "").split())


class ToolGroup:
    """Tools that are made together, with the first call or description of one of them."""

    def __init__(self, source: OnDemand[T], tools_of: Callable[[T], Iterable["AnyTool"]]) -> None:
        self.source: OnDemand[Any] = source
        self._tools_of: Callable[[Any], Iterable[AnyTool]] = tools_of
        self.tools: Mapping[str, AnyTool] | None = None
        """By name; None before they are made."""

    def load(self) -> Mapping[str, "AnyTool"]:
        """The tools. On an event loop, `load_tools` comes first."""
        if self.tools is None:
            self.tools = {it.name: it for it in self._tools_of(self.source.get())}
        return self.tools


@dataclass(frozen=True, slots=True, eq=False)
class DeferredTool:
    """A tool of a module that is not imported yet, with what a server must know of it before:
    `kernel/tool/on_demand.py`. The rest imports it."""

    group: ToolGroup
    feature: str
    name: str
    scope: Scope
    read_only: bool = True
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False
    public: bool = False
    hidden: bool = False
    title: str = ""
    timeout_s: float | None = None
    secret_fields: frozenset[str] = frozenset()
    lean: "DeferredTool | None" = None
    is_lean: bool = False

    @property
    def loaded(self) -> Tool[Any, Any]:
        tool = self.group.load()[self.name]
        assert isinstance(tool, Tool)
        return tool.lean or tool if self.is_lean else tool

    @property
    def takes(self) -> type[BaseModel]:
        return self.loaded.takes

    @property
    def gives(self) -> type[BaseModel]:
        return self.loaded.gives

    @property
    def run(self) -> Callable[[Call, Any], Awaitable[object]]:
        return self.loaded.run

    @property
    def description(self) -> str:
        return self.loaded.description


@dataclass(frozen=True, slots=True, eq=False)
class ForeignTool:
    """A tool whose schema is known only at run time: an upstream's. Its result goes out raw."""

    feature: str
    name: str
    scope: Scope
    description: str
    input_schema: Mapping[str, Any]
    run: Callable[[Call, Mapping[str, Json]], Awaitable[ToolResult]]
    output_schema: Mapping[str, Any] | None = None
    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True
    public: bool = False
    hidden: bool = False
    title: str = ""
    timeout_s: float | None = None
    aliases: tuple[str, ...] = ()
    """Other names that reach it."""
    server: str = ""
    """Whose it is."""
    upstream_name: str = ""


AnyTool: TypeAlias = Tool[Any, Any] | DeferredTool | ForeignTool


@dataclass(frozen=True, slots=True)
class ResourceEntry:
    """One line of a listing of resources."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ResourcePage:
    """Some entries, and the cursor of the next ones, None at the end."""

    entries: tuple[ResourceEntry, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class ResourcePart:
    """A part of a resource as a model reads it. `next_start` goes on; None at the end."""

    text: str
    next_start: int | None = None


@dataclass(frozen=True, slots=True)
class ResourceWatch:
    """How an interface learns of changes to resources outside the store.

    `changed` says whether any changed since the last call; `stamps` gives a version of each that
    this caller may read now, others are absent.
    """

    changed: Callable[[], Awaitable[bool]]
    stamps: Callable[[Caller, Sequence[str]], Awaitable[Mapping[str, int]]]


@dataclass(frozen=True, slots=True)
class Resource:
    """A family of URIs under one scheme: listed by page, read by URI."""

    feature: str
    scheme: str
    scope: Scope
    listing: Callable[[Call, str | None], Awaitable[ResourcePage]]
    read: Callable[[Call, str], Awaitable[tuple[EmbeddedResource, ...]]]
    public: bool = False
    watch: ResourceWatch | None = None
    read_part: Callable[[Call, str, int, int], Awaitable[ResourcePart]] | None = None
    """A part from a start on, in about so many tokens. None: parts are cut from the whole."""
    prefix: str = ""
    """Where two families share a scheme: how the URIs of this one begin."""


def find_resource(families: Sequence[Resource], uri: str) -> Resource | None:
    """The family that a URI belongs to: of its scheme, with the longest prefix that fits."""
    scheme = uri.partition(":")[0].lower()
    fitting = [it for it in families if it.scheme == scheme and uri.startswith(it.prefix)]
    return max(fitting, key=lambda it: len(it.prefix), default=None)


@dataclass(frozen=True, slots=True)
class ResourceTemplate:
    """A URI template. `complete` suggests values for a variable, given the others."""

    feature: str
    uri_template: str
    name: str
    scope: Scope
    description: str = ""
    mime_type: str | None = None
    complete: "Complete | None" = None


@dataclass(frozen=True, slots=True)
class PromptArgument:
    name: str
    description: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class PromptMessage:
    role: str
    content: Content


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prepared opening for a conversation."""

    feature: str
    name: str
    scope: Scope
    description: str
    arguments: tuple[PromptArgument, ...]
    render: Callable[[Call, Mapping[str, str]], Awaitable[Sequence[PromptMessage]]]
    complete: "Complete | None" = None
    public: bool = False


@dataclass(frozen=True, slots=True)
class Completion:
    """Suggested values. `total` counts what exists, when it is known; values are at most 100."""

    values: tuple[str, ...]
    total: int | None = None
    has_more: bool = False


Complete: TypeAlias = Callable[[Call, str, str, Mapping[str, str]], Awaitable[Completion]]


@dataclass(frozen=True, slots=True)
class WithheldTool:
    """A tool that exists and is refused: why, and what to do about it. Never listed."""

    name: str
    reason: str
    hint: str
