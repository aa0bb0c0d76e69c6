"""`pecia mcp`: speaks MCP over stdio for an editor, and forwards it to the server of this home."""

import sys
from typing import Annotated

import typer

from pecia.doors.cli.asking import Ask, run_tool
from pecia.doors.cli.call import RAW
from pecia.doors.cli.client import Server
from pecia.doors.cli.configured import environ
from pecia.doors.cli.listen import url_of
from pecia.doors.cli.session import headers, space_headers
from pecia.doors.cli.smoke import smoke
from pecia.doors.cli.space_option import reached_server, wanted_space
from pecia.doors.cli.stdio_exit import end_session, fail_session
from pecia.doors.cli.terminal import terminal_of
from pecia.doors.mcp.stdio import CONNECT_LIMIT_S, Relay, Upstream
from pecia.kernel.errors import NotFound, Unavailable

AUDIT_HELP = "Who called what, with what, and what came of it; --tool NAME for one tool."

# What the reference of this command lists of a call.
AUDIT_COLUMNS = (
    "at",
    "user",
    "tool",
    "arguments",
    "sources",
    "keys",
    "row_count",
    "status",
    "client_ip",
)


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(invoke_without_command=True)
    group.callback()(mcp)
    group.command("smoke")(smoke)
    group.command("audit", help=AUDIT_HELP, context_settings=RAW, add_help_option=False)(audit)
    app.add_typer(group, name="mcp")
    app.command()(smoke)


def audit(ctx: typer.Context) -> None:
    ask = Ask("office.list_audit", "pecia mcp audit", columns=AUDIT_COLUMNS)
    run_tool(terminal_of(ctx), ask, ctx.args)


def mcp(
    ctx: typer.Context,
    toolset: Annotated[str | None, typer.Option(help="Serve one room, or `all`.")] = None,
    readonly: Annotated[bool, typer.Option(help="Only tools that change nothing.")] = False,
    port: Annotated[
        int, typer.Option(help="The port of a running server; 0: find it.", min=0, max=65535)
    ] = 0,
    host: Annotated[str, typer.Option(help="The host of that server.")] = "localhost",
    space: Annotated[
        str | None,
        typer.Option(
            help="The space that calls mean which name none: its name, or a folder. Unset: "
            "PECIA_SPACE, then the project of this folder, then the home space."
        ),
    ] = None,
) -> None:
    """Speak MCP on stdin and stdout, for an editor or an agent."""
    if ctx.invoked_subcommand is not None:
        return
    terminal = terminal_of(ctx)
    path = "/mcp" + (f"/{toolset}" if toolset else "") + ("/readonly" if readonly else "")
    try:
        wanted = wanted_space(space)
        found = reached_server(terminal, wanted, url_of(host, port) if port else None)
        url = found.url
        require_endpoint(url, path)
        sent = headers(url, environ(), found.token) | space_headers(url, wanted.name, found.folder)
        upstream = Upstream(url + path, sent)
    except Exception as error:
        if terminal.debug:
            raise
        raise fail_session(terminal, error) from error
    terminal.say(f"speaking MCP to {url}{path}")
    end_session(terminal, Relay(upstream, sys.stdout.buffer).run(sys.stdin.buffer))


def require_endpoint(url: str, path: str) -> None:
    """A toolset that is not served is told now, and not by frames nobody answers."""
    try:
        if Server(url).has_endpoint(path, limit_s=CONNECT_LIMIT_S):
            return
    except Unavailable as error:
        raise Unavailable(error.message, hint="pecia start") from error
    raise NotFound(
        f"this server has no toolset at {path}",
        hint="`--toolset all`, or the name of a room: `pecia call --list` shows them",
    )
