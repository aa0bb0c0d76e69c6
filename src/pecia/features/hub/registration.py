"""Parses the input that adds a server into its endpoint. Pure except for confirmations.

A program runs on this machine with the rights of the server process. So on a multi-user server
nobody adds one; on a local install a person confirms the exact command that is run.
Models read what a server says of its tools. So a person confirms a server, and what it changes
later; see `kernel/tool/confirmation.py`.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, TypeAlias, cast
from urllib.parse import urlsplit

from pydantic import Field, JsonValue

from pecia.features.hub.core.environment import describe_environment
from pecia.features.hub.core.tool_name import SERVER_NAME
from pecia.features.hub.model import (
    ServerAddress,
    ServerEndpoint,
    ServerOptions,
    ServerSecrets,
    StoredTool,
    UpstreamServer,
)
from pecia.kernel.errors import Forbidden, InvalidFormat, InvalidInput, Json, MissingField
from pecia.kernel.redaction.url import redact_url
from pecia.kernel.redaction.values import redact_value
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.confirmation import ConfirmableAction, Confirmations, escape_unprintable
from pecia.kernel.tool.confirmation import ConfirmationKind as ActKind
from pecia.kernel.tool.model import Input
from pecia.kernel.tool.validate import URL_WITH_SECRETS

TransportName: TypeAlias = Literal["stdio", "http", "streamable-http", "sse"]
ShortText = Annotated[str, Field(max_length=4_000)]
Seconds = Annotated[float, Field(gt=0, le=3_600)]

MAX_DESCRIPTION_CHARS = 300
TAKES_CHANGES_WARNING = "Later changes to its tools take effect at once, without approval."

SECRET_FIELD: dict[str, JsonValue] = {"secret": True}


class ServerAddressInput(Input):
    """The address of a server."""

    type: TransportName | None = Field(
        default=None,
        description="Default: from `command` or `url`; a URL that ends in `/sse`: sse.",
    )
    command: ShortText | None = Field(
        default=None,
        description="The program to start on this machine and its arguments, quoted as in a shell.",
    )
    env: dict[str, ShortText] = Field(
        default_factory=dict[str, ShortText],
        description="Variables of the program. Sealed; `${secret:NAME}` is a secret of yours.",
        json_schema_extra=SECRET_FIELD,
    )
    cwd: ShortText | None = Field(default=None, description="The folder that the program runs in.")
    url: ShortText | None = Field(
        default=None,
        description="The endpoint of a remote server. A key in it is sealed, like `headers`.",
        json_schema_extra={URL_WITH_SECRETS: True},
    )
    headers: dict[str, ShortText] = Field(
        default_factory=dict[str, ShortText],
        description="Sent with every request, as Authorization. Sealed, like `env`.",
        json_schema_extra=SECRET_FIELD,
    )


class McpServersAddress(ServerAddressInput):
    """The same in the usual `mcpServers` format: there `command` is the program alone."""

    args: list[ShortText] = Field(default_factory=list[ShortText], max_length=200)


class ServerPolicyInput(Input):
    """Timeouts of a server, and whether its changes are trusted."""

    timeout_s: Seconds | None = Field(
        default=None, description="Timeout of a call; default: hub.timeout_s."
    )
    reset_timeout_on_progress: bool = Field(
        default=False, description="Progress resets the timeout."
    )
    max_total_timeout_s: Seconds | None = Field(
        default=None, description="Total timeout, regardless of progress."
    )
    take_changes: bool = Field(
        default=False,
        description="Accept changes to its tools without approval.",
    )
    enforce_strict_capabilities: bool = Field(
        default=False, description="Refuse calls of capabilities that it does not declare."
    )


def parse_options(ask: ServerPolicyInput) -> ServerOptions:
    return ServerOptions(
        timeout_s=ask.timeout_s,
        resets_on_progress=ask.reset_timeout_on_progress,
        most_s=ask.max_total_timeout_s,
        takes_changes=ask.take_changes,
        strict_capabilities=ask.enforce_strict_capabilities,
    )


def require_server_name(name: str) -> str:
    """A name that can prefix a tool's."""
    if not SERVER_NAME.fullmatch(name):
        expected = "letters, digits, `-` and single `_`, beginning and ending with no `_`"
        raise InvalidFormat(
            f"the name of a server is {expected}", field="server", expected=expected, got=name
        )
    return name


