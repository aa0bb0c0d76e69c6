"""Cascades as commands reach them: a manifest of this machine, read here, without a server."""

import getpass
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from pecia.doors.cli.configured import settled
from pecia.doors.cli.terminal import Misuse, Terminal
from pecia.kernel.errors import MissingField

if TYPE_CHECKING:
    from pecia.kernel.identity.caller import Caller
    from pecia.rooms.cascade.cascades import Cascades
    from pecia.rooms.cascade.layers.reading import Report
    from pecia.rooms.cascade.manifest import Manifest
    from pecia.rooms.cascade.view import View

T = TypeVar("T")

USAGE = "pecia cascade … --manifest FILE, or --personal FOLDER --shared FOLDER"


@dataclass(frozen=True, slots=True)
class Asked:
    """Which cascade a command means. A manifest wins over two folders."""

    manifest: Path | None = None
    personal: Path | None = None
    shared: Path | None = None

    def read(self) -> "Manifest":
        from pecia.rooms.cascade.manifest import read_manifest, two_folders

        if self.manifest is not None:
            return read_manifest(self.manifest)
        if self.personal is not None and self.shared is not None:
            return two_folders(self.personal, self.shared)
        missing = "shared" if self.personal else "personal" if self.shared else "manifest"
        raise Misuse(MissingField(f"--{missing} is missing", field=missing), hint=USAGE)


def alone(terminal: Terminal, asked: Asked) -> "Cascades":
    """The cascade that was asked for, with the rights of who types."""
    from pecia.app.layers import cascade_ports, trust_file
    from pecia.rooms.cascade.cascades import Cascades, Place

    manifest = asked.read()
    home = settled(terminal).kernel.home
    place = Place(manifest.name, manifest.file, None if manifest.file else manifest)
    return Cascades({manifest.name: place}, cascade_ports(home), trust_file(home), _no_server)


def on_view(terminal: Terminal, asked: Asked, work: "Callable[[View], Awaitable[T]]") -> T:
    """Run something on the whole cascade, with a progress bar where a person waits for it."""
    import anyio

    async def run() -> T:
        cascades = alone(terminal, asked)
        place = next(iter(cascades.places.values()))
        with progress(terminal) as report:
            await cascades.opened(place, report)
        seen = await cascades.seen(typist(), None)
        try:
            return await work(seen.view)
        finally:
            cascades.close()

    return anyio.run(run)


def typist() -> "Caller":
    """Who types, as the one caller of a cascade that no server serves."""
    from pecia.kernel.identity.caller import EVERY_SCOPE, Caller, CredentialKind

    nobody = UUID(int=0)
    user = getpass.getuser()
    return Caller(nobody, CredentialKind.LOCAL, nobody, "local", nobody, user, EVERY_SCOPE)


@contextmanager
def progress(terminal: Terminal) -> "Generator[Report]":
    """A bar on stderr while layers are read, if a person sees it."""
    import sys

    from rich.console import Console
    from rich.progress import Progress

    if terminal.as_json or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading layers", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


async def _no_server(caller: "Caller", source: str) -> bool:
    """Rights to a server's sources can be asked of that server only."""
    return False
