"""The cascade of a command: a manifest that is read here, or one of the running server."""

from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlencode
from uuid import UUID

from pecia.interfaces.cli.output.terminal import CommandUsageError, Terminal
from pecia.interfaces.cli.settings import load_settings
from pecia.kernel.errors import Json, MissingField, Unavailable
from pecia.kernel.settings.account import login_name

if TYPE_CHECKING:
    from pecia.features.cascade.core.view import CascadeView
    from pecia.features.cascade.layers.layer import ReportProgress
    from pecia.features.cascade.manifest import CascadeManifest
    from pecia.features.cascade.registry import CascadeRegistry
    from pecia.features.cascade.search import ConceptSearcher
    from pecia.interfaces.cli.server.client import ServerClient
    from pecia.kernel.identity.caller import Caller

T = TypeVar("T")

USAGE = (
    "pecia cascade … --manifest FILE, or --personal FOLDER --shared FOLDER, or with a running "
    "server --cascade NAME"
)


@dataclass(frozen=True, slots=True)
class CascadeSelection:
    """Which cascade to use. A manifest wins over two folders, these over a server's."""

    manifest: Path | None = None
    personal: Path | None = None
    shared: Path | None = None
    cascade: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether files of this machine were named."""
        return any((self.manifest, self.personal, self.shared))

    def load_manifest(self) -> "CascadeManifest":
        from pecia.features.cascade.manifest import read_manifest, two_folder_manifest

        if self.manifest is not None:
            return read_manifest(self.manifest)
        if self.personal is not None and self.shared is not None:
            return two_folder_manifest(self.personal, self.shared)
        missing = "shared" if self.personal else "personal" if self.shared else "manifest"
        raise CommandUsageError(MissingField(f"--{missing} is missing", field=missing), hint=USAGE)


def select_server(terminal: Terminal, asked: CascadeSelection) -> "ServerClient | None":
    """The running server, where the command names one of its cascades."""
    from pecia.interfaces.cli.server.client import ServerClient
    from pecia.interfaces.cli.server.credentials import token_for_home
    from pecia.interfaces.cli.server.discover import find_running_server, warn_version_mismatch

    if asked.is_local:
        return None
    home = load_settings(terminal).kernel.home
    found = find_running_server(home)
    if found is not None:
        warn_version_mismatch(terminal, found)
        return ServerClient(found.lock.url, token_for_home(home))
    if asked.cascade is not None:
        raise Unavailable(
            f"no server is running that could have the cascade {asked.cascade!r}",
            hint="start one with `pecia start`, or name the file with --manifest",
        )
    return None


def call_cascade_tool(
    server: "ServerClient", asked: CascadeSelection, tool: str, **arguments: Json
) -> dict[str, Any]:
    """The result of a tool on the server's cascade."""
    from pecia.interfaces.cli.server.client import API

    given = {"cascade": asked.cascade, **arguments}
    known = {name: value for name, value in given.items() if value is not None}
    return cast(dict[str, Any], server.call(f"{API}/cascade/{tool}", known))


def fetch_report(
    server: "ServerClient", asked: CascadeSelection, report: str, **facts: Json
) -> Mapping[str, Any]:
    """A report of the server's cascade."""
    given = {"cascade": asked.cascade, **facts}
    query = urlencode({name: value for name, value in given.items() if value is not None})
    return cast(Mapping[str, Any], server.get(f"/cascades/{report}?{query}"))


def open_local_cascades(terminal: Terminal, asked: CascadeSelection) -> "CascadeRegistry":
    """The selected cascade, with the rights of the user of this shell."""
    from pecia.app.composition.cascade import build_cascade_ports, open_trust_file
    from pecia.features.cascade.registry import CascadeOrigin, CascadeRegistry

    manifest = asked.load_manifest()
    settings = load_settings(terminal)
    trust = open_trust_file(settings.kernel.home)
    place = CascadeOrigin(manifest.name, manifest.file, None if manifest.file else manifest)
    return CascadeRegistry(
        {manifest.name: place}, build_cascade_ports(settings), trust, _allow_local_read
    )


def run_on_view(
    terminal: Terminal,
    asked: CascadeSelection,
    work: "Callable[[CascadeView], Awaitable[T]]",
    searcher: "ConceptSearcher | None" = None,
) -> T:
    """Run an action on the whole cascade, with a progress bar on a terminal."""
    import anyio

    async def run() -> T:
        cascades = open_local_cascades(terminal, asked)
        try:
            return await work(await load_view(terminal, cascades, searcher))
        finally:
            cascades.close()

    return anyio.run(run)


async def load_view(
    terminal: Terminal, cascades: "CascadeRegistry", searcher: "ConceptSearcher | None" = None
) -> "CascadeView":
    """The one cascade, read, and with a searcher also indexed."""
    place = next(iter(cascades.origins.values()))
    with progress_bar(terminal, "reading layers") as report:
        await cascades.get_or_open(place, report)
    view = (await cascades.find_visible(local_caller(), None)).view
    if searcher is not None:
        with progress_bar(terminal, "indexing") as report:
            await searcher.get_index(view, report)
    return view


def local_caller() -> "Caller":
    """The user of this shell, as the one caller of a cascade without a server."""
    from pecia.kernel.identity.caller import EVERY_SCOPE, Caller, CredentialKind

    nobody = UUID(int=0)
    user = login_name()
    return Caller(nobody, CredentialKind.LOCAL, nobody, "local", nobody, user, EVERY_SCOPE)


@contextmanager
def progress_bar(terminal: Terminal, what: str) -> "Generator[ReportProgress]":
    """A progress bar on stderr, if that is a terminal."""
    import sys

    from rich.console import Console
    from rich.progress import Progress

    if terminal.as_json or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


async def _allow_local_read(caller: "Caller", source: str) -> bool:
    """The file system decides what may be read; sources of a server are not available here."""
    return True
