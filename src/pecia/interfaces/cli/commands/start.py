"""`pecia start`: one server for this home; a folder becomes a space of it."""

import gc
import shlex
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pecia.interfaces.cli.editors import offer_setup_once
from pecia.interfaces.cli.output.terminal import Terminal, terminal_of
from pecia.interfaces.cli.output.welcome import print_welcome
from pecia.interfaces.cli.server.client import API, ServerClient
from pecia.interfaces.cli.server.credentials import read_owner_token
from pecia.interfaces.cli.server.discover import (
    RunningServer,
    find_running_server,
    warn_version_mismatch,
)
from pecia.interfaces.cli.server.lock import ServerLock, claim_home, write_folder_lock
from pecia.interfaces.cli.settings import load_settings, print_warnings
from pecia.interfaces.cli.tools.confirmation import call_as_owner
from pecia.kernel.errors import InvalidInput, Json, NotFound, PeciaError, Unavailable
from pecia.kernel.settings.account import create_home, expand_user, home_folder

if TYPE_CHECKING:
    from pecia.features.wiki.config.schema import SpaceConfig
    from pecia.kernel.settings.load import Settings

DEFAULT_BRANCH = "main"


def apply_project_config(terminal: Terminal, folder: Path) -> None:
    """What the project's file says of git: `git.autoInit` makes a repository; `autoSync.enabled`
    alone does nothing."""
    config = _load_project_config(terminal, folder)
    if config is None:
        return
    if config.autoSync.enabled:
        terminal.info(
            "autoSync.enabled is true: it syncs a space that has a git remote, and no other. "
            "pecia space status NAME shows the remote, pecia space remote NAME URL sets one"
        )
    if config.git.autoInit:
        _ensure_repository(terminal, folder)


def _ensure_repository(terminal: Terminal, folder: Path) -> None:
    from pecia.adapters.git.init import init_repository, is_in_repository

    if not is_in_repository(folder):
        init_repository(folder, branch=DEFAULT_BRANCH)
        terminal.info(
            f"made a git repository in {folder}, branch {DEFAULT_BRANCH}, since git.autoInit is on"
        )


def _load_project_config(terminal: Terminal, folder: Path) -> "SpaceConfig | None":
    from pecia.features.wiki.config.files import read_project
    from pecia.features.wiki.config.merge import ConfigTexts, merge_config
    from pecia.features.wiki.config.problem import InvalidConfig

    try:
        return merge_config(ConfigTexts(read_project(folder))).config
    except InvalidConfig as error:
        terminal.info(f"warning: git.autoInit is not known: {error.problem.message}")
    except PeciaError as error:
        terminal.info(f"warning: git.autoInit is not known: {error.message}")
    return None


ADD_SPACE = f"{API}/admin/add_space"
START_TIMEOUT_S = 60.0
POLL_INTERVAL_S = 0.1


def add_to(app: typer.Typer) -> None:
    app.command()(start)


def start(
    ctx: typer.Context,
    folder: str = typer.Argument(".", help="The folder to serve as a wiki.", metavar="FOLDER"),
    port: int | None = typer.Option(None, help="The port to listen on; 0 takes a free one."),
    host: str | None = typer.Option(None, help="The loopback address to listen on."),
    detach: bool = typer.Option(
        False, help="Run in the background: return as soon as the server answers."
    ),
    idle_stop: float = typer.Option(
        0.0, help="Stop after so many seconds without a request; 0: never.", min=0
    ),
    ask: bool = typer.Option(True, help="Offer, the first time, to set up the editors found here."),
) -> None:
    """Serve a folder on this machine, or add it to the server that runs already."""
    terminal = terminal_of(ctx)
    if not folder:
        # A variable of a script that is not set: this folder was not meant.
        raise InvalidInput("FOLDER is empty", field="folder", hint="this folder: pecia start .")
    place = require_servable_folder(Path(folder))
    settings = load_settings(terminal, {"mode": "local", "port": port, "host": host}, folder=place)
    print_warnings(terminal, settings)
    if ask:
        offer_setup_once(terminal)
    apply_project_config(terminal, place)
    create_home(settings.kernel.home)
    if detach:
        start_detached(terminal, settings, place, idle_stop)
    else:
        start_in_foreground(terminal, settings, place, idle_stop)


