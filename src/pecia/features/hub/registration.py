"""What somebody typed to add a server, read as where it is. Pure but for asking a person.

A program is started on this machine with the rights of whoever runs it. So nobody adds one to a
server of many; and on a machine of one's own, a person says yes to the very words that are run.
What a server says of its tools is read by models. So a person says yes to a server, and to what it
changes later; see `kernel/tool/confirmation.py`.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import Field, JsonValue

from pecia.features.hub.core.tool_name import SERVER_NAME
from pecia.features.hub.model import ServerAddress, ServerEndpoint, ServerOptions, StoredTool
from pecia.features.hub.secrets import ServerSecrets
from pecia.kernel.errors import Forbidden, InvalidFormat, InvalidInput, Json, MissingField
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.confirmation import ConfirmableAction, Confirmations, escape_unprintable
from pecia.kernel.tool.confirmation import ConfirmationKind as ActKind
from pecia.kernel.tool.model import Input

TransportName: TypeAlias = Literal["stdio", "http", "streamable-http", "sse"]
ShortText = Annotated[str, Field(max_length=4_000)]
Seconds = Annotated[float, Field(gt=0, le=3_600)]

MAX_DESCRIPTION_CHARS = 300
TAKES_CHANGES_WARNING = (
    "What it changes about its tools later holds at once, without anybody's approval."
)

SECRET_FIELD: dict[str, JsonValue] = {"secret": True}


class ServerAddressInput(Input):
    """Where a server is."""

    type: TransportName | None = Field(
        default=None, description="Told by `command` or `url` unless given; `/sse` at its end: sse."
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
    url: ShortText | None = Field(default=None, description="The endpoint of a server elsewhere.")
    headers: dict[str, ShortText] = Field(
        default_factory=dict[str, ShortText],
        description="Sent with every request, as Authorization. Sealed, like `env`.",
        json_schema_extra=SECRET_FIELD,
    )


class McpServersAddress(ServerAddressInput):
    """The same in the words of everybody's `mcpServers`: there `command` is the program alone."""

    args: list[ShortText] = Field(default_factory=list[ShortText], max_length=200)


