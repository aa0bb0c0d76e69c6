"""The version repository that the wiki needs, passed by the app: features import no adapter."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol, TypeAlias


class VersionCommit(Protocol):
    @property
    def oid(self) -> str: ...
    @property
    def author_name(self) -> str: ...
    @property
    def authored_at(self) -> datetime: ...
    @property
    def message(self) -> str: ...


class VersionRepository(Protocol):
    """One branch of versions. Bytes replace a file, None removes it."""

    async def prepare(
        self,
        changes: Mapping[str, bytes | None],
        message: str,
        *,
        parent: str | None,
        author: tuple[str, str],
        kept: bool = False,
    ) -> str | None:
        """A commit that is not in history yet; None if it changes nothing and is not `kept`."""
        ...

    async def advance(self, base: str | None, tip: str) -> None:
        """Put prepared commits into history. Idempotent."""
        ...

    async def tip(self) -> str | None: ...
    async def commit(self, ref: str) -> VersionCommit: ...
    async def file_commits(self, path: str, limit: int) -> Sequence[tuple[VersionCommit, str]]: ...
    async def removed_files(self, limit: int) -> Sequence[tuple[VersionCommit, str, str]]:
        """Files that are in history and not in its latest commit, newest first: the commit that
        removed each, its path, and the last commit that has it."""
        ...

    async def read(self, ref: str, path: str) -> bytes: ...
    async def find_differing(
        self, ref: str | None, files: Mapping[str, bytes | None]
    ) -> Sequence[str]:
        """Those that a commit has otherwise; None is no file, and no commit has none."""
        ...

    async def list_paths(self, ref: str) -> Sequence[str]: ...
    async def references(self, prefix: str = "refs/") -> Mapping[str, str]: ...
    async def point(self, reference: str, ref: str | None) -> None: ...


OpenVersions: TypeAlias = Callable[[Path], Awaitable[VersionRepository]]
