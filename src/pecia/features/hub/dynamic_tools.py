"""Upstream tools as our own, per caller: listed by the interfaces beside the built-in ones.

No authorization here. A list may be a second old; every call is checked against the store.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

import anyio

from pecia.features.hub.core.tool_name import prefix_name, shorten_name
from pecia.features.hub.hub import FEATURE, Hub, RunTool, explain_withheld, to_foreign_tool
from pecia.features.hub.model import StoredTool
from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Caller
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.dynamic_tools import NO_DYNAMIC_TOOLS, DynamicToolList
from pecia.kernel.tool.model import ForeignTool, ToolResult, WithheldTool

K = TypeVar("K")
V = TypeVar("V")

CACHE_TTL_S = 1.0
MAX_CACHED_CALLERS = 10_000
MAX_CACHED_LISTS = 1_000
MAX_CACHED_TOOLS = 20_000


@dataclass(frozen=True, slots=True)
class _CacheEntry:
    at: float
    tools: DynamicToolList


class UpstreamTools:
    """The tools each caller may use, cached for one second."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._seen: OrderedDict[tuple[UUID, UUID], _CacheEntry] = OrderedDict()
        self._lists: OrderedDict[tuple[object, ...], DynamicToolList] = OrderedDict()
        self._tools: OrderedDict[tuple[UUID, str, str, str], ForeignTool] = OrderedDict()

    async def of(self, caller: Caller) -> DynamicToolList:
        """The tools that this caller may call."""
        if caller.user_id is None:
            return NO_DYNAMIC_TOOLS
        key = (caller.tenant_id, caller.credential_id)
        now = anyio.current_time()
        seen = self._seen.get(key)
        if seen is None or now - seen.at > CACHE_TTL_S:
            await self._hub.sync_configured_servers(caller)
            seen = _CacheEntry(
                now, self._intern_list(caller, await self._hub.registry.list_tools(caller))
            )
            _lru_put(self._seen, key, seen, MAX_CACHED_CALLERS)
        return seen.tools

    def forget(self, tenant_id: UUID) -> None:
        """Invalidate the cache of this tenant."""
        for key in [it for it in self._seen if it[0] == tenant_id]:
            del self._seen[key]

    def _intern_list(self, caller: Caller, kept: Sequence[StoredTool]) -> DynamicToolList:
        reachable = [it for it in kept if it.is_enabled and it.is_open]
        tools = tuple(
            self.intern_tool(caller.tenant_id, it) for it in reachable if it.state == "approved"
        )
        withheld = [it for it in reachable if it.state != "approved"]
        if not reachable:
            return NO_DYNAMIC_TOOLS
        key = (*map(id, tools), *((it.server, it.name, it.state) for it in withheld))
        made = self._lists.get(key) or DynamicToolList(tools, _by_each_name(withheld))
        return _lru_put(self._lists, key, made, MAX_CACHED_LISTS)

    def intern_tool(self, tenant_id: UUID, kept: StoredTool) -> ForeignTool:
        """One object per tool: compiled validators are cached by identity."""
        key = (tenant_id, kept.server, kept.name, kept.stamp)
        made = self._tools.get(key) or to_foreign_tool(kept, self._runner(kept.server, kept.name))
        return _lru_put(self._tools, key, made, MAX_CACHED_TOOLS)

    def _runner(self, server: str, name: str) -> RunTool:
        async def run(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
            return await self._hub.call(call, server, name, arguments)

        return run


def _by_each_name(withheld: Sequence[StoredTool]) -> dict[str, WithheldTool]:
    """Tools that are not as approved, by the names that they have or would get."""
    named: dict[str, WithheldTool] = {}
    for it in withheld:
        own = it.exposed or shorten_name(it.name)
        prefixed = prefix_name(it.server, it.name)
        for name in (own, prefixed, *(f"{FEATURE}{mark}{own}" for mark in ("__", ".", "_"))):
            named.setdefault(name, explain_withheld(it))
    return named


def _lru_put(kept: OrderedDict[K, V], key: K, value: V, limit: int) -> V:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > limit:
        kept.popitem(last=False)
    return value
