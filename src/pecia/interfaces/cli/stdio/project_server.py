"""How an editor's stdio relay finds a server: by the lock of its folder, by that of the home, or by
starting one."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISDIR
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.cli.server.client import API, ServerClient
from pecia.interfaces.cli.server.credentials import read_owner_token, token_for_home
from pecia.interfaces.cli.server.discover import find_folder_lock
from pecia.interfaces.cli.server.lock import (
    PROJECT_FOLDER,
    create_project_folder,
    write_folder_lock,
)
from pecia.interfaces.cli.stdio.session_headers import strip_session_variables
from pecia.kernel.errors import PeciaError, Unavailable
from pecia.kernel.settings.account import create_home, expand_user, home_folder

if TYPE_CHECKING:
    from pecia.interfaces.cli.server.discover import RunningServer
    from pecia.interfaces.cli.server.spawn import StartTimeouts
    from pecia.kernel.settings.load import Settings


@dataclass(frozen=True, slots=True)
class ProjectServer:
    """A server, the token for it, and the folder that is the default space of the session."""

    url: str
    token: str | None = field(repr=False)
    folder: Path | None


SPAWN_LOG = "last-spawn-error.log"


def find_or_start_server(terminal: Terminal, folder: Path) -> ProjectServer:
    """The server for an editor in this folder."""
    project = find_project(folder, home=home_folder())
    lock = find_folder_lock(project) if project else None
    if lock is None:
        return _find_home_server(terminal, project)
    return ProjectServer(lock.url, token_for_home(Path(lock.home)), project)


def find_served_project(folder: Path, url: str) -> Path | None:
    """The project of a folder, if the server at that address serves it."""
    project = find_project(folder, home=home_folder())
    lock = find_folder_lock(project) if project else None
    return project if lock is not None and urlsplit(lock.url).port == urlsplit(url).port else None


def find_project(folder: Path, *, home: Path) -> Path | None:
    """The nearest project folder, upwards to the user's home."""
    folder, home = folder.resolve(), home.resolve()
    for it in (folder, *folder.parents):
        if it == home:
            return None
        if _is_project(it):
            return it
    return None


def _is_project(folder: Path) -> bool:
    """Whether this user, or the folder's owner, made it one: in `/tmp` anybody could."""
    try:
        made, around = (folder / PROJECT_FOLDER).stat(), folder.stat()
    except OSError:
        return False
    return S_ISDIR(made.st_mode) and made.st_uid in (os.geteuid(), around.st_uid)


def _find_home_server(terminal: Terminal, project: Path | None) -> ProjectServer:
    # Lazy import: an editor that finds its lock should not wait for the settings.
    from pecia.interfaces.cli.server.discover import find_running_server
    from pecia.interfaces.cli.server.lock import is_claimed
    from pecia.interfaces.cli.settings import load_settings, print_warnings

    settings = load_settings(terminal, {"mode": "local"}, folder=project)
    print_warnings(terminal, settings)
    home = settings.kernel.home
    found = find_running_server(home)
    if found is None and is_claimed(home):
        found = _wait_for_server(terminal, settings)
    if found is None:
        return _start_server(terminal, settings, project)
    # Without either, each call has to name its space.
    space = project or (_home_space(settings) if _has_home_space(settings) else None)
    if space is not None and _may_start(settings):
        _add_space(terminal, found, space)
    return ProjectServer(found.lock.url, token_for_home(home), space)


def _may_start(settings: "Settings") -> bool:
    from pecia.features.wiki.settings import WikiSettings

    return settings.part(WikiSettings).mcp_autostart


def _wait_for_server(terminal: Terminal, settings: "Settings") -> "RunningServer | None":
    """The server that another process is starting; None when it exits instead."""
    from pecia.interfaces.cli.server.spawn import wait_until_up

    try:
        return wait_until_up(terminal, settings.kernel.home, None, _start_timeouts(settings))
    except Unavailable:
        return None


def _start_server(terminal: Terminal, settings: "Settings", project: Path | None) -> ProjectServer:
    from pecia.interfaces.cli.server.spawn import spawn, wait_until_up
    from pecia.interfaces.cli.settings import environ

    if not _may_start(settings):
        raise Unavailable(
            "the server is not running, and auto-start is off",
            hint="pecia start; or turn auto-start on: OK_MCP_AUTOSTART=1, mcp.autoStart: true",
        )
    folder = project or _home_space(settings)
    home = settings.kernel.home
    create_home(home)
    try:
        log = create_project_folder(folder) / SPAWN_LOG
        words = ["start", str(folder), *_idle_stop(settings)]
        process = spawn(terminal, words, log, strip_session_variables(environ()))
    except OSError as error:
        raise Unavailable(f"no server can be started for {folder}: {error}") from error
    up = wait_until_up(terminal, home, process, _start_timeouts(settings), log)
    return ProjectServer(up.lock.url, token_for_home(home), folder)


def _idle_stop(settings: "Settings") -> list[str]:
    """Only for a server that no person started: theirs runs until they stop it."""
    from pecia.features.wiki.settings import WikiSettings

    limit_s = settings.part(WikiSettings).mcp_idle_stop_s
    return ["--idle-stop", f"{limit_s:g}"] if limit_s else []


def _start_timeouts(settings: "Settings") -> "StartTimeouts":
    from pecia.features.wiki.settings import WikiSettings
    from pecia.interfaces.cli.server.spawn import StartTimeouts

    return StartTimeouts(port_s=settings.part(WikiSettings).mcp_spawn_timeout_s)


def _has_home_space(settings: "Settings") -> bool:
    from pecia.features.wiki.settings import WikiSettings

    return settings.part(WikiSettings).home_space is not None


def _home_space(settings: "Settings") -> Path:
    """The folder for editors that start outside of every project."""
    from pecia.features.wiki.settings import WikiSettings

    named = settings.part(WikiSettings).home_space
    if named is None:
        raise Unavailable(
            f"this folder is not a project, and no server is running for {settings.kernel.home}",
            hint="pecia start FOLDER; or name a folder for such editors: pecia init --space FOLDER",
        )
    folder = expand_user(Path(named), "wiki.home_space").resolve()
    if not folder.is_dir():
        raise Unavailable(
            f"there is no folder {folder}, which wiki.home_space names",
            hint="pecia init --space FOLDER",
        )
    return folder


def _add_space(terminal: Terminal, found: "RunningServer", project: Path) -> None:
    """Add the project as a space to a server that already runs for other folders."""
    try:
        # Lazy import: it loads more modules, and most editors add no space.
        from pecia.interfaces.cli.tools.confirmation import call_as_owner

        server = ServerClient(found.lock.url, read_owner_token(Path(found.lock.home)))
        call_as_owner(server, f"{API}/admin/add_space", {"folder": str(project)})
        write_folder_lock(project, found.lock)
    except (PeciaError, OSError) as error:
        # The server runs all the same, and its errors explain each call.
        terminal.info(f"{project} is not served: {error}")
