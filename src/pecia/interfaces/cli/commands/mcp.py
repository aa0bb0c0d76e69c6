"""`pecia mcp`: MCP over stdio for an editor, relayed to the server of this home."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from pecia.interfaces.cli.commands.smoke import smoke
from pecia.interfaces.cli.output.terminal import Terminal, terminal_of
from pecia.interfaces.cli.server.client import ServerClient
from pecia.interfaces.cli.server.credentials import token_for_url
from pecia.interfaces.cli.server.port import server_url
from pecia.interfaces.cli.settings import SPACE_VARIABLE, environ
from pecia.interfaces.cli.stdio.failure import end_session, fail_session
from pecia.interfaces.cli.stdio.project_server import (
    ProjectServer,
    find_or_start_server,
    find_served_project,
)
from pecia.interfaces.cli.stdio.session_headers import session_headers, space_headers
from pecia.interfaces.mcp.transport.stdio.relay import CONNECT_TIMEOUT_S, RelayTarget, StdioRelay
from pecia.kernel.errors import Forbidden, InvalidInput, NotFound, Unavailable
from pecia.kernel.settings.account import expand_user


@dataclass(frozen=True, slots=True)
class SpaceSelection:
    """A space, by its name or by a folder."""

    name: str | None
    folder: Path


def select_space(given: str | None) -> SpaceSelection:
    """The flag, else the variable, else the current folder."""
    said = given or environ().get(SPACE_VARIABLE, "").strip() or None
    if said is None:
        return SpaceSelection(None, Path.cwd())
    if os.sep not in said and not said.startswith("~"):
        return SpaceSelection(said, Path.cwd())
    folder = expand_user(Path(said), "--space" if given else SPACE_VARIABLE)
    if not folder.is_dir():
        field = "--space" if given else SPACE_VARIABLE
        raise InvalidInput(f"{field} names {said}, and there is no such folder", field=field)
    return SpaceSelection(None, folder)


def find_project_server(
    terminal: Terminal, wanted: SpaceSelection, url: str | None
) -> ProjectServer:
    """The server at that address, else that of the folder; and the folder that it serves."""
    from pecia.interfaces.cli.settings import load_settings

    if url is None:
        return find_or_start_server(terminal, wanted.folder)
    home = load_settings(terminal, {"mode": "local"}).kernel.home
    return ProjectServer(url, token_for_url(home, url), find_served_project(wanted.folder, url))


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(invoke_without_command=True)
    group.callback()(mcp)
    group.command("smoke")(smoke)
    app.add_typer(group, name="mcp")
    app.command()(smoke)


def mcp(
    ctx: typer.Context,
    toolset: Annotated[str | None, typer.Option(help="Serve one toolset, or `all`.")] = None,
    readonly: Annotated[bool, typer.Option(help="Only read-only tools.")] = False,
    port: Annotated[
        int, typer.Option(help="The port of a running server; 0: find it.", min=0, max=65535)
    ] = 0,
    host: Annotated[str, typer.Option(help="The host of that server.")] = "localhost",
    space: Annotated[
        str | None,
        typer.Option(
            help="The default space of calls: its name, or a folder. Unset: "
            "PECIA_SPACE, then the project of this folder, then the home space."
        ),
    ] = None,
) -> None:
    """Speak MCP on stdin and stdout, for an editor or an agent.

    `pecia mcp audit` shows what agents called.
    """
    if ctx.invoked_subcommand is not None:
        return
    terminal = terminal_of(ctx)
    path = "/mcp" + (f"/{toolset}" if toolset else "") + ("/readonly" if readonly else "")
    try:
        wanted = select_space(space)
        found = find_project_server(terminal, wanted, server_url(host, port) if port else None)
        url = found.url
        require_endpoint(url, path)
        if wanted.name is not None:
            require_space(ServerClient(url, found.token), wanted.name)
        sent = session_headers(url, environ(), found.token) | space_headers(
            url, wanted.name, found.folder
        )
        upstream = RelayTarget(url + path, sent)
    except Exception as error:
        if terminal.debug:
            raise
        raise fail_session(terminal, error) from error
    terminal.info(f"speaking MCP to {url}{path}")
    end_session(terminal, StdioRelay(upstream, sys.stdout.buffer).run(sys.stdin.buffer))


def require_space(server: ServerClient, name: str) -> None:
    """Report an unknown space now, not by the refusal of every call."""
    try:
        names = server.list_spaces()
    except Forbidden:
        # A token without the right to list: the calls themselves will say.
        return
    if name in names:
        return
    there_is = f"there are: {', '.join(names)}" if names else "there is none that you may see"
    raise NotFound(
        f"this server has no space {name!r}; {there_is}",
        field="space",
        allowed=[*names],
        hint="`--space NAME` with one of them, `--space FOLDER` for a folder in one, or neither",
    )


def require_endpoint(url: str, path: str) -> None:
    """Report an unknown toolset now, not by requests without an answer."""
    try:
        if ServerClient(url).has_endpoint(path, limit_s=CONNECT_TIMEOUT_S):
            return
    except Unavailable as error:
        raise Unavailable(error.message, hint="pecia start") from error
    raise NotFound(
        f"this server has no toolset at {path}",
        hint="`--toolset all`, or the name of a toolset: `pecia call --list` shows them",
    )
