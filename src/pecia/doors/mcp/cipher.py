"""The toolset `cipher`: the memory room and the guests of the hub, as clients of its reference know
them. A view by the settings of a session; no tool is made here."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias, cast

from pecia.kernel.errors import InvalidFormat, Json
from pecia.kernel.settings.load import Settings
from pecia.kernel.settings.session import within_session
from pecia.kernel.tool.model import AnyTool, ForeignTool
from pecia.kernel.tool.view import View, of_room
from pecia.rooms.hub.naming import SERVER, Naming, is_of_agent, prefixed
from pecia.rooms.hub.settings import HubSettings, OnConflict
from pecia.rooms.memory.modes import is_listed, not_listed
from pecia.rooms.memory.recall import ROOM
from pecia.rooms.memory.settings import MemorySettings

Aliases: TypeAlias = tuple[tuple[str, str], ...]

SERVERS = "hub.servers"
"""By the names that a session has for them: the servers that it brought, and no others."""

UNSAID = -1.0

# What decides about lists. The rest may be a secret, and is not kept with them.
_DECIDING = (
    "server_mode",
    "use_ask_cipher",
    "only_contact",
    "use_workspace",
    "disable_default",
    "disable_reflection",
    "knowledge_graph",
)


@dataclass(frozen=True, slots=True)
class Rule:
    """How a session wants two tools of one name to be told apart."""

    on_conflict: OnConflict = "prefix"
    prefix_always: bool = False

    @classmethod
    def of(cls, settings: HubSettings) -> "Rule":
        return cls(settings.on_conflict, settings.prefix_always)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a session wants of the toolset. Where it says nothing, None: as the server has it."""

    settings: MemorySettings
    timeout_s: float | None = None
    """How long each call of our own tools may take."""
    rule: Rule | None = None
    servers: Aliases | None = None

    @property
    def aggregates(self) -> bool:
        """Whether tools of other servers are listed too."""
        return self.settings.server_mode == "aggregator" and not self.settings.only_contact


def wanted(settings: Settings, session: Mapping[str, Json]) -> Wanted:
    """By the settings of this server, and those of the session over them."""
    memory = within_session(settings.part(MemorySettings), session)
    usual = settings.part(HubSettings).model_copy(update={"timeout_s": UNSAID})
    hub = within_session(usual, session, ("timeout_s", "on_conflict", "prefix_always"))
    decided = {name: getattr(memory, name) for name in _DECIDING}
    rule, servers = Rule.of(hub), _aliases(session.get(SERVERS))
    return Wanted(
        MemorySettings.model_construct(**decided),
        hub.timeout_s if hub.timeout_s != UNSAID else None,
        # Where nothing is its own, tools keep the names that the hub gave them once and for all.
        rule if servers is not None or rule != Rule.of(usual) else None,
        servers,
    )


def cipher_view(tools: Iterable[AnyTool], guests: Sequence[AnyTool], wants: Wanted) -> View:
    """Built-in tools under the names of the reference, and behind them those of other servers."""
    room = [it for it in tools if it.room == ROOM]
    listed = (it for it in room if is_listed(it.name, wants.settings))
    own = of_room([_within(it, wants.timeout_s) for it in listed], ROOM)
    if not wants.aggregates:
        return own
    foreign = [it for it in guests if isinstance(it, ForeignTool)]
    return own.joined([*_named(foreign, {it.name for it in room}, wants)])


def in_words_of_reference(view: View, wants: Wanted) -> View:
    """The view as it is, with the refusals of the reference."""
    return replace(view, absent=partial(not_listed, settings=wants.settings))


def _within(tool: AnyTool, timeout_s: float | None) -> AnyTool:
    # What the server has switched off may be on in this session.
    return replace(tool, hidden=False, timeout_s=timeout_s or tool.timeout_s)


def _named(guests: Iterable[ForeignTool], ours: set[str], wants: Wanted) -> Iterator[ForeignTool]:
    """Tools of others as this session knows them."""
    if wants.servers is None and wants.rule is None:
        yield from (it for it in guests if not is_of_agent(it.server))
        return
    rule = wants.rule or Rule()
    naming = Naming(rule.on_conflict, rule.prefix_always, ours)
    taken: dict[str, str] = {}
    for alias, it in _of_servers(guests, wants.servers):
        full = prefixed(alias, it.name_there)
        name = naming.exposed(alias, it.name_there, taken) or full
        taken[name] = alias
        yield replace(it, name=name, also=(full, *it.also))


def _of_servers(
    guests: Iterable[ForeignTool], servers: Aliases | None
) -> Iterator[tuple[str, ForeignTool]]:
    """In the order in which the session names them, so that the first of a name is always one."""
    if servers is None:
        yield from ((it.server, it) for it in guests if not is_of_agent(it.server))
        return
    every = [*guests]
    for alias, server in servers:
        yield from ((alias, it) for it in every if it.server == server)


def _aliases(given: Json) -> Aliases | None:
    if given is None:
        return None
    found = cast(dict[str, Json], given) if isinstance(given, dict) else {"": None}
    if not all(SERVER.fullmatch(alias) and isinstance(it, str) for alias, it in found.items()):
        raise InvalidFormat(f"{SERVERS} of this session is no mapping of names", field=SERVERS)
    return tuple((alias, str(it)) for alias, it in found.items())
