"""The server of this home, for a session without a folder: found, or started."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.cli.server.discover import find_running_server, warn_version_mismatch
from pecia.interfaces.cli.server.lock import ServerLock, claim_home
from pecia.interfaces.cli.server.spawn import LOG_NAME, spawn, wait_until_up
from pecia.kernel.errors import Json, Unavailable
from pecia.kernel.settings.account import create_home

if TYPE_CHECKING:
    from pecia.kernel.settings.load import Settings

HOME_SERVER_FLAG = "--home-server"


def ensure_home_server(terminal: Terminal, settings: "Settings", environ: Mapping[str, str]) -> str:
    """The URL of this home's server, which is started if none runs."""
    from pecia.features.wiki.settings import WikiSettings

    home = settings.kernel.home
    if found := find_running_server(home):
        warn_version_mismatch(terminal, found)
        return found.lock.url
    if not settings.part(WikiSettings).mcp_autostart:
        raise Unavailable(
            "the server is not running, and auto-start is off",
            hint="pecia start; or turn auto-start on: OK_MCP_AUTOSTART=1",
        )
    create_home(home)
    # Not in a project folder: its settings file would be read as the server's.
    process = spawn(terminal, ["cipher", HOME_SERVER_FLAG], home / LOG_NAME, environ, cwd=home)
    return wait_until_up(terminal, home, process).lock.url


def serve_home(terminal: Terminal, settings: "Settings") -> None:
    """Serve this home until stopped. No-op where another process serves it."""
    from pecia.interfaces.cli.server.host import HostPlan, run_server
    from pecia.interfaces.cli.server.port import reserve_port

    def ready(lock: ServerLock, _: Json) -> None:
        terminal.info(f"Pecia {lock.version} is at {lock.url}")

    with claim_home(settings.kernel.home) as ours:
        if ours:
            reserved = reserve_port(settings.kernel.host, settings.kernel.port, exact=False)
            run_server(terminal, HostPlan(settings, reserved, ready))
