"""`pecia mcp`: speaks MCP over stdio for an editor, and forwards it to the server of this home."""

import json
import sys
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from pecia.doors.cli.client import HEALTH_LIMIT_S, Server
from pecia.doors.cli.configured import environ, token
from pecia.doors.cli.find import answers
from pecia.doors.cli.lock import PROJECT_FOLDER, folder_lock, read_lock
from pecia.doors.cli.smoke import smoke
from pecia.doors.cli.terminal import FAILED, Terminal, terminal_of
from pecia.doors.mcp.stdio import Relay, Upstream
from pecia.kernel.errors import NotFound, PeciaError, Unavailable

SESSION_HEADER = "x-pecia-session"

# What an editor's configuration may set for one session; everything else is the server's own.
FORWARDED = (
    "MCP_SERVER_MODE",
    "USE_ASK_CIPHER",
    "MCP_ONLY_CONTACT_CT_KNOWLEDGE_MANAGEMENT",
    "AGGREGATOR_CONFLICT_RESOLUTION",
    "AGGREGATOR_TIMEOUT",
    "USE_WORKSPACE_MEMORY",
    "DISABLE_DEFAULT_MEMORY",
    "CIPHER_USER_ID",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "OPENROUTER_API_KEY",
    "OK_ELECTRON_PROTOCOL_HOST",
)


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(invoke_without_command=True)
    group.callback()(mcp)
    for alias in ("smoke", "audit"):
        group.command(alias)(smoke)
    app.add_typer(group, name="mcp")
    app.command()(smoke)


def mcp(
    ctx: typer.Context,
    toolset: Annotated[str | None, typer.Option(help="Serve one room, or `all`.")] = None,
    readonly: Annotated[bool, typer.Option(help="Only tools that change nothing.")] = False,
    port: Annotated[int, typer.Option(help="The port of a running server; 0: find it.")] = 0,
    host: Annotated[str, typer.Option(help="The host of that server.")] = "localhost",
) -> None:
    """Speak MCP on stdin and stdout, for an editor or an agent."""
    if ctx.invoked_subcommand is not None:
        return
    terminal = terminal_of(ctx)
    path = "/mcp" + (f"/{toolset}" if toolset else "") + ("/readonly" if readonly else "")
    try:
        url = f"http://{host}:{port}" if port else server_url(terminal)
        require_answer(url)
        require_endpoint(url, path)
    except PeciaError as error:
        terminal.say(f"Failed to connect to Pecia MCP server: {error.message}")
        if hint := error.fields.get("hint"):
            terminal.say(f"  try: {hint}")
        raise typer.Exit(FAILED) from error
    terminal.say(f"speaking MCP to {url}{path}")
    Relay(Upstream(url + path, headers(url)), sys.stdout.buffer).run(sys.stdin.buffer)


def headers(url: str) -> Mapping[str, str]:
    """What goes with every frame: who asks, and the settings of this session.

    There are keys among the variables, which do not leave this machine.
    """
    names = FORWARDED if is_loopback(url) else ()
    env = {name: value for name, value in environ().items() if name in names}
    settings = {"env": env} if env else {}
    found = {"authorization": f"Bearer {token()}"} if token() else {}
    if settings:
        found[SESSION_HEADER] = b64encode(json.dumps(settings).encode()).decode()
    return found


def server_url(terminal: Terminal) -> str:
    """Where the server is: by the lock of this folder, by that of the home, or started now."""
    project = project_of(Path.cwd())
    lock = read_lock(folder_lock(project)) if project else None
    if lock is not None and answers(lock) is not None:
        return lock.url
    return _by_home(terminal, project)


def is_loopback(url: str) -> bool:
    """Whether an address is of this machine for sure."""
    return urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1")


def project_of(folder: Path) -> Path | None:
    """The nearest folder, upwards, that Pecia knows."""
    return next((it for it in (folder, *folder.parents) if (it / PROJECT_FOLDER).is_dir()), None)


def require_answer(url: str) -> None:
    if Server(url).health(limit_s=HEALTH_LIMIT_S) is None:
        raise Unavailable(f"nobody answers at {url}", hint="pecia start")


def require_endpoint(url: str, path: str) -> None:
    """A toolset that is not served is told now, and not by frames nobody answers."""
    if Server(url).has_endpoint(path, limit_s=HEALTH_LIMIT_S):
        return
    raise NotFound(
        f"this server has no toolset at {path}",
        hint="`--toolset all`, or the name of a room: `pecia call --list` shows them",
    )


def _by_home(terminal: Terminal, project: Path | None) -> str:
    # Here, because an editor that finds its lock should not wait for the settings.
    from pecia.doors.cli.configured import settled
    from pecia.doors.cli.find import running
    from pecia.rooms.wiki.settings import WikiSettings

    settings = settled(terminal, {"mode": "local"}, folder=project)
    if found := running(settings.kernel.home):
        return found.lock.url
    if not settings.part(WikiSettings).mcp_autostart:
        raise Unavailable(
            "the server is not running, and auto-start is off",
            hint="pecia start; or turn auto-start on: OK_MCP_AUTOSTART=1, mcp.autoStart: true",
        )
    if project is None:
        raise Unavailable(
            "this folder is no project, and no server runs", hint="pecia start FOLDER"
        )
    return _started(terminal, project)


def _started(terminal: Terminal, project: Path) -> str:
    from pecia.doors.cli.configured import settled
    from pecia.doors.cli.detach import spawn, wait_until_up

    settings = settled(terminal, {"mode": "local"}, folder=project)
    home = settings.kernel.home
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    return wait_until_up(terminal, home, spawn(settings, project, [])).lock.url