def parse_endpoint(ask: ServerAddressInput) -> ServerEndpoint:
    """The endpoint; exactly one of a program and a URL."""
    if (ask.command is None) == (ask.url is None):
        if ask.command is None:
            raise MissingField('Field "command" or "url" is required', field="command")
        raise InvalidInput(
            "a server has a command or a url, not both: give one of them", field="url"
        )
    if ask.command is not None:
        _refuse(ask.headers, "headers", "a program")
        if ask.type not in (None, "stdio"):
            raise InvalidInput(
                f"a server with a command is of type 'stdio', not {ask.type!r}",
                field="type",
                allowed=["stdio"],
                got=ask.type,
            )
        return _program(_argv(ask, ask.command), ask)
    _refuse(ask.env or ask.cwd, "env and cwd", "a url")
    url = _require_url(ask.url or "")
    shown = redact_url(url)
    held = ServerSecrets(headers=ask.headers, url=url if url != shown else "")
    return ServerEndpoint(ServerAddress(_web_kind(ask), url=shown, secrets=held.names), held)


def _program(argv: tuple[str, ...], ask: ServerAddressInput) -> ServerEndpoint:
    shown = tuple(map(str, cast(list[str], redact_value([*argv]))))
    held = ServerSecrets(env=ask.env, argv=argv if argv != shown else ())
    return ServerEndpoint(ServerAddress("stdio", shown, ask.cwd, secrets=held.names), held)


def replace_secrets(
    place: ServerEndpoint, env: Mapping[str, str], headers: Mapping[str, str]
) -> ServerEndpoint:
    """The same endpoint with other credentials."""
    if place.argv:
        _refuse(headers, "headers", "a program")
    else:
        _refuse(env, "env", "a url")
    held = replace(place.secrets, env=env, headers=headers)
    return ServerEndpoint(replace(place.address, secrets=held.names), held)


@dataclass(frozen=True, slots=True)
class ServerConsent:
    """Who may add servers here, and what a person confirms."""

    is_own_machine: bool
    confirmations: Confirmations

    def require_allowed(self, place: ServerEndpoint) -> None:
        """Refuse a program on a multi-user server, whoever confirms it."""
        if place.argv and not self.is_own_machine:
            raise Forbidden(
                "on a multi-user server, only the operator adds programs",
                hint="Give a url, or have the operator put it into the file of hub.servers_file.",
            )

    async def confirm_server(
        self,
        call: Call,
        name: str,
        place: ServerEndpoint,
        options: ServerOptions,
        readers: Sequence[str],
    ) -> None:
        """A person confirms this server, including its initial tools."""
        self.require_allowed(place)
        takes = f"\n{TAKES_CHANGES_WARNING}" if options.takes_changes else ""
        question = (
            f"Connect the server {name}, and let agents call its tools?\n\n"
            f"{_describe_endpoint(place)}\nFor: {escape_unprintable(', '.join(readers))}{takes}"
        )
        who: list[Json] = [*readers]
        facts = {**_facts(place), "options": options.to_json(), "readers": who}
        await self.confirmations.require(call, ConfirmableAction(_kind(place), question, facts))

    async def confirm_change(
        self, call: Call, name: str, changes: Sequence[str], place: ServerEndpoint | None
    ) -> None:
        """A person confirms a change that makes a server do more, or something else."""
        if place is not None:
            self.require_allowed(place)
        what = "\n".join(f"- {it}" for it in changes)
        where = f"\n\n{_describe_endpoint(place)}" if place else ""
        facts = _facts(place) if place else {}
        act = ConfirmableAction(_kind(place), f"Change the server {name}?\n\n{what}{where}", facts)
        await self.confirmations.require(call, act)

    async def confirm_loss(self, call: Call, server: UpstreamServer, act: str) -> None:
        """A person confirms that agents lose a server. `act` is what is done to it."""
        lost = "its tools, their approvals and its credentials" if act == "Remove" else "its tools"
        question = f"{act} the server {server.name}? Agents lose {lost}."
        facts: dict[str, Json] = {"added": server.created_at.isoformat()}
        await self.confirmations.require(call, ConfirmableAction("removal", question, facts))

    async def confirm_tools(self, call: Call, server: str, tools: Sequence[StoredTool]) -> None:
        """A person confirms these tools exactly as they are offered now."""
        lines = "\n".join(f"- {escape_unprintable(it.name)}: {_describe_tool(it)}" for it in tools)
        question = f"Let agents call these tools of {server} as they are now?\n\n{lines}"
        facts: dict[str, Json] = {
            it.name: it.offered.to_json() if it.offered else None for it in tools
        }
        await self.confirmations.require(call, ConfirmableAction("tools", question, facts))


