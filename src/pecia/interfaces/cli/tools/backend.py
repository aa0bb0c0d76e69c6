"""How a command calls tools: through the running server, or an App opened in this process."""

import json
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol, cast

from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.cli.server.client import API, ServerClient
from pecia.interfaces.cli.server.credentials import token_for_home
from pecia.interfaces.cli.server.discover import find_running_server, warn_version_mismatch
from pecia.interfaces.cli.server.home import require_home
from pecia.interfaces.cli.settings import default_settings, load_settings, read_token
from pecia.kernel.errors import Forbidden, Json, PeciaError, ToolNotFound
from pecia.kernel.tool.former_names import current_tool_name
from pecia.kernel.tool.suggestion import suggest_name

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from pecia.app.app import App
    from pecia.kernel.identity.caller import Caller
    from pecia.kernel.settings.load import Settings
    from pecia.kernel.tool.model import AnyTool


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """What the command line needs of a tool."""

    feature: str
    name: str
    full_name: str
    description: str
    schema: Mapping[str, Any]
    scope: str = ""

    @property
    def path(self) -> str:
        """The path of the tool at a server."""
        return f"{API}/{self.feature}/{self.name}"

    @property
    def names(self) -> tuple[str, str, str]:
        """Its names: full, prefixed and bare."""
        return self.full_name, f"{self.feature}__{self.name}", self.name


class ToolBackend(Protocol):
    """A place where tools can be listed and called."""

    def list_tools(self) -> Sequence[ToolInfo]: ...

    def call(self, tool: ToolInfo, arguments: Mapping[str, Json]) -> Json: ...

    def list_confirmations(self) -> list[dict[str, Json]]:
        """Pending confirmations."""
        ...

    def answer_confirmation(self, confirmation: str, said: str) -> None:
        """Confirm or refuse one, as the person at the terminal."""
        ...


@contextmanager
def open_backend(terminal: Terminal, settings: "Settings") -> Generator[ToolBackend]:
    """The tools of this home: of its server when one runs, else of an App opened for this."""
    if found := find_running_server(settings.kernel.home):
        warn_version_mismatch(terminal, found)
        yield ServerBackend(ServerClient(found.lock.url, token_for_home(settings.kernel.home)))
        return
    require_home(settings.kernel)
    with open_in_process(terminal, settings) as tools:
        yield tools


def require_tools(settings: "Settings") -> None:
    """NotFound where no server runs and no database exists.

    For commands that prompt before they call tools.
    """
    if find_running_server(settings.kernel.home) is None:
        require_home(settings.kernel)


@contextmanager
def open_in_process(terminal: Terminal, settings: "Settings") -> Generator["InProcessBackend"]:
    """The tools of an App in this process."""
    from anyio.from_thread import start_blocking_portal

    from pecia.app.app import open_app
    from pecia.interfaces.cli.server.oidc import make_oidc_fetch

    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(
            open_app(settings, fetch=make_oidc_fetch(settings.kernel), report=terminal.info)
        ) as app,
    ):
        yield InProcessBackend(portal, app)


def describe_tools(settings: "Settings") -> list[ToolInfo]:
    """The list of tools: from the running server, else from the features.

    The features get a store that is never opened, so that help starts nothing.
    """
    if found := find_running_server(settings.kernel.home):
        return ServerBackend(
            ServerClient(found.lock.url, token_for_home(settings.kernel.home))
        ).list_tools()
    return _list_offline_tools(settings)


def describe_tool(terminal: Terminal, name: str) -> ToolInfo:
    """One tool, for its help, which needs no server, token, home or good settings.

    Only a tool that this program does not have itself is asked for where it is served.
    """
    try:
        settings = load_settings(terminal)
    except PeciaError:
        # They say which plugins are disabled, and no more is needed of them here.
        settings = default_settings()
    own = _list_offline_tools(settings)
    if has_tool(own, name):
        return find_tool(own, name)
    return find_tool(list_callable_tools(load_settings(terminal)), name)


def list_callable_tools(settings: "Settings") -> list[ToolInfo]:
    """The same, and those hidden from this caller: calling one returns the reason."""
    listed = describe_tools(settings)
    names = {it.full_name for it in listed}
    return [*listed, *(it for it in _list_offline_tools(settings) if it.full_name not in names)]


def has_tool(tools: Sequence[ToolInfo], name: str) -> bool:
    """Whether any tool has that name."""
    name = current_tool_name(name)
    return any(name in it.names for it in tools)


