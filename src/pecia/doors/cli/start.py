"""`pecia start`: one server for this home; a folder becomes a space of it."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pecia.doors.cli.client import API, Server
from pecia.doors.cli.configured import settled, warn
from pecia.doors.cli.confirmation import called_by_owner
from pecia.doors.cli.find import Running, running, tell_version
from pecia.doors.cli.lock import ServerLock, claimed, write_folder_lock
from pecia.doors.cli.owner import owners_token
from pecia.doors.cli.repository import ensure_repository
from pecia.doors.cli.terminal import Terminal, terminal_of
from pecia.doors.cli.welcome import welcome
from pecia.doors.cli.wiring import offer_once
from pecia.kernel.errors import InvalidInput, Json, NotFound, Unavailable
from pecia.kernel.settings.account import expanded, home_folder, make_home

if TYPE_CHECKING:
    from pecia.kernel.settings.load import Settings

ADD_SPACE = f"{API}/office/add_space"
WAIT_S = 60.0
LOOK_EVERY_S = 0.1


def add_to(app: typer.Typer) -> None:
    app.command()(start)


def start(
    ctx: typer.Context,
    folder: Path = typer.Argument(Path(), help="The folder to serve as a wiki."),
    port: int | None = typer.Option(None, help="The port to listen on; 0 takes a free one."),
    host: str | None = typer.Option(None, help="The loopback address to listen on."),
    detach: bool = typer.Option(False, help="Return as soon as the server answers."),
    ask: bool = typer.Option(True, help="Offer, the first time, to wire the editors found here."),
) -> None:
    """Serve a folder on this machine, or add it to the server that runs already."""
    terminal = terminal_of(ctx)
    place = servable(folder)
    settings = settled(terminal, {"mode": "local", "port": port, "host": host}, folder=place)
    warn(terminal, settings)
    if ask:
        offer_once(terminal)
    ensure_repository(terminal, place)
    make_home(settings.kernel.home)
    if detach:
        start_apart(terminal, settings, place)
    else:
        start_here(terminal, settings, place)


def start_here(terminal: Terminal, settings: "Settings", folder: Path) -> None:
    """Serve in this process, unless another one serves the home already: then join it."""
    home = settings.kernel.home
    deadline = time.monotonic() + WAIT_S
    told = False
    while time.monotonic() < deadline:
        if found := running(home):
            join(terminal, settings, found, folder)
            return
        with claimed(home) as ours:
            if ours:
                _serve(terminal, settings, folder)
                return
        if not told:
            terminal.say("another process is starting or stopping the server of this home…")
            told = True
        time.sleep(LOOK_EVERY_S)
    raise Unavailable(
        f"another process has {home} and does not answer", hint="pecia stop, then pecia start"
    )


def start_apart(terminal: Terminal, settings: "Settings", folder: Path) -> None:
    """Serve in a process of its own, and return when it answers."""
    from pecia.doors.cli.detach import LOG, spawn, wait_until_up

    home = settings.kernel.home
    found = running(home)
    if found is None:
        given = settings.provenance
        flags = [
            word
            for name in ("port", "host")
            if given[name].layer == "flag"
            for word in (f"--{name}", str(given[name].raw))
        ]
        process = spawn(terminal, ["start", str(folder), *flags], home / LOG)
        found = wait_until_up(terminal, home, process)
    join(terminal, settings, found, folder)


def join(terminal: Terminal, settings: "Settings", found: Running, folder: Path) -> None:
    """Add the folder to a server that runs, and leave a lock there that points to it."""
    tell_version(terminal, found)
    is_asked = settings.provenance["port"].layer == "flag"
    if is_asked and settings.kernel.port not in (0, found.lock.port):
        terminal.say(f"a server runs already at {found.lock.url}: --port has no effect")
    server = Server(found.lock.url, owners_token(settings.kernel.home))
    space = called_by_owner(server, ADD_SPACE, {"folder": str(folder)})
    write_folder_lock(folder, found.lock)
    welcome(terminal, found.lock, space)


def _serve(terminal: Terminal, settings: "Settings", folder: Path) -> None:
    from pecia.doors.cli.announce import announced
    from pecia.doors.cli.listen import holder_of, reserve

    kernel = settings.kernel
    exact = settings.provenance["port"].layer == "flag"
    with announced(kernel.home, folder) as announcement:
        reserved = reserve(kernel.host, kernel.port, exact=exact)
        announcement.bound(reserved)
        if kernel.port not in (0, reserved.port):
            terminal.say(
                f"port {kernel.port} is taken by {holder_of(kernel.port)}; using {reserved.port}"
            )
        # Only now what takes long to read: whoever waits for a server knows its port already.
        from pecia.doors.cli.hosting import Hosting, host

        def ready(lock: ServerLock, space: Json) -> None:
            welcome(terminal, lock, space)

        plan = Hosting(settings, reserved, ready, folder, announcement=announcement)
        host(terminal, plan)


def servable(given: Path) -> Path:
    """The folder whole, if it is one to serve."""
    try:
        folder = expanded(given, "folder").resolve()
    except (OSError, RuntimeError) as error:
        raise InvalidInput(f"{given} cannot be opened: {error}", field="folder") from None
    if not folder.is_dir():
        raise NotFound(f"there is no folder {folder}", field="folder")
    if folder in (Path("/"), home_folder().resolve()):
        raise InvalidInput(
            f"{folder} is too much to serve as one space",
            field="folder",
            hint="pecia start FOLDER, for a folder below it",
        )
    return folder
