"""What the room needs from outside. Whoever builds the room hands it in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pecia.features.cascade.layers.layer import LayerFile
from pecia.features.cascade.store import Sources


class GitFiles(Protocol):
    """Reads a repository, of this machine or another."""

    async def files(
        self, place: Path | str, ref: str, subdir: str
    ) -> tuple[Sequence[LayerFile], Mapping[str, str]]:
        """The Markdown files of a commit, and by path why another one was passed over."""
        ...

    async def days(self, folder: Path) -> Mapping[str, str]:
        """By path in the folder the day on which its author last changed a file, where git knows.

        Nothing for a folder that lies in no repository.
        """
        ...


class ForeignServerContent(Protocol):
    """What another server holds: nodes as its tools give them, or pages of Markdown by path.

    `refused`: by name what it listed and would not give.
    """

    @property
    def nodes(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def pages(self) -> Mapping[str, str]: ...
    @property
    def refused(self) -> Mapping[str, str]: ...


class ForeignServer(Protocol):
    """Reads another MCP server, which runs as a program of its own."""

    async def read(self, argv: Sequence[str], folder: Path) -> ForeignServerContent:
        """Everything it has. Of what is wrong with the server as a whole it raises."""
        ...


class FetchFile(Protocol):
    """Brings a file here from the web."""

    async def __call__(self, url: str, max_bytes: int) -> bytes: ...


class FolderChanges(Protocol):
    """What happened in a folder since it was last asked."""

    def taken(self) -> frozenset[str] | None:
        """Paths that something happened to; None: look at everything."""
        ...

    def close(self) -> None: ...


class WatchFolder(Protocol):
    """Watches a folder from now on."""

    def __call__(self, folder: Path) -> FolderChanges: ...


@dataclass(frozen=True, slots=True)
class CascadePorts:
    """All of them. A layer whose way out is missing is degraded, and says so."""

    git: GitFiles | None = None
    foreign: ForeignServer | None = None
    fetched: FetchFile | None = None
    sources: Sources | None = None
    watch: WatchFolder | None = None
