"""What a client finds at an endpoint, after narrowing: tools, and rooms with the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pecia.app.app import App
from pecia.features.discovery.feature import CALL_TOOL, build_discovery_view, resolve_target
from pecia.interfaces.mcp.views.cipher import (
    CipherOptions,
    cipher_options,
    cipher_view,
    with_reference_errors,
)
from pecia.interfaces.mcp.views.endpoints import ALL, CIPHER, DISCOVERY, McpEndpoint
from pecia.interfaces.mcp.views.filter import NO_FILTER, ToolFilter
from pecia.kernel.errors import Json
from pecia.kernel.feature import Feature
from pecia.kernel.tool.dynamic_tools import NO_DYNAMIC_TOOLS, DynamicToolList
from pecia.kernel.tool.model import AnyTool
from pecia.kernel.tool.view import ToolView, feature_view

CACHE_SIZE = 512


# An offer is itself and equal to no other, which makes it a cheap key.
@dataclass(frozen=True, slots=True, eq=False)
class EndpointView:
    """Tools by name, and the rooms whose resources and prompts are served beside them."""

    view: ToolView
    features: tuple[Feature, ...]
    callable_view: ToolView | None = None
    """At the front desk: all that can be called from there, listed or not."""
    is_narrowed: bool = False

    @property
    def is_compact(self) -> bool:
        """Whether every token of the list counts."""
        return self.callable_view is not None

    def find(self, name: str) -> AnyTool | None:
        """The tool of that name, None where there is none."""
        return self.view.tools.get(name) or self.view.aliases.get(name)

    def resolve_call(
        self, name: str, arguments: Mapping[str, Json]
    ) -> tuple[str, Mapping[str, Json], ToolView]:
        """Which tool is really called, with what, and among which it is looked for."""
        if (
            self.callable_view is not None
            and name == CALL_TOOL
            and (it := resolve_target(arguments)) is not None
        ):
            return it.name, it.arguments, self.callable_view
        return name, arguments, self.view


class EndpointViews:
    """Every endpoint's offer, made once for each way of narrowing it."""

    def __init__(self, app: App, lean: Sequence[str], extra: Sequence[Feature] = ()) -> None:
        self._app = app
        self._lean = tuple(lean)
        self._extra = {room.name: room for room in extra}
        hosts = (room.name for room in app.features if room.dynamic_tools is not None)
        self._hosts = frozenset((DISCOVERY, ALL, CIPHER, *hosts))
        self.get = lru_cache(CACHE_SIZE)(self._build)

    def cipher_options(
        self, endpoint: McpEndpoint, session: Mapping[str, Json]
    ) -> CipherOptions | None:
        """What this session wants of the toolset that sessions may choose from."""
        return cipher_options(self._app.settings, session) if endpoint.toolset == CIPHER else None

    def has_dynamic_tools(self, endpoint: McpEndpoint, wants: CipherOptions | None = None) -> bool:
        """Whether tools are shown there that come and go."""
        return endpoint.toolset in self._hosts and (wants is None or wants.aggregates)

    def _build(
        self,
        endpoint: McpEndpoint,
        asked: ToolFilter,
        guests: DynamicToolList = NO_DYNAMIC_TOOLS,
        wants: CipherOptions | None = None,
    ) -> EndpointView:
        rooms = self._features(endpoint, asked)
        narrowed = self._tools_view(endpoint, guests, wants).narrow(
            rooms=asked.features,
            tools=asked.tools,
            exclude=asked.exclude,
            read_only=endpoint.read_only or asked.read_only,
        )
        is_narrowed = asked != NO_FILTER
        if endpoint.toolset == DISCOVERY:
            desk = build_discovery_view(narrowed, self._lean, self._app.embedder)
            return EndpointView(desk, rooms, narrowed, is_narrowed)
        if wants is not None:
            return EndpointView(with_reference_errors(narrowed, wants), rooms, None, is_narrowed)
        return EndpointView(narrowed, rooms, None, is_narrowed)

    def _tools_view(
        self, endpoint: McpEndpoint, guests: DynamicToolList, wants: CipherOptions | None
    ) -> ToolView:
        if endpoint.toolset == CIPHER:
            asks = wants or cipher_options(self._app.settings, {})
            return cipher_view(self._app.tools, guests.tools, asks)
        base = self._base_view(endpoint)
        return base.with_dynamic_tools(guests.tools) if guests.tools else base

    def _base_view(self, endpoint: McpEndpoint) -> ToolView:
        if endpoint.toolset in (DISCOVERY, ALL):
            return self._app.full_view
        if extra := self._extra.get(endpoint.toolset):
            return feature_view(extra.tools, extra.name)
        return feature_view(self._app.tools, endpoint.toolset)

    def _features(self, endpoint: McpEndpoint, asked: ToolFilter) -> tuple[Feature, ...]:
        if extra := self._extra.get(endpoint.toolset):
            return (extra,)
        every = endpoint.toolset in (DISCOVERY, ALL)
        return tuple(
            room
            for room in self._app.features
            if (every or room.name == endpoint.toolset)
            and (asked.features is None or room.name in asked.features)
        )
