"""What an endpoint serves after filtering: tools, and features with resources and prompts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pecia.app.app import App
from pecia.features.discovery.feature import CALL_TOOL, build_discovery_view, resolve_target
from pecia.features.discovery.tools.resource import build_read
from pecia.interfaces.mcp.views.cipher import (
    CipherOptions,
    cipher_options,
    cipher_view,
    with_reference_errors,
)
from pecia.interfaces.mcp.views.endpoints import ALL, CIPHER, DISCOVERY, McpEndpoint
from pecia.kernel.errors import InvalidFormat, Json
from pecia.kernel.feature import Feature
from pecia.kernel.identity.caller import Caller, Operator
from pecia.kernel.tool.dynamic_tools import NO_DYNAMIC_TOOLS, DynamicToolList
from pecia.kernel.tool.view import ToolView, feature_view

CACHE_SIZE = 512

# The headers by which a client filters the tools of an endpoint.
TOOLSETS = "x-mcp-toolsets"
TOOLS = "x-mcp-tools"
EXCLUDED_TOOLS = "x-mcp-exclude-tools"
READ_ONLY = "x-mcp-readonly"

_BOOLEANS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


@dataclass(frozen=True, slots=True)
class ToolFilter:
    """What is filtered out. The empty one filters nothing."""

    features: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    read_only: bool = False


NO_FILTER = ToolFilter()


# Compared by identity, which makes it a cheap cache key.
@dataclass(frozen=True, slots=True, eq=False)
class EndpointView:
    """Tools by name, and the features whose resources and prompts are served with them."""

    view: ToolView
    features: tuple[Feature, ...]
    callable_view: ToolView | None = None
    """Discovery endpoint only: every tool that `call_tool` can reach, listed or not."""
    is_narrowed: bool = False
    for_agents: bool = False
    """Whether answers are written for models alone, where no reference says how."""

    async def idle_features(self, who: Caller | Operator) -> frozenset[str]:
        """The features that have nothing for this caller: their tools could only fail."""
        if not isinstance(who, Caller):
            return frozenset()
        return frozenset(name for name, it in (await self.overviews(who)).items() if it is None)

    async def overviews(self, who: Caller) -> dict[str, Sequence[str] | None]:
        """What the tools of each feature work on for this caller."""
        return {it.name: await it.overview(who) for it in self.features if it.overview is not None}

    @property
    def is_compact(self) -> bool:
        """Whether the tool list must be as short as possible."""
        return self.callable_view is not None

    def resolve_call(
        self, name: str, arguments: Mapping[str, Json]
    ) -> tuple[str, Mapping[str, Json], ToolView]:
        """The effective tool name, arguments and view: `call_tool` is unwrapped."""
        if (
            self.callable_view is not None
            and name == CALL_TOOL
            and (it := resolve_target(arguments)) is not None
        ):
            return it.name, it.arguments, self.callable_view
        return name, arguments, self.view


class EndpointViews:
    """The view of every endpoint, cached (LRU) by filter, dynamic tools and session options."""

    def __init__(self, app: App, lean: Sequence[str], extra: Sequence[Feature] = ()) -> None:
        self._app = app
        self._lean = tuple(lean)
        self._extra = {feature.name: feature for feature in extra}
        dynamic = {it.name: it.dynamic_tools for it in app.features if it.dynamic_tools is not None}
        self._hosts = frozenset((DISCOVERY, ALL, CIPHER, *dynamic))
        self._dynamic = next(iter(dynamic.values()), None)
        self.get = lru_cache(CACHE_SIZE)(self._build)

    async def resolve(
        self,
        endpoint: McpEndpoint,
        headers: Mapping[str, str],
        who: Caller | Operator,
        session: Mapping[str, Json],
    ) -> EndpointView:
        """The view of a request: by its endpoint, filter headers, caller and session options."""
        options = (
            cipher_options(self._app.settings, session) if endpoint.toolset == CIPHER else None
        )
        lists_dynamic = endpoint.toolset in self._hosts and (options is None or options.aggregates)
        dynamic_tools = (
            await self._dynamic.of(who)
            if lists_dynamic and self._dynamic is not None and isinstance(who, Caller)
            else NO_DYNAMIC_TOOLS
        )
        return self.get(endpoint, parse_filter(headers), dynamic_tools, options)

    def _build(
        self,
        endpoint: McpEndpoint,
        tool_filter: ToolFilter,
        dynamic_tools: DynamicToolList = NO_DYNAMIC_TOOLS,
        options: CipherOptions | None = None,
    ) -> EndpointView:
        features = self._features(endpoint, tool_filter)
        narrowed = self._tools_view(endpoint, dynamic_tools, options).narrow(
            toolsets=tool_filter.features,
            tools=tool_filter.tools,
            exclude=tool_filter.exclude,
            read_only=endpoint.read_only or tool_filter.read_only,
        )
        is_narrowed = tool_filter != NO_FILTER
        if endpoint.toolset == DISCOVERY:
            resources = [it for feature in features for it in feature.resources]
            discovery = build_discovery_view(narrowed, self._lean, resources, self._app.embedder)
            return EndpointView(discovery, features, narrowed, is_narrowed, for_agents=True)
        if options is not None:
            return EndpointView(
                with_reference_errors(narrowed, options), features, None, is_narrowed
            )
        return EndpointView(
            narrowed, features, None, is_narrowed, for_agents=endpoint.toolset == ALL
        )

    def _tools_view(
        self, endpoint: McpEndpoint, dynamic_tools: DynamicToolList, options: CipherOptions | None
    ) -> ToolView:
        if endpoint.toolset == CIPHER:
            cipher = options or cipher_options(self._app.settings, {})
            return cipher_view(self._app.tools, dynamic_tools.tools, cipher)
        base = self._base_view(endpoint)
        if dynamic_tools is NO_DYNAMIC_TOOLS:
            return base
        return base.with_dynamic_tools(dynamic_tools.tools, dynamic_tools.withheld)

    def _base_view(self, endpoint: McpEndpoint) -> ToolView:
        if endpoint.toolset == DISCOVERY:
            return self._app.full_view.for_agents()
        if endpoint.toolset == ALL:
            resources = [it for feature in self._app.features for it in feature.resources]
            return self._app.full_view.for_agents().with_dynamic_tools([build_read(resources)])
        if extra := self._extra.get(endpoint.toolset):
            return feature_view(extra.tools, extra.name)
        return feature_view(self._app.tools, endpoint.toolset)

    def _features(self, endpoint: McpEndpoint, tool_filter: ToolFilter) -> tuple[Feature, ...]:
        if extra := self._extra.get(endpoint.toolset):
            return (extra,)
        every = endpoint.toolset in (DISCOVERY, ALL)
        return tuple(
            feature
            for feature in self._app.features
            if (every or feature.name == endpoint.toolset)
            and (tool_filter.features is None or feature.name in tool_filter.features)
        )


def parse_filter(headers: Mapping[str, str]) -> ToolFilter:
    """The filter in the headers of a request. Unknown names are refused by the view."""
    if not any(name in headers for name in (TOOLSETS, TOOLS, EXCLUDED_TOOLS, READ_ONLY)):
        return NO_FILTER
    return ToolFilter(
        features=_parse_names(headers.get(TOOLSETS)),
        tools=_parse_names(headers.get(TOOLS)),
        exclude=_parse_names(headers.get(EXCLUDED_TOOLS)) or (),
        read_only=_parse_boolean(headers.get(READ_ONLY, "false")),
    )


def _parse_names(given: str | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    return tuple(sorted({name for it in given.split(",") if (name := it.strip())}))


def _parse_boolean(given: str) -> bool:
    value = _BOOLEANS.get(given.strip().lower())
    if value is None:
        raise InvalidFormat(
            f"{READ_ONLY} must be true or false; got {given[:100]!r}",
            field=READ_ONLY,
            expected="true or false",
            got=given[:100],
        )
    return value
