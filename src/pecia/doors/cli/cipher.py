"""`pecia cipher`: the toolset `cipher` for clients of Cipher, with its flags and its variables."""

import json
import sys
from base64 import b64encode
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast
from uuid import uuid4

import typer

from pecia.doors.cli.cipher_flags import (
    LOOPBACK,
    PORT,
    TRANSPORTS,
    Given,
    around_with,
    milliseconds,
    port_of,
    require_mode,
    require_one,
)
from pecia.doors.cli.client import HEALTH_LIMIT_S, Server
from pecia.doors.cli.configured import settled, warn
from pecia.doors.cli.owner import token_for
from pecia.doors.cli.session import HEADER
from pecia.doors.cli.stdio_exit import answer_first_request, end_session, explain
from pecia.doors.cli.terminal import FAILED, Terminal, terminal_of
from pecia.doors.mcp.stdio import Relay, Upstream
from pecia.kernel.errors import Json, PeciaError, Timeout, Unavailable

if TYPE_CHECKING:
    from pecia.doors.cli.cipher_agent import Agent
    from pecia.kernel.settings.load import Settings

PATH = "/mcp/cipher"


def add_to(app: typer.Typer) -> None:
    app.command()(cipher)


def cipher(
    ctx: typer.Context,
    mode: str = typer.Option("mcp", help="`mcp`: speak MCP. Cipher's other modes are not here."),
    transport: str | None = typer.Option(
        None, "--mcp-transport-type", help="stdio, sse or streamable-http; unset: stdio."
    ),
    port: int | None = typer.Option(None, "--mcp-port", help=f"For HTTP; unset: {PORT}."),
    host: str = typer.Option("127.0.0.1", "--mcp-host", help="For HTTP: a loopback address."),
    agent: Path | None = typer.Option(
        None, "--agent", "-a", help="A cipher.yml: the servers and the model of this session."
    ),
    timeout: str | None = typer.Option(None, help="How long a call may take, in milliseconds."),
    strict: bool = typer.Option(
        False, "--strict", "-s", help="Fail where a server of the agent file is down."
    ),
    env_file: Path | None = typer.Option(
        None, help="Variables for this session. Those that are exported win."
    ),
    dns: bool = typer.Option(
        False, "--mcp-dns-rebinding-protection", help="Taken: Host and Origin are always checked."
    ),
    verbose: bool = typer.Option(True, help="Say on stderr what is connected, and how."),
    home_server: bool = typer.Option(False, hidden=True),
) -> None:
    """Serve memory and other servers' tools to a client that was made for Cipher."""
    terminal = terminal_of(ctx)
    if home_server:
        _serve_home(terminal)
        return
    require_mode(mode)
    around = around_with(env_file)
    chosen = transport or around.get("MCP_TRANSPORT_TYPE") or "stdio"
    require_one("--mcp-transport-type" if transport else "MCP_TRANSPORT_TYPE", chosen, TRANSPORTS)
    require_one("--mcp-host", host, LOOPBACK)
    given = Given(chosen, host, port_of(port, around), milliseconds(timeout), strict, around)
    try:
        _connect(terminal, given, agent, verbose)
    except (Timeout, Unavailable) as error:
        explain(terminal, error)
        _end(given, error)
        raise typer.Exit(FAILED) from error
    except PeciaError as error:
        code = terminal.fail(error)
        _end(given, error)
        raise typer.Exit(code) from error


def _end(given: Given, error: PeciaError) -> None:
    if given.transport == "stdio":
        answer_first_request(error)


def _connect(terminal: Terminal, given: Given, agent_file: Path | None, verbose: bool) -> None:
    from pecia.doors.cli.cipher_home import home_url
    from pecia.doors.cli.cipher_words import server_environment

    agent = _agent(agent_file, given)
    settings = settled(terminal, _flags(given, agent), around=given.environ)
    if verbose:
        _tell(terminal, settings, given, agent)
    url = home_url(terminal, settings, server_environment(given.environ))
    if not Server(url).has_endpoint(PATH, limit_s=HEALTH_LIMIT_S):
        raise Unavailable(
            f"the server at {url} has no toolset at {PATH}", hint="pecia stop, then try again"
        )
    server = Server(url, token_for(settings.kernel.home))
    with _own_servers(terminal, server, agent, strict=given.strict) as own:
        sent = _headers(settings, server, own)
        if given.transport == "stdio":
            _speak(terminal, settings, url, sent)
        else:
            _listen(terminal, settings, given, url, sent)


