"""Cascades as commands reach them: a manifest that is read here, or one of the running server."""

from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlencode
from uuid import UUID

from pecia.doors.cli.configured import settled
from pecia.doors.cli.terminal import Misuse, Terminal
from pecia.kernel.errors import Json, MissingField, Unavailable
from pecia.kernel.settings.account import login_name

if TYPE_CHECKING:
    from pecia.doors.cli.client import Server
    from pecia.kernel.identity.caller import Caller
    from pecia.rooms.cascade.cascades import Cascades
    from pecia.rooms.cascade.layers.reading import Report
    from pecia.rooms.cascade.manifest import Manifest
    from pecia.rooms.cascade.search import Searcher
    from pecia.rooms.cascade.view import View

T = TypeVar("T")

USAGE = (
    "pecia cascade … --manifest FILE, or --personal FOLDER --shared FOLDER, or with a running "
    "server --cascade NAME"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """Which cascade a command means. A manifest wins over two folders, these over a server's."""

    manifest: Path | None = None
    personal: Path | None = None
    shared: Path | None = None
    cascade: str | None = None

    @property
    def is_here(self) -> bool:
        """Whether files of this machine were named."""
        return any((self.manifest, self.personal, self.shared))

    def read(self) -> "Manifest":
        from pecia.rooms.cascade.manifest import read_manifest, two_folders

        if self.manifest is not None:
            return read_manifest(self.manifest)
        if self.personal is not None and self.shared is not None:
            return two_folders(self.personal, self.shared)
        missing = "shared" if self.personal else "personal" if self.shared else "manifest"
        raise Misuse(MissingField(f"--{missing} is missing", field=missing), hint=USAGE)


def server_of(terminal: Terminal, asked: Asked) -> "Server | None":
    """The running server, where the command means one of its cascades."""
    from pecia.doors.cli.client import Server
    from pecia.doors.cli.find import running, tell_version
    from pecia.doors.cli.owner import token_for

    if asked.is_here:
        return None
    home = settled(terminal).kernel.home
    found = running(home)
    if found is not None:
        tell_version(terminal, found)
        return Server(found.lock.url, token_for(home))
    if asked.cascade is not None:
        raise Unavailable(
            f"no server runs that has the cascade {asked.cascade!r}",
            hint="start one with `pecia start`, or name the file with --manifest",
        )
    return None


def called(server: "Server", asked: Asked, tool: str, **arguments: Json) -> dict[str, Any]:
    """What a tool of the server's cascade gives."""
    from pecia.doors.cli.client import API

    given = {"cascade": asked.cascade, **arguments}
    known = {name: value for name, value in given.items() if value is not None}
    return cast(dict[str, Any], server.call(f"{API}/cascade/{tool}", known))


def reported(server: "Server", asked: Asked, report: str, **facts: Json) -> Mapping[str, Any]:
    """A report of the server's cascade."""
    given = {"cascade": asked.cascade, **facts}
    query = urlencode({name: value for name, value in given.items() if value is not None})
    return cast(Mapping[str, Any], server.get(f"/cascades/{report}?{query}"))


def alone(terminal: Terminal, asked: Asked) -> "Cascades":
    """The cascade that was asked for, with the rights of who types."""
    from pecia.app.layers import cascade_ports, trust_file
    from pecia.rooms.cascade.cascades import Cascades, Place

    manifest = asked.read()
    settings = settled(terminal)
    trust = trust_file(settings.kernel.home)
    place = Place(manifest.name, manifest.file, None if manifest.file else manifest)
    return Cascades({manifest.name: place}, cascade_ports(settings), trust, _by_the_system)


def on_view(
    terminal: Terminal,
    asked: Asked,
    work: "Callable[[View], Awaitable[T]]",
    searcher: "Searcher | None" = None,
) -> T:
    """Run something on the whole cascade, with a progress bar where a person waits for it."""
    import anyio

    async def run() -> T:
        cascades = alone(terminal, asked)
        try:
            return await work(await opened(terminal, cascades, searcher))
        finally:
            cascades.close()

    return anyio.run(run)


async def opened(
    terminal: Terminal, cascades: "Cascades", searcher: "Searcher | None" = None
) -> "View":
    """The one cascade, read, and where a searcher is given ready to be searched."""
    place = next(iter(cascades.places.values()))
    with progress(terminal, "reading layers") as report:
        await cascades.opened(place, report)
    view = (await cascades.seen(typist(), None)).view
    if searcher is not None:
        with progress(terminal, "indexing words") as report:
            await searcher.ready(view, report)
    return view


def typist() -> "Caller":
    """Who types, as the one caller of a cascade that no server serves."""
    from pecia.kernel.identity.caller import EVERY_SCOPE, Caller, CredentialKind

    nobody = UUID(int=0)
    user = login_name()
    return Caller(nobody, CredentialKind.LOCAL, nobody, "local", nobody, user, EVERY_SCOPE)


@contextmanager
def progress(terminal: Terminal, what: str) -> "Generator[Report]":
    """A bar on stderr for what takes a while, if a person sees it."""
    import sys

    from rich.console import Console
    from rich.progress import Progress

    if terminal.as_json or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


async def _by_the_system(caller: "Caller", source: str) -> bool:
    """Who types reads what the system lets them read; sources of a server are closed here."""
    return True
