"""How a command calls tools: through the running server, or an App opened in this process."""

import json
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol, cast

from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.cli.server.client import API, ServerClient, encode_arguments
from pecia.interfaces.cli.server.credentials import token_for_home
from pecia.interfaces.cli.server.discover import find_running_server, warn_version_mismatch
from pecia.interfaces.cli.server.home import require_home
from pecia.interfaces.cli.settings import default_settings, find_home, load_settings, read_token
from pecia.kernel.errors import (
    AuthRequired,
    BadArgument,
    Forbidden,
    Json,
    PeciaError,
    ToolNotFound,
    Unavailable,
)
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
    output: Mapping[str, Any] | None = None
    """The schema of its result."""

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

    def find_tool(self, name: str) -> ToolInfo:
        """One tool, by any of its names."""
        ...

    def call(self, tool: ToolInfo, arguments: Mapping[str, Json]) -> Json: ...

    def list_confirmations(self) -> list[dict[str, Json]]:
        """Pending confirmations."""
        ...

    def answer_confirmation(self, confirmation: str, said: str) -> None:
        """Confirm or refuse one, as the person at the terminal."""
        ...


@contextmanager
def open_backend(terminal: Terminal) -> Generator[ToolBackend]:
    """The tools of this home: of its server when one runs, else of an App opened for this."""
    if (server := find_server_backend(terminal)) is not None:
        yield server
        return
    settings = load_settings(terminal)
    require_home(settings.kernel)
    with open_in_process(terminal, settings) as tools:
        yield tools


def find_server_backend(terminal: Terminal) -> "ServerBackend | None":
    """The tools of the running server of this home; None where none runs.

    Needs no setting but the home: neither features nor the database driver are imported.
    """
    home = find_home(terminal)
    found = find_running_server(home)
    if found is None:
        return None
    warn_version_mismatch(terminal, found)
    return ServerBackend(ServerClient(found.lock.url, token_for_home(home)))


def require_tools(terminal: Terminal) -> None:
    """NotFound where no server runs and no database exists.

    For commands that prompt before they call tools.
    """
    if find_running_server(find_home(terminal)) is None:
        require_home(load_settings(terminal).kernel)


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


def describe_tools(terminal: Terminal) -> list[ToolInfo]:
    """The list of tools: from the running server, else from the features."""
    if (server := find_server_backend(terminal)) is not None:
        return server.list_tools()
    return list_offline_tools(load_settings(terminal))


def describe_tool(terminal: Terminal, name: str) -> ToolInfo:
    """One tool, for its help, which needs no server, token, home or good settings.

    A running server knows it at once; what it refuses to tell is read from this program.
    """
    with suppress(AuthRequired, Forbidden, Unavailable, BadArgument):
        if (server := find_server_backend(terminal)) is not None:
            return server.find_tool(name)
    try:
        settings = load_settings(terminal)
    except PeciaError:
        # They say which plugins are disabled, and no more is needed of them here.
        settings = default_settings()
    return find_tool(list_offline_tools(settings), name)


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

    def find_tool(self, name: str) -> ToolInfo:
        return find_tool(self.list_tools(), name)

    def call(self, tool: ToolInfo, arguments: Mapping[str, Json]) -> Json:
        encode_arguments(arguments)
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
            raise Forbidden("confirmations are for administrators of a tenant")
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

    def find_tool(self, name: str) -> ToolInfo:
        return _info_from_server(self.server.find_tool(current_tool_name(name)))

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
        feature=facts["toolset"],
        name=path.rpartition("/")[2],
        full_name=facts["name"],
        description=facts["description"],
        schema=facts["input_schema"],
        scope=facts["scope"],
        output=facts.get("output_schema"),
    )


def tool_infos(tools: "Iterable[AnyTool]") -> list[ToolInfo]:
    """The infos of all tools that are not hidden."""
    from pecia.kernel.tool.validate import input_schema, output_schema
    from pecia.kernel.tool.view import full_name

    return [
        ToolInfo(
            it.feature,
            it.name,
            full_name(it),
            it.description,
            input_schema(it),
            it.scope.value,
            output_schema(it),
        )
        for it in tools
        if not it.hidden
    ]


def list_offline_tools(settings: "Settings") -> list[ToolInfo]:
    """The tools of the features, which get a store that is never opened: nothing is started."""
    from pecia.app.features import build_features
    from pecia.kernel.secrets.keyring import Keyring
    from pecia.kernel.store.audit.log import AuditLog
    from pecia.kernel.store.cluster import DatabaseLogins
    from pecia.kernel.store.store import Store

    store = Store(DatabaseLogins("", "", ""))
    with TemporaryDirectory(prefix="pecia-") as folder:
        features = build_features(settings, store, AuditLog(store, Path(folder)), Keyring.fresh())
        return tool_infos(tool for feature in features for tool in feature.tools)
