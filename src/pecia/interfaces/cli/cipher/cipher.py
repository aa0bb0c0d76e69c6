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

from pecia.interfaces.cli.cipher.flags import (
    DEFAULT_PORT,
    LOOPBACK_HOSTS,
    TRANSPORTS,
    CipherFlags,
    load_environment,
    parse_port,
    parse_timeout_ms,
    require_choice,
    require_mode,
)
from pecia.interfaces.cli.output.terminal import (
    EXIT_FAILED,
    CommandUsageError,
    Terminal,
    terminal_of,
)
from pecia.interfaces.cli.server.client import HEALTH_TIMEOUT_S, ServerClient
from pecia.interfaces.cli.server.credentials import token_for_url
from pecia.interfaces.cli.server.lock import is_loopback_url
from pecia.interfaces.cli.settings import load_settings, print_warnings
from pecia.interfaces.cli.stdio.failure import answer_first_request, end_session, print_failure
from pecia.interfaces.cli.stdio.session_headers import SESSION_HEADER
from pecia.interfaces.mcp.transport.stdio.relay import RelayTarget, StdioRelay
from pecia.kernel.errors import (
    InvalidFormat,
    InvalidInput,
    Json,
    PeciaError,
    Timeout,
    Unavailable,
)

if TYPE_CHECKING:
    from pecia.interfaces.cli.cipher.agent import AgentFile
    from pecia.kernel.settings.load import Settings

ENDPOINT_PATH = "/mcp/cipher"


def add_to(app: typer.Typer) -> None:
    app.command()(cipher)


def cipher(
    ctx: typer.Context,
    mode: str = typer.Option("mcp", help="Only `mcp`. Cipher's other modes are not available."),
    transport: str | None = typer.Option(
        None, "--mcp-transport-type", help="stdio, sse or streamable-http; unset: stdio."
    ),
    port: int | None = typer.Option(None, "--mcp-port", help=f"For HTTP; unset: {DEFAULT_PORT}."),
    host: str = typer.Option("127.0.0.1", "--mcp-host", help="For HTTP: a loopback address."),
    agent: Path | None = typer.Option(
        None, "--agent", "-a", help="A cipher.yml: the servers and the model of this session."
    ),
    timeout: str | None = typer.Option(None, help="How long a call may take, in milliseconds."),
    strict: bool = typer.Option(
        False, "--strict", "-s", help="Fail if a server of the agent file is down."
    ),
    env_file: Path | None = typer.Option(
        None, help="Variables for this session. Those that are exported win."
    ),
    server: str | None = typer.Option(
        None, help="The address of a team's server; PECIA_TOKEN is your token there."
    ),
    dns: bool = typer.Option(
        False, "--mcp-dns-rebinding-protection", help="Ignored: Host and Origin are always checked."
    ),
    verbose: bool = typer.Option(True, help="Log to stderr what is connected, and how."),
    home_server: bool = typer.Option(False, hidden=True),
) -> None:
    """Serve memory and other servers' tools to a client that was made for Cipher."""
    terminal = terminal_of(ctx)
    if home_server:
        _serve_home(terminal)
        return
    require_mode(mode)
    around = load_environment(env_file)
    chosen = transport or around.get("MCP_TRANSPORT_TYPE") or "stdio"
    require_choice(
        "--mcp-transport-type" if transport else "MCP_TRANSPORT_TYPE", chosen, TRANSPORTS
    )
    require_choice("--mcp-host", host, LOOPBACK_HOSTS)
    flags = CipherFlags(
        chosen, host, parse_port(port, around), parse_timeout_ms(timeout), strict, around
    )
    try:
        _connect(terminal, flags, agent, verbose, server)
    except (Timeout, Unavailable) as error:
        print_failure(terminal, error)
        _answer_stdio(flags, error)
        raise typer.Exit(EXIT_FAILED) from error
    except PeciaError as error:
        code = terminal.print_error(error)
        _answer_stdio(flags, error)
        raise typer.Exit(code) from error


