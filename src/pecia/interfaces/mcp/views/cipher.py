"""The toolset `cipher`: the memory room and the guests of the hub, as clients of its reference know
them. A view by the settings of a session; no tool is made here."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias, cast

from pecia.features.hub.core.tool_name import (
    SERVER_NAME,
    ToolNamePolicy,
    is_agent_server,
    prefix_name,
)
from pecia.features.hub.settings import HubSettings, OnConflict
from pecia.features.memory.core.toolset import is_listed, tool_not_listed
from pecia.features.memory.settings import MemorySettings
from pecia.features.memory.tools.search import FEATURE
from pecia.kernel.errors import InvalidFormat, Json
from pecia.kernel.settings.load import Settings
from pecia.kernel.settings.session import apply_session
from pecia.kernel.tool.model import AnyTool, ForeignTool
from pecia.kernel.tool.view import ToolView, feature_view

Aliases: TypeAlias = tuple[tuple[str, str], ...]

SERVERS_KEY = "hub.servers"
"""By the names that a session has for them: the servers that it brought, and no others."""

UNSET_TIMEOUT_S = -1.0

# What decides about lists. The rest may be a secret, and is not kept with them.
_LIST_SETTINGS = (
    "server_mode",
    "use_ask_cipher",
    "only_contact",
    "use_workspace",
    "disable_default",
    "disable_reflection",
    "knowledge_graph",
)


@dataclass(frozen=True, slots=True)
class ConflictRule:
    """How a session wants two tools of one name to be told apart."""

    on_conflict: OnConflict = "prefix"
    prefix_always: bool = False

    @classmethod
    def from_settings(cls, settings: HubSettings) -> "ConflictRule":
        return cls(settings.on_conflict, settings.prefix_always)


@dataclass(frozen=True, slots=True)
class CipherOptions:
    """What a session wants of the toolset. Where it says nothing, None: as the server has it."""

    settings: MemorySettings
    timeout_s: float | None = None
    """How long each call of our own tools may take."""
    rule: ConflictRule | None = None
    servers: Aliases | None = None

    @property
    def aggregates(self) -> bool:
        """Whether tools of other servers are listed too."""
        return self.settings.server_mode == "aggregator" and not self.settings.only_contact


def cipher_options(settings: Settings, session: Mapping[str, Json]) -> CipherOptions:
    """By the settings of this server, and those of the session over them."""
    memory = apply_session(settings.part(MemorySettings), session)
    usual = settings.part(HubSettings).model_copy(update={"timeout_s": UNSET_TIMEOUT_S})
    hub = apply_session(usual, session, ("timeout_s", "on_conflict", "prefix_always"))
    decided = {name: getattr(memory, name) for name in _LIST_SETTINGS}
    rule, servers = ConflictRule.from_settings(hub), _parse_aliases(session.get(SERVERS_KEY))
    return CipherOptions(
        MemorySettings.model_construct(**decided),
        hub.timeout_s if hub.timeout_s != UNSET_TIMEOUT_S else None,
        # Where nothing is its own, tools keep the names that the hub gave them once and for all.
        rule if servers is not None or rule != ConflictRule.from_settings(usual) else None,
        servers,
    )


def cipher_view(
    tools: Iterable[AnyTool], guests: Sequence[AnyTool], wants: CipherOptions
) -> ToolView:
    """Built-in tools under the names of the reference, and behind them those of other servers."""
    room = [it for it in tools if it.feature == FEATURE]
    listed = (it for it in room if is_listed(it.name, wants.settings))
    own = feature_view([_with_timeout(it, wants.timeout_s) for it in listed], FEATURE)
    if not wants.aggregates:
        return own
    foreign = [it for it in guests if isinstance(it, ForeignTool)]
    return own.with_dynamic_tools([*_rename_tools(foreign, {it.name for it in room}, wants)])


def with_reference_errors(view: ToolView, wants: CipherOptions) -> ToolView:
    """The view as it is, with the refusals of the reference."""
    return replace(view, absent=partial(tool_not_listed, settings=wants.settings))


def _with_timeout(tool: AnyTool, timeout_s: float | None) -> AnyTool:
    # What the server has switched off may be on in this session.
    return replace(tool, hidden=False, timeout_s=timeout_s or tool.timeout_s)


def _rename_tools(
    guests: Iterable[ForeignTool], ours: set[str], wants: CipherOptions
) -> Iterator[ForeignTool]:
    """Tools of others as this session knows them."""
    if wants.servers is None and wants.rule is None:
        yield from (it for it in guests if not is_agent_server(it.server))
        return
    rule = wants.rule or ConflictRule()
    naming = ToolNamePolicy(rule.on_conflict, rule.prefix_always, ours)
    taken: dict[str, str] = {}
    for alias, it in _tools_by_alias(guests, wants.servers):
        full = prefix_name(alias, it.upstream_name)
        name = naming.choose_name(alias, it.upstream_name, taken) or full
        taken[name] = alias
        yield replace(it, name=name, also=(full, *it.aliases))


def _tools_by_alias(
    guests: Iterable[ForeignTool], servers: Aliases | None
) -> Iterator[tuple[str, ForeignTool]]:
    """In the order in which the session names them, so that the first of a name is always one."""
    if servers is None:
        yield from ((it.server, it) for it in guests if not is_agent_server(it.server))
        return
    every = [*guests]
    for alias, server in servers:
        yield from ((alias, it) for it in every if it.server == server)


def _parse_aliases(given: Json) -> Aliases | None:
    if given is None:
        return None
    found = cast(dict[str, Json], given) if isinstance(given, dict) else {"": None}
    if not all(SERVER_NAME.fullmatch(alias) and isinstance(it, str) for alias, it in found.items()):
        raise InvalidFormat(
            f"{SERVERS_KEY} of this session is no mapping of names", field=SERVERS_KEY
        )
    return tuple((alias, str(it)) for alias, it in found.items())