def _speak(terminal: Terminal, settings: "Settings", url: str, headers: Mapping[str, str]) -> None:
    from pecia.doors.cli.cipher_trace import Traced

    terminal.say(f"speaking MCP to {url}{PATH}")
    upstream = Upstream(url + PATH, headers)
    if settings.kernel.log_level != "debug":
        end_session(terminal, Relay(upstream, sys.stdout.buffer).run(sys.stdin.buffer))
        return
    traced = Traced(sys.stdout.buffer, terminal.say)
    # All that a relay does with its stdout is to write and to flush.
    relay = Relay(upstream, cast(BinaryIO, traced))
    end_session(terminal, relay.run(traced.lines(sys.stdin.buffer)))


def _listen(
    terminal: Terminal,
    settings: "Settings",
    given: Given,
    url: str,
    headers: Mapping[str, str],
) -> None:
    from pecia.doors.cli.cipher_front import serve_front
    from pecia.doors.cli.listen import reserve

    reserved = reserve(given.host, given.port, exact=True)
    path = "/sse" if given.transport == "sse" else "/mcp"
    name = f"[{given.host}]" if ":" in given.host else given.host
    terminal.say(f"serving MCP at http://{name}:{reserved.port}{path}, from {url}")
    serve_front(settings.kernel, reserved.held, url, headers)


def _serve_home(terminal: Terminal) -> None:
    from pecia.doors.cli.cipher_home import serve_home

    settings = settled(terminal, {"mode": "local"})
    warn(terminal, settings)
    serve_home(terminal, settings)


def _agent(file: Path | None, given: Given) -> "Agent | None":
    if file is None:
        return None
    # Here, because most sessions have no such file, and an editor waits.
    from pecia.doors.cli.cipher_agent import read_agent

    return read_agent(file, given.environ)


def _flags(given: Given, agent: "Agent | None") -> dict[str, str | float]:
    """What the flags and the agent file say, by the names of our settings."""
    flags: dict[str, str | float] = {"mode": "local"}
    if given.timeout_ms is not None:
        flags["hub.timeout_s"] = given.timeout_ms / 1000
    if agent is not None and agent.flags:
        return {**flags, **agent.flags}
    if url := given.environ.get("OPENAI_BASE_URL"):
        from pecia.doors.cli.cipher_agent import elsewhere, usual_model

        key = given.environ.get("OPENAI_API_KEY", "")
        return {**flags, **elsewhere(url, key, usual_model("openai"))}
    return flags


def _tell(terminal: Terminal, settings: "Settings", given: Given, agent: "Agent | None") -> None:
    """Everything that is taken and not used, and what is odd: nothing is passed over in silence."""
    from pecia.doors.cli.cipher_words import remarks
    from pecia.rooms.memory.settings import MemorySettings

    warn(terminal, settings)
    for remark in remarks(given.environ):
        terminal.say(f"warning: {remark}")
    if agent is not None and agent.unused:
        terminal.say(f"warning: of the agent file not used here: {', '.join(agent.unused)}")
    found = Path("memAgent/cipher.yml")
    if agent is None and found.is_file():
        # A folder that somebody cloned must not choose what is run here.
        terminal.say(f"warning: {found} is not read unless it is named: --agent {found}")
    memory = settings.part(MemorySettings)
    if memory.server_mode == "default" and memory.use_ask_cipher is False:
        terminal.say("warning: USE_ASK_CIPHER=false in default mode leaves no tool at all")


@contextmanager
def _own_servers(
    terminal: Terminal, server: Server, agent: "Agent | None", *, strict: bool
) -> Generator[dict[str, Json]]:
    """The setting that names the servers of this session, which the hub has for as long."""
    if agent is None or agent.servers is None:
        yield {}
        return
    named: dict[str, Json] = {"hub.servers": {it.alias: it.name for it in agent.servers}}
    if not agent.servers:
        yield named
        return
    from pecia.doors.cli.cipher_agent import brought
    from pecia.doors.cli.cipher_lease import leased

    holder = uuid4().hex
    with leased(server, agent.servers, holder):
        for said in brought(server, agent.servers, holder, strict=strict):
            terminal.say(f"warning: {said}")
        yield named


def _headers(settings: "Settings", server: Server, more: Mapping[str, Json]) -> dict[str, str]:
    """What goes with every request: who asks, and the settings of this session."""
    from pecia.doors.cli.cipher_words import session_of

    session = {**session_of(settings), **more}
    found = {"authorization": f"Bearer {server.token}"} if server.token else {}
    if session:
        found[HEADER] = b64encode(json.dumps(session).encode()).decode()
    return found
