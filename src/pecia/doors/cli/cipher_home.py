"""The server of this home, for a session that brings no folder: found, or started without one."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pecia.doors.cli.detach import LOG, spawn, wait_until_up
from pecia.doors.cli.find import running, tell_version
from pecia.doors.cli.lock import ServerLock, claimed
from pecia.doors.cli.terminal import Terminal
from pecia.kernel.errors import Json, Unavailable
from pecia.kernel.settings.account import make_home

if TYPE_CHECKING:
    from pecia.kernel.settings.load import Settings

HOME_SERVER = "--home-server"


def home_url(terminal: Terminal, settings: "Settings", environ: Mapping[str, str]) -> str:
    """Where the server of this home answers; it is started where none does."""
    from pecia.rooms.wiki.settings import WikiSettings

    home = settings.kernel.home
    if found := running(home):
        tell_version(terminal, found)
        return found.lock.url
    if not settings.part(WikiSettings).mcp_autostart:
        raise Unavailable(
            "the server is not running, and auto-start is off",
            hint="pecia start; or turn auto-start on: OK_MCP_AUTOSTART=1",
        )
    make_home(home)
    # In no project: its file would be read as the server's.
    process = spawn(terminal, ["cipher", HOME_SERVER], home / LOG, environ, cwd=home)
    return wait_until_up(terminal, home, process).lock.url


def serve_home(terminal: Terminal, settings: "Settings") -> None:
    """Serve this home until stopped. Where another process does already, there is nothing to do."""
    from pecia.doors.cli.hosting import Hosting, host
    from pecia.doors.cli.listen import reserve

    def ready(lock: ServerLock, _: Json) -> None:
        terminal.say(f"Pecia {lock.version} is at {lock.url}")

    with claimed(settings.kernel.home) as ours:
        if ours:
            reserved = reserve(settings.kernel.host, settings.kernel.port, exact=False)
            host(terminal, Hosting(settings, reserved, ready))
