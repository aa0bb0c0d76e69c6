"""How an editor's shim comes to a server: by the lock of its folder, by that of the home, or by
starting one."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISDIR
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pecia.doors.cli.client import API, Server
from pecia.doors.cli.find import live_lock
from pecia.doors.cli.lock import PROJECT_FOLDER, made_project, write_folder_lock
from pecia.doors.cli.owner import owners_token, token_for
from pecia.doors.cli.session import for_everybody
from pecia.doors.cli.terminal import Terminal
from pecia.kernel.errors import PeciaError, Unavailable
from pecia.kernel.settings.account import expanded, home_folder, make_home

if TYPE_CHECKING:
    from pecia.doors.cli.detach import Patience
    from pecia.doors.cli.find import Running
    from pecia.kernel.settings.load import Settings


@dataclass(frozen=True, slots=True)
class ProjectServer:
    """A server, the token to show it, and the folder that a session means where a call names no
    space.
    """

    url: str
    token: str | None = field(repr=False)
    folder: Path | None


SPAWN_LOG = "last-spawn-error.log"


def server_for(terminal: Terminal, folder: Path) -> ProjectServer:
    """The server that an editor in this folder speaks to."""
    project = project_of(folder, home=home_folder())
    lock = live_lock(project) if project else None
    if lock is None:
        return _by_home(terminal, project)
    return ProjectServer(lock.url, token_for(Path(lock.home)), project)


def is_served_by(folder: Path, url: str) -> Path | None:
    """The project of a folder, if the server at that address says that it serves it."""
    project = project_of(folder, home=home_folder())
    lock = live_lock(project) if project else None
    return project if lock is not None and urlsplit(lock.url).port == urlsplit(url).port else None


def project_of(folder: Path, *, home: Path) -> Path | None:
    """The nearest folder that Pecia knows, upwards to the home: what lies there is the user's."""
    folder, home = folder.resolve(), home.resolve()
    for it in (folder, *folder.parents):
        if it == home:
            return None
        if _is_project(it):
            return it
    return None


def _is_project(folder: Path) -> bool:
    """Whether this user, or whoever the folder belongs to, made it one: in `/tmp` anybody could."""
    try:
        made, around = (folder / PROJECT_FOLDER).stat(), folder.stat()
    except OSError:
        return False
    return S_ISDIR(made.st_mode) and made.st_uid in (os.geteuid(), around.st_uid)


def _by_home(terminal: Terminal, project: Path | None) -> ProjectServer:
    # Here, because an editor that finds its lock should not wait for the settings.
    from pecia.doors.cli.configured import settled, warn
    from pecia.doors.cli.find import running
    from pecia.doors.cli.lock import is_claimed

    settings = settled(terminal, {"mode": "local"}, folder=project)
    warn(terminal, settings)
    home = settings.kernel.home
    found = running(home)
    if found is None and is_claimed(home):
        found = _awaited(terminal, settings)
    if found is None:
        return _started(terminal, settings, project)
    # Where neither is there, each call has to say which space it means.
    space = project or (_home_space(settings) if _names_home_space(settings) else None)
    if space is not None and _may_start(settings):
        _join(terminal, found, space)
    return ProjectServer(found.lock.url, token_for(home), space)


def _may_start(settings: "Settings") -> bool:
    from pecia.rooms.wiki.settings import WikiSettings

    return settings.part(WikiSettings).mcp_autostart


def _awaited(terminal: Terminal, settings: "Settings") -> "Running | None":
    """The server that another process is starting; None when it ends instead."""
    from pecia.doors.cli.detach import wait_until_up

    try:
        return wait_until_up(terminal, settings.kernel.home, None, _patience(settings))
    except Unavailable:
        return None


def _started(terminal: Terminal, settings: "Settings", project: Path | None) -> ProjectServer:
    from pecia.doors.cli.configured import environ
    from pecia.doors.cli.detach import spawn, wait_until_up

    if not _may_start(settings):
        raise Unavailable(
            "the server is not running, and auto-start is off",
            hint="pecia start; or turn auto-start on: OK_MCP_AUTOSTART=1, mcp.autoStart: true",
        )
    folder = project or _home_space(settings)
    home = settings.kernel.home
    make_home(home)
    try:
        log = made_project(folder) / SPAWN_LOG
        process = spawn(terminal, ["start", str(folder)], log, for_everybody(environ()))
    except OSError as error:
        raise Unavailable(f"no server can be started for {folder}: {error}") from error
    up = wait_until_up(terminal, home, process, _patience(settings), log)
    return ProjectServer(up.lock.url, token_for(home), folder)


def _patience(settings: "Settings") -> "Patience":
    from pecia.doors.cli.detach import Patience
    from pecia.rooms.wiki.settings import WikiSettings

    return Patience(port_s=settings.part(WikiSettings).mcp_spawn_timeout_s)


def _names_home_space(settings: "Settings") -> bool:
    from pecia.rooms.wiki.settings import WikiSettings

    return settings.part(WikiSettings).home_space is not None


def _home_space(settings: "Settings") -> Path:
    """The folder for editors that start outside of every project."""
    from pecia.rooms.wiki.settings import WikiSettings

    named = settings.part(WikiSettings).home_space
    if named is None:
        raise Unavailable(
            "this folder is no project, and no server runs",
            hint="pecia start FOLDER; or name a folder for such editors: pecia init --space FOLDER",
        )
    folder = expanded(Path(named), "wiki.home_space").resolve()
    if not folder.is_dir():
        raise Unavailable(
            f"there is no folder {folder}, which wiki.home_space names",
            hint="pecia init --space FOLDER",
        )
    return folder


def _join(terminal: Terminal, found: "Running", project: Path) -> None:
    """A project whose server runs already, for other folders, becomes one of its spaces."""
    try:
        # Here, because it reads more of the program, and most editors join nothing.
        from pecia.doors.cli.confirmation import called_by_owner

        server = Server(found.lock.url, owners_token(Path(found.lock.home)))
        called_by_owner(server, f"{API}/office/add_space", {"folder": str(project)})
        write_folder_lock(project, found.lock)
    except (PeciaError, OSError) as error:
        # The server is there all the same, and says what it thinks of each call.
        terminal.say(f"{project} is not served: {error}")