def _answer_stdio(flags: CipherFlags, error: PeciaError) -> None:
    if flags.transport == "stdio":
        answer_first_request(error)


def _connect(
    terminal: Terminal, flags: CipherFlags, agent_file: Path | None, verbose: bool, at: str | None
) -> None:
    from pecia.interfaces.cli.cipher.environment import server_environment
    from pecia.interfaces.cli.cipher.home_server import ensure_home_server

    agent = _load_agent(agent_file, flags)
    settings = load_settings(terminal, _setting_flags(flags, agent), around=flags.environ)
    if verbose:
        _print_remarks(terminal, settings, flags, agent)
    url = _require_address(at) if at else None
    is_remote = url is not None and not is_loopback_url(url)
    if is_remote and agent is not None and agent.servers:
        raise InvalidInput(
            "a team's server runs no program of yours: --agent with mcpServers needs a server here",
            field="--agent",
            hint="leave mcpServers out of the file, or --server out of the command",
        )
    url = url or ensure_home_server(terminal, settings, server_environment(flags.environ))
    if not ServerClient(url).has_endpoint(ENDPOINT_PATH, limit_s=HEALTH_TIMEOUT_S):
        raise Unavailable(
            f"the server at {url} has no toolset at {ENDPOINT_PATH}",
            hint="pecia stop, then try again",
        )
    server = ServerClient(url, token_for_url(settings.kernel.home, url))
    with _lease_agent_servers(terminal, server, agent, strict=flags.strict) as own:
        sent = _headers(terminal, settings, server, own, is_remote=is_remote)
        if flags.transport == "stdio":
            _serve_stdio(terminal, settings, url, sent)
        else:
            _serve_http(terminal, settings, flags, url, sent)


def _serve_stdio(
    terminal: Terminal, settings: "Settings", url: str, headers: Mapping[str, str]
) -> None:
    from pecia.interfaces.cli.cipher.trace import TracedOutput

    terminal.info(f"speaking MCP to {url}{ENDPOINT_PATH}")
    upstream = RelayTarget(url + ENDPOINT_PATH, headers)
    if settings.kernel.log_level != "debug":
        end_session(terminal, StdioRelay(upstream, sys.stdout.buffer).run(sys.stdin.buffer))
        return
    traced = TracedOutput(sys.stdout.buffer, terminal.info)
    # A relay only calls write and flush on its stdout.
    relay = StdioRelay(upstream, cast(BinaryIO, traced))
    end_session(terminal, relay.run(traced.trace_input(sys.stdin.buffer)))


def _serve_http(
    terminal: Terminal,
    settings: "Settings",
    flags: CipherFlags,
    url: str,
    headers: Mapping[str, str],
) -> None:
    from pecia.interfaces.cli.cipher.proxy import serve_proxy
    from pecia.interfaces.cli.server.port import reserve_port

    reserved = reserve_port(flags.host, flags.port, exact=True)
    path = "/sse" if flags.transport == "sse" else "/mcp"
    name = f"[{flags.host}]" if ":" in flags.host else flags.host
    terminal.info(f"serving MCP at http://{name}:{reserved.port}{path}, from {url}")
    serve_proxy(settings.kernel, reserved.listener, url, headers)


def _serve_home(terminal: Terminal) -> None:
    from pecia.interfaces.cli.cipher.home_server import serve_home

    settings = load_settings(terminal, {"mode": "local"})
    print_warnings(terminal, settings)
    serve_home(terminal, settings)


def _load_agent(file: Path | None, flags: CipherFlags) -> "AgentFile | None":
    if file is None:
        return None
    # Lazy import: most sessions have no such file, and an editor waits.
    from pecia.interfaces.cli.cipher.agent import read_agent

    return read_agent(file, flags.environ)