def find_tool(tools: Sequence[ToolInfo], name: str) -> ToolInfo:
    """The tool of that full, prefixed or bare name. An ambiguous bare name is an error."""
    name = current_tool_name(name)
    holders = [it for it in tools if name in it.names]
    exact = [it for it in holders if it.full_name == name or len(holders) == 1]
    if exact:
        return exact[0]
    if holders:
        raise ToolNotFound(
            f"{name} is ambiguous: {len(holders)} tools have that name",
            tool=name,
            expected=[it.full_name for it in holders],
        )
    near = suggest_name(name, [it for tool in tools for it in tool.names])
    raise ToolNotFound(f"there is no tool {name!r}{near}", tool=name)


@dataclass(frozen=True, slots=True)
class InProcessBackend:
    """The tools of an App in this process."""

    portal: "BlockingPortal"
    app: "App"

    def list_tools(self) -> list[ToolInfo]:
        return tool_infos(self.app.tools)

    def call(self, tool: ToolInfo, arguments: Mapping[str, Json]) -> Json:
        return self.portal.call(self._call, tool.full_name, arguments)

    def list_confirmations(self) -> list[dict[str, Json]]:
        return self.portal.call(self._list_confirmations)

    def answer_confirmation(self, confirmation: str, said: str) -> None:
        self.portal.call(self._answer_confirmation, confirmation, said)

    async def _list_confirmations(self) -> list[dict[str, Json]]:
        caller = await self._require_admin()
        return [it.as_json() for it in await self.app.confirmations.list_pending(caller)]

    async def _answer_confirmation(self, confirmation: str, said: str) -> None:
        from pecia.app.dispatch import Operation, RequestContext
        from pecia.kernel.identity.caller import Scope

        waiting = self.app.confirmations
        answer = waiting.confirm if said == "confirm" else waiting.refuse
        operation = Operation(
            f"confirmations.{said}", Scope.ADMIN, arguments={"confirmation": confirmation}
        )
        await self.app.dispatcher.run(
            await self._require_admin(),
            operation,
            RequestContext("cli"),
            lambda call: answer(call.caller, confirmation),
        )

    async def _require_admin(self) -> "Caller":
        from pecia.app.dispatch import RequestContext
        from pecia.kernel.identity.caller import Caller

        who = await self.app.authenticate(read_token(), RequestContext("cli"))
        if not isinstance(who, Caller) or not who.is_admin:
            raise Forbidden("this is for administrators of a tenant")
        return who

    async def _call(self, name: str, arguments: Mapping[str, Json]) -> Json:
        from pecia.app.dispatch import RequestContext
        from pecia.interfaces.http.routes.tools import tool_response

        context = RequestContext("cli")
        who = await self.app.authenticate(read_token(), context)
        result = await self.app.call(who, name, arguments, context)
        # Same shape as a server's response, so that scripts see no difference.
        return json.loads(bytes(tool_response(result, self.app.full_view.find(name)).body))


@dataclass(frozen=True, slots=True)
class ServerBackend:
    """The tools of a running server."""

    server: ServerClient

    def list_tools(self) -> list[ToolInfo]:
        return [_info_from_server(it) for it in self.server.list_tools()]

    def call(self, tool: ToolInfo, arguments: Mapping[str, Json]) -> Json:
        return self.server.call(tool.path, arguments)

    def list_confirmations(self) -> list[dict[str, Json]]:
        found = self.server.get(f"{API}/confirmations")
        return cast(dict[str, list[dict[str, Json]]], found)["confirmations"]

    def answer_confirmation(self, confirmation: str, said: str) -> None:
        self.server.answer_confirmation(confirmation, said)


def _info_from_server(facts: Mapping[str, Any]) -> ToolInfo:
    """A tool as a server describes it."""
    path = str(facts["path"])
    return ToolInfo(
        feature=facts["room"],
        name=path.rpartition("/")[2],
        full_name=facts["name"],
        description=facts["description"],
        schema=facts["input_schema"],
        scope=facts["scope"],
    )


def tool_infos(tools: "Iterable[AnyTool]") -> list[ToolInfo]:
    """The infos of all tools that are not hidden."""
    from pecia.kernel.tool.validate import input_schema
    from pecia.kernel.tool.view import full_name

    return [
        ToolInfo(
            it.feature, it.name, full_name(it), it.description, input_schema(it), it.scope.value
        )
        for it in tools
        if not it.hidden
    ]


def _list_offline_tools(settings: "Settings") -> list[ToolInfo]:
    from pecia.app.features import build_features
    from pecia.kernel.secrets.keyring import Keyring
    from pecia.kernel.store.audit.log import AuditLog
    from pecia.kernel.store.cluster import DatabaseLogins
    from pecia.kernel.store.store import Store

    store = Store(DatabaseLogins("", "", ""))
    with TemporaryDirectory(prefix="pecia-") as folder:
        features = build_features(settings, store, AuditLog(store, Path(folder)), Keyring.fresh())
        return tool_infos(tool for feature in features for tool in feature.tools)
