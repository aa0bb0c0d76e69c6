"""How a command reaches the tools: through the running server, or an App opened in this process."""

import json
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol, cast

from pecia.doors.cli.client import API, Server
from pecia.doors.cli.configured import token
from pecia.doors.cli.find import running, tell_version
from pecia.doors.cli.home import require_home
from pecia.doors.cli.owner import token_for
from pecia.doors.cli.terminal import Terminal
from pecia.kernel.errors import Forbidden, Json, ToolNotFound
from pecia.kernel.tool.near import did_you_mean

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from pecia.app.app import App
    from pecia.kernel.identity.caller import Caller
    from pecia.kernel.settings.load import Settings
    from pecia.kernel.tool.model import AnyTool


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """What the command line needs to know of a tool."""

    room: str
    name: str
    full_name: str
    description: str
    schema: Mapping[str, Any]
    scope: str = ""

    @property
    def path(self) -> str:
        """Where a server takes calls of it."""
        return f"{API}/{self.room}/{self.name}"

    @property
    def names(self) -> tuple[str, str, str]:
        """Full, prefixed and bare."""
        return self.full_name, f"{self.room}__{self.name}", self.name


class Tools(Protocol):
    """Some place where tools can be listed and called."""

    def listing(self) -> Sequence[ToolFacts]: ...

    def call(self, tool: ToolFacts, arguments: Mapping[str, Json]) -> Json: ...

    def pending(self) -> list[dict[str, Json]]:
        """What waits for a person's yes."""
        ...

    def answer(self, confirmation: str, said: str) -> None:
        """Say yes or no to it, as the person at the keyboard."""
        ...


@contextmanager
def reached(terminal: Terminal, settings: "Settings") -> Generator[Tools]:
    """The tools of this home: of its server when one runs, else of an App opened for this."""
    if found := running(settings.kernel.home):
        tell_version(terminal, found)
        yield ServedTools(Server(found.lock.url, token_for(settings.kernel.home)))
        return
    require_home(settings.kernel)
    with opened(terminal, settings) as tools:
        yield tools


def require_tools(settings: "Settings") -> None:
    """NotFound where neither a server runs nor a database is there to be opened.

    For commands that ask the person for something before they reach the tools.
    """
    if running(settings.kernel.home) is None:
        require_home(settings.kernel)


@contextmanager
def opened(terminal: Terminal, settings: "Settings") -> Generator["OwnTools"]:
    """The tools of an App in this process."""
    from anyio.from_thread import start_blocking_portal

    from pecia.app.app import open_app
    from pecia.doors.cli.opening import fetching

    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(
            open_app(settings, fetch=fetching(settings.kernel), report=terminal.say)
        ) as app,
    ):
        yield OwnTools(portal, app)


def described(settings: "Settings") -> list[ToolFacts]:
    """What tools there are: asked of the running server, else read off the rooms.

    The rooms are built over a store that is never opened, so that asking for help starts nothing.
    """
    if found := running(settings.kernel.home):
        return ServedTools(Server(found.lock.url, token_for(settings.kernel.home))).listing()
    return _built(settings)


def callable_tools(settings: "Settings") -> list[ToolFacts]:
    """The same, and those that a server does not show this caller: its refusal says why not."""
    listed = described(settings)
    names = {it.full_name for it in listed}
    return [*listed, *(it for it in _built(settings) if it.full_name not in names)]


def is_tool(tools: Sequence[ToolFacts], name: str) -> bool:
    """Whether any tool goes by that name."""
    return any(name in it.names for it in tools)


def found_tool(tools: Sequence[ToolFacts], name: str) -> ToolFacts:
    """The tool of that full, prefixed or bare name. A bare name that two tools have is no name."""
    holders = [it for it in tools if name in it.names]
    exact = [it for it in holders if it.full_name == name or len(holders) == 1]
    if exact:
        return exact[0]
    if holders:
        raise ToolNotFound(
            f"{name} is the name of {len(holders)} tools: say which",
            tool=name,
            expected=[it.full_name for it in holders],
        )
    near = did_you_mean(name, [it for tool in tools for it in tool.names])
    raise ToolNotFound(f"there is no tool {name!r}{near}", tool=name)


