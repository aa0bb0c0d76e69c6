"""Names of other servers' tools in a session, whichever servers there are and whatever the rule."""

from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.features.memory.settings import MemorySettings
from pecia.interfaces.mcp.views.cipher import CipherOptions, ConflictRule, cipher_view
from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, ForeignTool, Input, Output, Tool, ToolResult

OURS = ("cipher_memory_search", "memory_list")
SERVERS = ("a", "b", "c-1")
NAMES = st.sampled_from(["read", "list", "b__read", *OURS, "a" * 70])
OFFERED = st.dictionaries(st.sampled_from(SERVERS), st.sets(NAMES), max_size=3)
RULES = st.builds(ConflictRule, st.sampled_from(["prefix", "first-wins"]), st.booleans())


class Nothing(Input):
    pass


class Anything(Output):
    pass


async def answer(call: Call, ask: Nothing) -> Anything:
    """Do nothing."""
    return Anything()


async def pass_on(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
    return ToolResult()


def built_in() -> list[AnyTool]:
    return [Tool("memory", it, Scope.READ, Nothing, Anything, answer) for it in OURS]


def dynamic_tools(offered: Mapping[str, set[str]]) -> list[ForeignTool]:
    """As the hub hands them out: in an order of its own."""
    found = sorted((name, server) for server, names in offered.items() for name in names)
    return [
        ForeignTool(
            "hub", it, Scope.READ, server, {}, pass_on, aliases=(), server=server, upstream_name=it
        )
        for it, server in found
    ]


@settings(max_examples=50, deadline=None)
@given(OFFERED, RULES, st.permutations(SERVERS))
def test_every_tool_is_listed_once_and_ours_keep_their_names(
    offered: dict[str, set[str]], rule: ConflictRule, order: list[str]
) -> None:
    named = tuple((it, it) for it in order)
    wants = CipherOptions(MemorySettings(server_mode="aggregator"), rule=rule, servers=named)
    view = cipher_view(built_in(), dynamic_tools(offered), wants)
    for name in OURS:
        assert view.find(name).feature == "memory"
    listed: list[Any] = [it for it in view.tools.values() if isinstance(it, ForeignTool)]
    told = sorted((it.upstream_name, it.server) for it in listed)
    assert told == sorted((name, server) for server, names in offered.items() for name in names)
    for name, tool in view.tools.items():
        assert len(name) <= 64
        assert view.find(name) is tool
        if rule.prefix_always and isinstance(tool, ForeignTool):
            assert name.startswith(f"{tool.server}__")
