"""The tools of others as tools of ours, for one caller: what the doors list beside our own.

Nothing is decided here. A list may be a second old; every call is checked against the store.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

import anyio

from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Caller
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.guests import NO_GUESTS, GuestList
from pecia.kernel.tool.model import ForeignTool, Result
from pecia.rooms.hub.hub import Hub, Run, foreign
from pecia.rooms.hub.model import Kept

K = TypeVar("K")
V = TypeVar("V")

FRESH_S = 1.0
CALLERS = 10_000
LISTS = 1_000
TOOLS = 20_000


@dataclass(frozen=True, slots=True)
class _Seen:
    at: float
    guests: GuestList


class Guests:
    """What each caller may use now, asked of the store once a second at most."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._seen: OrderedDict[tuple[UUID, UUID], _Seen] = OrderedDict()
        self._lists: OrderedDict[tuple[int, ...], GuestList] = OrderedDict()
        self._tools: OrderedDict[tuple[UUID, str, str, str], ForeignTool] = OrderedDict()

    async def of(self, caller: Caller) -> GuestList:
        """The tools that this caller may call."""
        if caller.user_id is None:
            return NO_GUESTS
        key = (caller.tenant_id, caller.credential_id)
        now = anyio.current_time()
        seen = self._seen.get(key)
        if seen is None or now - seen.at > FRESH_S:
            await self._hub.ready(caller)
            seen = _Seen(now, self._interned(caller, await self._hub.registry.tools(caller)))
            _keep(self._seen, key, seen, CALLERS)
        return seen.guests

    def forget(self, tenant_id: UUID) -> None:
        """Something changed in this tenant: ask anew."""
        for key in [it for it in self._seen if it[0] == tenant_id]:
            del self._seen[key]

    def _interned(self, caller: Caller, kept: Sequence[Kept]) -> GuestList:
        tools = tuple(self.tool(caller.tenant_id, it) for it in kept if _is_callable(it))
        if not tools:
            return NO_GUESTS
        key = tuple(map(id, tools))
        return _keep(self._lists, key, self._lists.get(key) or GuestList(tools), LISTS)

    def tool(self, tenant_id: UUID, kept: Kept) -> ForeignTool:
        """One object for one tool: what is compiled for it is found by it."""
        key = (tenant_id, kept.server, kept.name, kept.stamp)
        made = self._tools.get(key) or foreign(kept, self._runner(kept.server, kept.name))
        return _keep(self._tools, key, made, TOOLS)

    def _runner(self, server: str, name: str) -> Run:
        async def run(call: Call, arguments: Mapping[str, Json]) -> Result:
            return await self._hub.call(call, server, name, arguments)

        return run


def _is_callable(kept: Kept) -> bool:
    return kept.is_enabled and kept.is_open and kept.state == "approved"


def _keep(kept: OrderedDict[K, V], key: K, value: V, most: int) -> V:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > most:
        kept.popitem(last=False)
    return value