class ServerPolicyInput(Input):
    """How long a server is waited for, and how far its word is taken."""

    timeout_s: Seconds | None = Field(
        default=None, description="Until a call must answer; else hub.timeout_s."
    )
    reset_timeout_on_progress: bool = Field(
        default=False, description="Each sign of progress starts that time anew."
    )
    max_total_timeout_s: Seconds | None = Field(
        default=None, description="However much progress it makes."
    )
    take_changes: bool = Field(
        default=False,
        description="Let what it changes about its tools hold without anybody's approval.",
    )
    enforce_strict_capabilities: bool = Field(
        default=False, description="Send it nothing that it does not say it serves."
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
    """A name that can stand before a tool's."""
    if not SERVER_NAME.fullmatch(name):
        expected = "letters, digits, `-` and single `_`, beginning and ending with no `_`"
        raise InvalidFormat(
            f"the name of a server is {expected}", field="server", expected=expected, got=name
        )
    return name


def parse_endpoint(ask: ServerAddressInput) -> ServerEndpoint:
    """Where the server is; exactly one of a program and a URL."""
    if (ask.command is None) == (ask.url is None):
        if ask.command is None:
            raise MissingField('Field "command" or "url" is required', field="command")
        raise InvalidInput("a server has a command or a url, not both", field="url")
    held = ServerSecrets(ask.env, ask.headers)
    if ask.command is not None:
        _refuse(ask.headers, "headers", "a program")
        if ask.type not in (None, "stdio"):
            raise InvalidInput(f"a server with a command is no {ask.type}", field="type")
        where = ServerAddress("stdio", _argv(ask, ask.command), ask.cwd, secrets=held.names)
    else:
        _refuse(ask.env or ask.cwd, "env and cwd", "a url")
        where = ServerAddress(_web_kind(ask), url=_require_url(ask.url or ""), secrets=held.names)
    return ServerEndpoint(where, held.env, held.headers)


def replace_secrets(
    place: ServerEndpoint, env: Mapping[str, str], headers: Mapping[str, str]
) -> ServerEndpoint:
    """The same place with something else that lets us in."""
    if place.argv:
        _refuse(headers, "headers", "a program")
    else:
        _refuse(env, "env", "a url")
    names = ServerSecrets(env, headers).names
    return ServerEndpoint(replace(place.address, secrets=names), env, headers)


@dataclass(frozen=True, slots=True)
class ServerConsent:
    """Who may connect servers here, and what a person says yes to."""

    is_own_machine: bool
    confirmations: Confirmations

    def require_allowed(self, place: ServerEndpoint) -> None:
        """Refuse a program on a server of many, whoever says yes to it."""
        if place.argv and not self.is_own_machine:
            raise Forbidden(
                "on a server of many, programs are named by its operator",
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
        """A person's yes to this server, its tools as they are at first included."""
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
        """A person's yes to what makes a server do more, or something else, than it did."""
        if place is not None:
            self.require_allowed(place)
        what = "\n".join(f"- {it}" for it in changes)
        where = f"\n\n{_describe_endpoint(place)}" if place else ""
        facts = _facts(place) if place else {}
        act = ConfirmableAction(_kind(place), f"Change the server {name}?\n\n{what}{where}", facts)
        await self.confirmations.require(call, act)

    async def confirm_tools(self, call: Call, server: str, tools: Sequence[StoredTool]) -> None:
        """A person's yes to these tools as they are offered now, to the letter."""
        lines = "\n".join(f"- {escape_unprintable(it.name)}: {_describe_tool(it)}" for it in tools)
        question = f"Let agents call these tools of {server} as they are now?\n\n{lines}"
        facts: dict[str, Json] = {
            it.name: it.offered.to_json() if it.offered else None for it in tools
        }
        await self.confirmations.require(call, ConfirmableAction("tools", question, facts))


def _kind(place: ServerEndpoint | None) -> ActKind:
    return "program" if place is not None and place.argv else "tools"


def _facts(place: ServerEndpoint) -> dict[str, Json]:
    """All that decides what runs, or who is asked."""
    return {"where": place.address.to_json(), "env": {**place.env}, "headers": {**place.headers}}


def _describe_endpoint(place: ServerEndpoint) -> str:
    if not place.argv:
        return f"It is at: {escape_unprintable(place.url or '')}"
    names = escape_unprintable(", ".join(sorted(place.env))) or "none"
    folder = f"\nIts folder: {escape_unprintable(place.folder)}" if place.folder else ""
    words = escape_unprintable(shlex.join(place.argv))
    return f"It runs this program, with your rights: {words}\nIts variables: {names}{folder}"


def _describe_tool(tool: StoredTool) -> str:
    """What a tool says of itself, short enough to be read."""
    text = escape_unprintable(" ".join(tool.offered.description.split())) if tool.offered else ""
    return f"{text[:MAX_DESCRIPTION_CHARS]}…" if len(text) > MAX_DESCRIPTION_CHARS else text


def _argv(ask: ServerAddressInput, command: str) -> tuple[str, ...]:
    if isinstance(ask, McpServersAddress):
        return (command, *ask.args)
    words = _split_command(command, "command")
    if not words:
        raise InvalidFormat("there is no program in `command`", field="command")
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
            raise InvalidInput("a server with a url is no stdio", field="type")
        case None:
            path = urlsplit(ask.url or "").path
            return "sse" if path.rstrip("/").endswith("/sse") else "http"


def _require_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidFormat("not an http or https URL", field="url", expected="https://…")
    if parts.username or parts.password:
        raise InvalidFormat("a URL must not hold a password: give `headers`", field="url")
    return url


def _refuse(given: object, what: str, beside: str) -> None:
    if given:
        raise InvalidInput(
            f"{what} go with the other kind of server, not with {beside}", field=what
        )
