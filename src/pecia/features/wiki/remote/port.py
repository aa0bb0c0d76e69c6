"""The git remote that a space needs, passed by the app: features import no adapter."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, TypeAlias
from uuid import UUID

from pecia.kernel.store.store import Transaction


@dataclass(frozen=True, slots=True)
class RemoteAddress:
    """A branch of a repository. `branch` None is its default one. `confined`: it must be within
    what the operator allows the tenant; what is pushed to, below a root for spaces."""

    tenant_id: UUID
    source_id: str
    url: str
    branch: str | None
    confined: bool
    pushes: bool


class RemoteChange(Protocol):
    """The commit that changed a file last."""

    @property
    def oid(self) -> str: ...
    @property
    def author_name(self) -> str: ...
    @property
    def author_email(self) -> str: ...
    @property
    def subject(self) -> str: ...


class RemoteTree(Protocol):
    """The files of a commit: ids of their contents by path, and why others are left out."""

    @property
    def files(self) -> Mapping[str, str]: ...
    @property
    def skipped(self) -> Mapping[str, str]: ...


class RemoteCopy(Protocol):
    """Our copy of the repository. Commits that it makes are not in any branch until pushed."""

    async def fetch(self) -> str | None:
        """Bring the copy up to date: the branch's commit; None where there is no such branch."""
        ...

    async def list_files(self, commit: str) -> RemoteTree: ...
    async def read(self, content_id: str) -> bytes | None:
        """A content; None where the copy does not have it, as after a rewritten history."""
        ...

    async def contains(self, tip: str, commit: str) -> bool:
        """Whether the commit is the tip or one before it."""
        ...

    async def diff(self, old: str | None, new: str) -> Mapping[str, str | None]:
        """The files that differ, with their new ids."""
        ...

    async def last_changes(self, old: str | None, new: str) -> Mapping[str, RemoteChange]:
        """For the files that commits since `old` changed, the last of these, as far as known."""
        ...

    async def commit(
        self,
        parent: str | None,
        changes: Mapping[str, bytes | None],
        author: tuple[str, str],
        message: str,
    ) -> str | None:
        """A new commit; None where it would change nothing."""
        ...

    async def push(self, old: str | None, new: str) -> bool:
        """Advance the branch, never by force; False where it is not at `old` any more."""
        ...


OpenRemote: TypeAlias = Callable[[RemoteAddress], AbstractAsyncContextManager[RemoteCopy]]


class RemotePolicy(Protocol):
    """What of the network and the machine a remote may be, and its credentials."""

    async def require(self, address: RemoteAddress) -> None:
        """Refuse an address that no sync could open, as far as can be said without the network."""
        ...

    async def seal(self, tx: Transaction, address: RemoteAddress, text: str) -> None:
        """Store the credential, sealed, in the caller's transaction."""
        ...

    async def forget(self, tx: Transaction, source_id: str) -> None:
        """Delete the credential, if there is one."""
        ...


@dataclass(frozen=True, slots=True)
class RemoteAccess:
    """What the app gives the wiki for its remotes."""

    open: OpenRemote
    policy: RemotePolicy
