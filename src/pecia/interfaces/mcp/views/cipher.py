"""The toolset `cipher`: memory tools and the hub's upstream tools, under the names that clients of
Cipher know. A view by the settings of a session; no tool is made here."""

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
from pecia.features.memory.settings import REMOTE_FIELDS, MemorySettings
from pecia.features.memory.tools.search import FEATURE
from pecia.kernel.errors import InvalidFormat, Json
from pecia.kernel.settings.catalog import build_catalog
from pecia.kernel.settings.load import Settings
from pecia.kernel.settings.session import apply_session
from pecia.kernel.tool.model import AnyTool, ForeignTool
from pecia.kernel.tool.view import ToolView, feature_view

Aliases: TypeAlias = tuple[tuple[str, str], ...]

SERVERS_KEY = "hub.servers"
"""The servers that the session brought, by its own names for them, and no others."""

UNSET_TIMEOUT_S = -1.0

# The settings that decide about lists. Others may be secret, and are kept out of the cache key.
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
    """How a session resolves name conflicts between tools."""

    on_conflict: OnConflict = "prefix"
    prefix_always: bool = False

    @classmethod
    def from_settings(cls, settings: HubSettings) -> "ConflictRule":
        return cls(settings.on_conflict, settings.prefix_always)


@dataclass(frozen=True, slots=True)
class CipherOptions:
    """The session's options for the toolset. None: the server's setting."""

    settings: MemorySettings
    timeout_s: float | None = None
    """The timeout of each call of our own tools."""
    rule: ConflictRule | None = None
    servers: Aliases | None = None

    @property
    def aggregates(self) -> bool:
        """Whether tools of other servers are listed too."""
        return self.settings.server_mode == "aggregator" and not self.settings.only_contact


REMOTE_SETTINGS = frozenset(
    name
    for known in build_catalog([MemorySettings]).settings
    if known.field in REMOTE_FIELDS
    for name in (known.name, *known.env)
)
"""What a session on another machine may set, by our names and by the reference's variables."""


def cipher_options(settings: Settings, session: Mapping[str, Json]) -> CipherOptions:
    """The settings of this server, overridden by those of the session."""
    memory = apply_session(settings.part(MemorySettings), session)
    usual = settings.part(HubSettings).model_copy(update={"timeout_s": UNSET_TIMEOUT_S})
    hub = apply_session(usual, session, ("timeout_s", "on_conflict", "prefix_always"))
    decided = {name: getattr(memory, name) for name in _LIST_SETTINGS}
    rule, servers = ConflictRule.from_settings(hub), _parse_aliases(session.get(SERVERS_KEY))
    return CipherOptions(
        MemorySettings.model_construct(**decided),
        hub.timeout_s if hub.timeout_s != UNSET_TIMEOUT_S else None,
        # Without options of its own, a session sees the names that the hub gave the tools.
        rule if servers is not None or rule != ConflictRule.from_settings(usual) else None,
        servers,
    )


def cipher_view(
    tools: Iterable[AnyTool], foreign_tools: Sequence[AnyTool], options: CipherOptions
) -> ToolView:
    """Built-in tools under the names of the reference, followed by those of upstream servers."""
    own_tools = [it for it in tools if it.feature == FEATURE]
    listed = (it for it in own_tools if is_listed(it.name, options.settings))
    own = feature_view([_with_timeout(it, options.timeout_s) for it in listed], FEATURE)
    if not options.aggregates:
        return own
    foreign = [it for it in foreign_tools if isinstance(it, ForeignTool)]
    return own.with_dynamic_tools([*_rename_tools(foreign, {it.name for it in own_tools}, options)])


def with_reference_errors(view: ToolView, options: CipherOptions) -> ToolView:
    """The same view, with the error messages of the reference."""
    return replace(view, absent=partial(tool_not_listed, settings=options.settings))


def _with_timeout(tool: AnyTool, timeout_s: float | None) -> AnyTool:
    # What the server has switched off may be on in this session.
    return replace(tool, hidden=False, timeout_s=timeout_s or tool.timeout_s)


def _rename_tools(
    foreign_tools: Iterable[ForeignTool], ours: set[str], options: CipherOptions
) -> Iterator[ForeignTool]:
    """Upstream tools under the names of this session."""
    if options.servers is None and options.rule is None:
        yield from (it for it in foreign_tools if not is_agent_server(it.server))
        return
    rule = options.rule or ConflictRule()
    naming = ToolNamePolicy(rule.on_conflict, rule.prefix_always, ours)
    taken: dict[str, str] = {}
    for alias, it in _tools_by_alias(foreign_tools, options.servers):
        full = prefix_name(alias, it.upstream_name)
        name = naming.choose_name(alias, it.upstream_name, taken) or full
        taken[name] = alias
        yield replace(it, name=name, aliases=(full, *it.aliases))


def _tools_by_alias(
    foreign_tools: Iterable[ForeignTool], servers: Aliases | None
) -> Iterator[tuple[str, ForeignTool]]:
    """In the order of the session's servers, so that conflicts resolve deterministically."""
    if servers is None:
        yield from ((it.server, it) for it in foreign_tools if not is_agent_server(it.server))
        return
    every = [*foreign_tools]
    for alias, server in servers:
        yield from ((alias, it) for it in every if it.server == server)


def _parse_aliases(value: Json) -> Aliases | None:
    if value is None:
        return None
    found = cast(dict[str, Json], value) if isinstance(value, dict) else {"": None}
    if not all(SERVER_NAME.fullmatch(alias) and isinstance(it, str) for alias, it in found.items()):
        raise InvalidFormat(
            f"{SERVERS_KEY} of this session must map server names to server names",
            field=SERVERS_KEY,
        )
    return tuple((alias, str(it)) for alias, it in found.items())