def _kind(place: ServerEndpoint | None) -> ActKind:
    return "program" if place is not None and place.argv else "tools"


def _facts(place: ServerEndpoint) -> dict[str, Json]:
    """Everything that determines what runs, or which server is called."""
    argv: list[Json] = [*place.argv]
    return {
        "where": {**place.address.to_json(), "argv": argv, "url": place.url},
        "env": {**place.env},
        "headers": {**place.headers},
    }


def _describe_endpoint(place: ServerEndpoint) -> str:
    if not place.argv:
        return f"It is at: {escape_unprintable(place.address.url)}"
    names = escape_unprintable(describe_environment(place.env)) or "none"
    folder = f"\nIts folder: {escape_unprintable(place.folder)}" if place.folder else ""
    words = escape_unprintable(shlex.join(place.argv))
    return f"It runs this program, with your rights: {words}\nIts variables: {names}{folder}"


def _describe_tool(tool: StoredTool) -> str:
    """A tool's own description, shortened for reading."""
    text = escape_unprintable(" ".join(tool.offered.description.split())) if tool.offered else ""
    return f"{text[:MAX_DESCRIPTION_CHARS]}…" if len(text) > MAX_DESCRIPTION_CHARS else text


def _argv(ask: ServerAddressInput, command: str) -> tuple[str, ...]:
    if isinstance(ask, McpServersAddress):
        return (command, *ask.args)
    words = _split_command(command, "command")
    if not words:
        raise InvalidFormat(
            f"there is no program in the command {command[:200]!r}",
            field="command",
            expected="PROGRAM and its arguments",
            got=command[:200],
        )
    return words


def _split_command(text: str, field: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise InvalidFormat(f"{field}: {error}", field=field) from None


def _web_kind(ask: ServerAddressInput) -> Literal["http", "sse"]:
    match ask.type:
        case "sse":
            return "sse"
        case "http" | "streamable-http":
            return "http"
        case "stdio":
            raise InvalidInput(
                "a server with a url is of type 'http' or 'sse', not 'stdio'",
                field="type",
                allowed=["http", "sse"],
                got="stdio",
            )
        case None:
            path = urlsplit(ask.url or "").path
            return "sse" if path.rstrip("/").endswith("/sse") else "http"


def _require_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidFormat(
            f"{redact_url(url)[:200]!r} is not an http or https URL",
            field="url",
            expected="https://HOST/PATH",
            got=redact_url(url)[:200],
        )
    if parts.username or parts.password:
        raise InvalidFormat(
            f"the URL of {parts.hostname} must not contain a user or password; use `headers`",
            field="url",
        )
    return url


def _refuse(given: object, what: str, beside: str) -> None:
    if given:
        raise InvalidInput(
            f"{what} go with the other kind of server, not with {beside}", field=what
        )