@dataclass(frozen=True, slots=True)
class OwnTools:
    """The tools of an App in this process."""

    portal: "BlockingPortal"
    app: "App"

    def listing(self) -> list[ToolFacts]:
        return facts_of(self.app.tools)

    def call(self, tool: ToolFacts, arguments: Mapping[str, Json]) -> Json:
        return self.portal.call(self._call, tool.full_name, arguments)

    def pending(self) -> list[dict[str, Json]]:
        return self.portal.call(self._pending)

    def answer(self, confirmation: str, said: str) -> None:
        self.portal.call(self._answer, confirmation, said)

    async def _pending(self) -> list[dict[str, Json]]:
        caller = await self._administrator()
        return [it.as_json() for it in await self.app.confirmations.pending(caller)]

    async def _answer(self, confirmation: str, said: str) -> None:
        from pecia.app.corridor import Errand, Visit
        from pecia.kernel.identity.caller import Scope

        waiting = self.app.confirmations
        answer = waiting.confirm if said == "confirm" else waiting.refuse
        errand = Errand(
            f"confirmations.{said}", Scope.ADMIN, arguments={"confirmation": confirmation}
        )
        await self.app.corridor.run(
            await self._administrator(),
            errand,
            Visit("cli"),
            lambda call: answer(call.caller, confirmation),
        )

    async def _administrator(self) -> "Caller":
        from pecia.app.corridor import Visit
        from pecia.kernel.identity.caller import Caller

        who = await self.app.admit(token(), Visit("cli"))
        if not isinstance(who, Caller) or not who.is_admin:
            raise Forbidden("this is for administrators of a tenant")
        return who

    async def _call(self, name: str, arguments: Mapping[str, Json]) -> Json:
        from pecia.app.corridor import Visit
        from pecia.doors.http.tools import as_response

        visit = Visit("cli")
        who = await self.app.admit(token(), visit)
        result = await self.app.call(who, name, arguments, visit)
        # As a server would answer it, so that a script sees no difference.
        return json.loads(bytes(as_response(result, self.app.everything.find(name)).body))


@dataclass(frozen=True, slots=True)
class ServedTools:
    """The tools of a running server."""

    server: Server

    def listing(self) -> list[ToolFacts]:
        return [_told(it) for it in self.server.tools()]

    def call(self, tool: ToolFacts, arguments: Mapping[str, Json]) -> Json:
        return self.server.call(tool.path, arguments)

    def pending(self) -> list[dict[str, Json]]:
        found = self.server.get(f"{API}/confirmations")
        return cast(dict[str, list[dict[str, Json]]], found)["confirmations"]

    def answer(self, confirmation: str, said: str) -> None:
        self.server.answer(confirmation, said)


def _told(facts: Mapping[str, Any]) -> ToolFacts:
    """A tool as a server describes it."""
    path = str(facts["path"])
    return ToolFacts(
        room=facts["room"],
        name=path.rpartition("/")[2],
        full_name=facts["name"],
        description=facts["description"],
        schema=facts["input_schema"],
        scope=facts["scope"],
    )


def facts_of(tools: "Iterable[AnyTool]") -> list[ToolFacts]:
    """What is shown of tools; of hidden ones nothing."""
    from pecia.kernel.tool.validate import input_schema
    from pecia.kernel.tool.view import full_name

    return [
        ToolFacts(it.room, it.name, full_name(it), it.description, input_schema(it), it.scope.value)
        for it in tools
        if not it.hidden
    ]


def _built(settings: "Settings") -> list[ToolFacts]:
    from pecia.app.rooms import build_rooms
    from pecia.kernel.secrets.keyring import Keyring
    from pecia.kernel.store.audit import Ledger
    from pecia.kernel.store.cluster import Logins
    from pecia.kernel.store.store import Store

    store = Store(Logins("", "", ""))
    with TemporaryDirectory(prefix="pecia-") as folder:
        rooms = build_rooms(settings, store, Ledger(store, Path(folder)), Keyring.fresh())
        return facts_of(tool for room in rooms for tool in room.tools)