def _setting_flags(flags: CipherFlags, agent: "AgentFile | None") -> dict[str, str | float]:
    """The flags and the agent file, as our settings."""
    settings: dict[str, str | float] = {"mode": "local"}
    if flags.timeout_ms is not None:
        settings["hub.timeout_s"] = flags.timeout_ms / 1000
    if agent is not None and agent.flags:
        return {**settings, **agent.flags}
    if url := flags.environ.get("OPENAI_BASE_URL"):
        from pecia.interfaces.cli.cipher.agent import default_model, openai_compatible_flags

        key = flags.environ.get("OPENAI_API_KEY", "")
        return {**settings, **openai_compatible_flags(url, key, default_model("openai"))}
    return settings


def _print_remarks(
    terminal: Terminal, settings: "Settings", flags: CipherFlags, agent: "AgentFile | None"
) -> None:
    """Warn of everything that is accepted but not used."""
    from pecia.features.memory.settings import MemorySettings
    from pecia.interfaces.cli.cipher.environment import unused_variable_warnings

    print_warnings(terminal, settings)
    for remark in unused_variable_warnings(flags.environ):
        terminal.info(f"warning: {remark}")
    if agent is not None and agent.unused:
        terminal.info(
            f"warning: keys of the agent file that are not used here: {', '.join(agent.unused)}"
        )
    found = Path("memAgent/cipher.yml")
    if agent is None and found.is_file():
        # A cloned folder must not choose which programs run here.
        terminal.info(f"warning: {found} is not read unless it is named: --agent {found}")
    memory = settings.part(MemorySettings)
    if memory.server_mode == "default" and memory.use_ask_cipher is False:
        terminal.info("warning: USE_ASK_CIPHER=false in default mode leaves no tool at all")


@contextmanager
def _lease_agent_servers(
    terminal: Terminal, server: ServerClient, agent: "AgentFile | None", *, strict: bool
) -> Generator[dict[str, Json]]:
    """The setting that names the servers of this session, registered in the hub while it lasts."""
    if agent is None or agent.servers is None:
        yield {}
        return
    named: dict[str, Json] = {"hub.servers": {it.alias: it.name for it in agent.servers}}
    if not agent.servers:
        yield named
        return
    from pecia.interfaces.cli.cipher.agent import connect_servers
    from pecia.interfaces.cli.cipher.lease import lease_servers

    holder = uuid4().hex
    with lease_servers(server, agent.servers, holder):
        for warning in connect_servers(server, agent.servers, holder, strict=strict):
            terminal.info(f"warning: {warning}")
        yield named


def _require_address(at: str) -> str:
    """The address, without a slash at its end."""
    if not at.startswith(("http://", "https://")):
        raise CommandUsageError(
            InvalidFormat(
                f"--server must be an address such as https://pecia.example.org; got {at!r}",
                field="--server",
                expected="http:// or https://",
                got=at,
            )
        )
    return at.rstrip("/")


def _headers(
    terminal: Terminal,
    settings: "Settings",
    server: ServerClient,
    more: Mapping[str, Json],
    *,
    is_remote: bool,
) -> dict[str, str]:
    """The headers of every request: token and session settings. To another machine go those that
    choose memories; keys of models stay here."""
    from pecia.features.memory.settings import REMOTE_FIELDS
    from pecia.interfaces.cli.cipher.environment import collect_session_settings

    session = {**collect_session_settings(settings), **more}
    if is_remote:
        allowed = {f"memory.{it}" for it in REMOTE_FIELDS}
        if left := sorted(session.keys() - allowed):
            terminal.info(f"warning: not sent to {server.url}: {', '.join(left)}")
        session = {name: it for name, it in session.items() if name in allowed}
    found = {"authorization": f"Bearer {server.token}"} if server.token else {}
    if session:
        found[SESSION_HEADER] = b64encode(json.dumps(session).encode()).decode()
    return found