def start_in_foreground(
    terminal: Terminal, settings: "Settings", folder: Path, idle_stop_s: float = 0.0
) -> None:
    """Serve in this process, unless another one serves the home: then add the folder there."""
    home = settings.kernel.home
    deadline = time.monotonic() + START_TIMEOUT_S
    told = False
    while time.monotonic() < deadline:
        if found := find_running_server(home):
            join_server(terminal, settings, found, folder)
            return
        with claim_home(home) as ours:
            if ours:
                _serve(terminal, settings, folder, idle_stop_s)
                return
        if not told:
            terminal.info("another process is starting or stopping the server of this home…")
            told = True
        time.sleep(POLL_INTERVAL_S)
    raise Unavailable(
        f"another process holds {home} and does not answer", hint="pecia stop, then pecia start"
    )


def start_detached(
    terminal: Terminal, settings: "Settings", folder: Path, idle_stop_s: float = 0.0
) -> None:
    """Serve in a process of its own, and return when it answers."""
    from pecia.interfaces.cli.server.spawn import LOG_NAME, spawn, wait_until_up

    home = settings.kernel.home
    found = find_running_server(home)
    if found is None:
        given = settings.provenance
        flags = [
            word
            for name in ("port", "host")
            if given[name].layer == "flag"
            for word in (f"--{name}", str(given[name].raw))
        ]
        flags += ["--idle-stop", f"{idle_stop_s:g}"] if idle_stop_s else []
        process = spawn(terminal, ["start", str(folder), *flags], home / LOG_NAME)
        found = wait_until_up(terminal, home, process)
        _report_other_port(terminal, settings.kernel.port, found.lock.port)
    join_server(terminal, settings, found, folder)


def join_server(
    terminal: Terminal, settings: "Settings", found: RunningServer, folder: Path
) -> None:
    """Add the folder to a running server, and write a lock file that points to it."""
    warn_version_mismatch(terminal, found)
    is_asked = settings.provenance["port"].layer == "flag"
    if is_asked and settings.kernel.port not in (0, found.lock.port):
        terminal.info(f"a server runs already at {found.lock.url}: --port has no effect")
    server = ServerClient(found.lock.url, read_owner_token(settings.kernel.home))
    space = call_as_owner(server, ADD_SPACE, {"folder": str(folder)})
    write_folder_lock(folder, found.lock)
    print_welcome(terminal, found.lock, space)


def _serve(terminal: Terminal, settings: "Settings", folder: Path, idle_stop_s: float) -> None:
    from pecia.interfaces.cli.server.announcement import announce
    from pecia.interfaces.cli.server.early_database import database_started_early
    from pecia.interfaces.cli.server.port import reserve_port

    kernel = settings.kernel
    exact = settings.provenance["port"].layer == "flag"
    with announce(kernel.home, folder) as announcement:
        reserved = reserve_port(kernel.host, kernel.port, exact=exact)
        announcement.publish_port(reserved)
        _report_other_port(terminal, kernel.port, reserved.port)
        early = ExitStack()
        with early:
            early.enter_context(database_started_early(kernel, terminal.info))
            # Slow imports only now: clients that wait for the server know its port already. What
            # they make stays, so that the collector looks through it for nothing.
            gc.disable()
            from pecia.interfaces.cli.server.host import HostPlan, run_server

            def ready(lock: ServerLock, space: Json) -> None:
                early.close()
                print_welcome(terminal, lock, space)

            plan = HostPlan(
                settings,
                reserved,
                ready,
                folder,
                announcement=announcement,
                idle_stop_s=idle_stop_s,
            )
            run_server(terminal, plan)


def _report_other_port(terminal: Terminal, wanted: int, used: int) -> None:
    from pecia.interfaces.cli.server.port import find_port_holder

    if wanted not in (0, used):
        terminal.info(f"port {wanted} is taken by {find_port_holder(wanted)}; using {used}")


def require_servable_folder(given: Path) -> Path:
    """The resolved folder, if it can be served."""
    try:
        folder = expand_user(given, "folder").resolve()
    except (OSError, RuntimeError) as error:
        raise InvalidInput(f"{given} cannot be opened: {error}", field="folder") from None
    if folder.is_file():
        raise InvalidInput(
            f"{folder} is a file, and folders are served",
            field="folder",
            got=str(folder),
            expected="a folder",
            hint=f"the folder that it is in: pecia start {shlex.quote(str(folder.parent))}",
        )
    if not folder.is_dir():
        raise NotFound(
            f"there is no folder {folder}",
            field="folder",
            hint=f"make it with `mkdir -p {folder}`, or name another: pecia start FOLDER",
        )
    if folder in (Path("/"), home_folder().resolve()):
        raise InvalidInput(
            f"{folder} is too much to serve as one space",
            field="folder",
            hint="pecia start FOLDER, for a folder below it",
        )
    return folder
