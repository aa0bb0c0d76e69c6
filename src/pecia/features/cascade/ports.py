"""Ports of the feature, injected at composition."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pecia.features.cascade.layers.layer import LayerFile
from pecia.features.cascade.store import StoreSources


class GitFiles(Protocol):
    """Reads a local or remote repository."""

    async def files(
        self, place: Path | str, ref: str, subdir: str
    ) -> tuple[Sequence[LayerFile], Mapping[str, str]]:
        """The Markdown files of a commit, and the skipped ones by path, with the reason."""
        ...

    async def days(self, folder: Path) -> Mapping[str, str]:
        """Author date of the last commit of each file, by path in the folder.

        Empty for a folder outside any repository.
        """
        ...


class ForeignServerContent(Protocol):
    """Content of another server: nodes from its tools, or Markdown pages by path.

    `refused`: items that it listed but did not return, by name.
    """

    @property
    def nodes(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def pages(self) -> Mapping[str, str]: ...
    @property
    def refused(self) -> Mapping[str, str]: ...


class ForeignServer(Protocol):
    """Reads another MCP server, run as a subprocess."""

    async def read(self, argv: Sequence[str], folder: Path) -> ForeignServerContent:
        """All its content. Raises if the server as a whole fails."""
        ...


class FetchFile(Protocol):
    """Fetches a file from the web."""

    async def __call__(self, url: str, max_bytes: int) -> bytes: ...


class FolderChanges(Protocol):
    """Changes in a folder since the last call."""

    def take(self) -> frozenset[str] | None:
        """Changed paths; None means rescan everything."""
        ...

    def close(self) -> None: ...


class WatchFolder(Protocol):
    """Watches a folder from now on."""

    def __call__(self, folder: Path) -> FolderChanges: ...


@dataclass(frozen=True, slots=True)
class CascadePorts:
    """All ports. A layer whose port is missing is degraded, with the reason."""

    git: GitFiles | None = None
    foreign: ForeignServer | None = None
    fetched: FetchFile | None = None
    sources: StoreSources | None = None
    watch: WatchFolder | None = None
