"""The version repository that the wiki needs. The adapter defines the type of a draft."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol, TypeAlias, TypeVar

S = TypeVar("S")
D = TypeVar("D")
S_contra = TypeVar("S_contra", contravariant=True)
D_contra = TypeVar("D_contra", contravariant=True)
D_co = TypeVar("D_co", covariant=True)


class CommitSignature(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def when(self) -> datetime: ...


class CommitRecord(Protocol):
    @property
    def oid(self) -> str: ...
    @property
    def author(self) -> CommitSignature: ...
    @property
    def message(self) -> str: ...


class FileCommit(Protocol):
    """One commit of a file, with the file's path at that time."""

    @property
    def commit(self) -> CommitRecord: ...
    @property
    def path(self) -> str: ...


class FileCommitPage(Protocol):
    @property
    def steps(self) -> Sequence[FileCommit]: ...
    @property
    def has_more(self) -> bool: ...


class TreeFileName(Protocol):
    @property
    def path(self) -> str: ...


class TreeListing(Protocol):
    @property
    def files(self) -> Sequence[TreeFileName]: ...


class VersionRepository(Protocol[D_contra]):
    """A repository of versions."""

    async def record(self, draft: D_contra) -> CommitRecord | None: ...
    async def commit(self, ref: str) -> CommitRecord: ...
    async def history(
        self, refs: Sequence[str], path: str, *, limit: int = 50, offset: int = 0
    ) -> FileCommitPage: ...
    async def read(self, ref: str, path: str) -> bytes: ...
    async def tree(self, ref: str) -> TreeListing: ...
    async def references(self, prefix: str = "refs/") -> Mapping[str, str]: ...
    async def point(self, reference: str, ref: str | None) -> None: ...


class MakeCommitDraft(Protocol[S_contra, D_co]):
    """Makes a draft: bytes replace a file, None removes it."""

    def __call__(
        self,
        ref: str,
        changes: Mapping[str, bytes | None],
        author: S_contra,
        message: str,
        *,
        kept: bool = False,
    ) -> D_co: ...


class VersionStore(Protocol):
    """The same with type parameters bound: what the wiki uses."""

    async def record(
        self, ref: str, changes: Mapping[str, bytes | None], who: str, message: str, *, kept: bool
    ) -> CommitRecord | None: ...
    async def commit(self, ref: str) -> CommitRecord: ...
    async def history(
        self, refs: Sequence[str], path: str, *, limit: int = 50, offset: int = 0
    ) -> FileCommitPage: ...
    async def read(self, ref: str, path: str) -> bytes: ...
    async def tree(self, ref: str) -> TreeListing: ...
    async def references(self, prefix: str = "refs/") -> Mapping[str, str]: ...
    async def point(self, reference: str, ref: str | None) -> None: ...


OpenVersionStore: TypeAlias = Callable[[Path], Awaitable[VersionStore]]
EMAIL = "@pecia.local"


def bind_version_store(
    opened: Callable[[Path], Awaitable[VersionRepository[D]]],
    draft: MakeCommitDraft[S, D],
    sign: Callable[[str, str], S],
) -> OpenVersionStore:
    """Binds a repository, its drafts and its signatures."""

    async def open_versions(place: Path) -> VersionStore:
        return _BoundVersionStore(await opened(place), draft, sign)

    return open_versions


class _BoundVersionStore:
    def __init__(
        self,
        kept: VersionRepository[D],
        draft: MakeCommitDraft[S, D],
        sign: Callable[[str, str], S],
    ) -> None:
        self.commit = kept.commit
        self.history = kept.history
        self.read = kept.read
        self.tree = kept.tree
        self.references = kept.references
        self.point = kept.point

        async def record(
            ref: str, changes: Mapping[str, bytes | None], who: str, message: str, *, kept_too: bool
        ) -> CommitRecord | None:
            author = sign(who, f"{who}{EMAIL}")
            return await kept.record(draft(ref, changes, author, message, kept=kept_too))

        self._record = record

    async def record(
        self, ref: str, changes: Mapping[str, bytes | None], who: str, message: str, *, kept: bool
    ) -> CommitRecord | None:
        return await self._record(ref, changes, who, message, kept_too=kept)
