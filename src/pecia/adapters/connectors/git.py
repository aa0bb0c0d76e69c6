"""The git connector: one ref of a repository."""

import fcntl
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from mimetypes import guess_type
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit
from uuid import UUID

import anyio
from anyio.to_thread import run_sync
from pydantic import Field

from pecia.adapters.connectors.access import (
    egress_guard,
    file_selection,
    folder_bounds,
    require_reachable,
)
from pecia.adapters.connectors.filesystem.bounds import require_folder
from pecia.adapters.connectors.filesystem.scan import FileSelection
from pecia.adapters.connectors.filesystem.temp_file import temp_file
from pecia.adapters.http.url import require_no_key, split_url, without_login
from pecia.kernel.corpus.connector import (
    MAX_KEY_BYTES,
    ListedFile,
    ListingEntry,
    OriginalFile,
    SkippedFile,
    is_storable_key,
)
from pecia.kernel.corpus.connector_kind import (
    ConnectorContext,
    ConnectorKind,
    CredentialFormat,
    LocalOrigin,
    OriginOptions,
    SourceLogin,
)
from pecia.kernel.errors import InvalidFormat, PayloadTooLarge

if TYPE_CHECKING:
    from pecia.adapters.git.fetch import GitCredentials, GitFetchLimits, GitFetchPolicy
    from pecia.adapters.git.repository import Repository

LOCK_POLL_INTERVAL_S = 0.2


@dataclass(frozen=True, slots=True)
class GitCheckout:
    """Where a repository is, which of its states counts, and where our copy of it lies."""

    url: str
    ref: str
    subfolder: str
    clone: Path


@dataclass(frozen=True, slots=True)
class GitConnector:
    """The files of one commit. Keys are paths below the subfolder."""

    repository: "Repository"
    commit: str
    prefix: str
    selection: FileSelection

    async def listing(self) -> AsyncGenerator[ListingEntry]:
        tree = await self.repository.tree(self.commit)
        touched = await self.repository.last_touched(self.commit)
        for file in tree.files:
            key = file.path.removeprefix(self.prefix)
            if not file.path.startswith(self.prefix) or not self.selection.admits(key):
                continue
            if not is_storable_key(key):
                reason = f"the path is longer than {MAX_KEY_BYTES} bytes"
                yield SkippedFile(key[:200], reason, is_failure=True)
                continue
            commit = touched.get(file.path)
            yield ListedFile(
                key,
                stamp=file.oid,
                size_bytes=file.size_bytes,
                modified_at=commit.author.when if commit else None,
                content_type=guess_type(key)[0],
                owner=commit.author.name if commit else None,
            )
        for path, reason in tree.skipped.items():
            yield SkippedFile(path, reason)

    @asynccontextmanager
    async def opening(self, key: str, most_bytes: int) -> AsyncGenerator[OriginalFile]:
        body = await self.repository.read(self.commit, self.prefix + key)
        if len(body) > most_bytes:
            raise PayloadTooLarge(
                f"the file is larger than {most_bytes} bytes", field="key", max=most_bytes
            )

        def fill(path: Path) -> None:
            path.write_bytes(body)

        async with temp_file(fill) as path:
            yield OriginalFile(path)


@asynccontextmanager
async def open_git(
    checkout: GitCheckout,
    selection: FileSelection,
    trust: "GitFetchPolicy",
    *,
    credentials: "GitCredentials | None" = None,
    limits: "GitFetchLimits | None" = None,
) -> AsyncGenerator[GitConnector]:
    """The repository as it is now, fetched."""
    from pecia.adapters.git.fetch import fetch
    from pecia.adapters.git.repository import Repository

    async with hold_clone_lock(checkout.clone):
        await fetch(checkout.url, checkout.clone, trust, credentials=credentials, limits=limits)
    repository = Repository(checkout.clone)
    commit = await repository.commit(checkout.ref)
    prefix = f"{checkout.subfolder.strip('/')}/" if checkout.subfolder.strip("/") else ""
    yield GitConnector(repository, commit.oid, prefix, selection)


@asynccontextmanager
async def hold_clone_lock(copy: Path) -> AsyncGenerator[None]:
    """Several jobs read one copy; one at a time updates it. The lock dies with its process."""
    handle = await run_sync(_open_lock_file, copy)
    try:
        while True:
            if await run_sync(_try_lock, handle):
                break
            await anyio.sleep(LOCK_POLL_INTERVAL_S)
        yield
    finally:
        os.close(handle)


def _open_lock_file(copy: Path) -> int:
    copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return os.open(
        copy.with_name(f"{copy.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
    )


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class GitOrigin(LocalOrigin):
    """One ref of a repository."""

    url: str
    ref: str = "HEAD"
    subfolder: str = ""

    @property
    def local_path(self) -> PurePosixPath | None:
        parts = urlsplit(self.url)
        return PurePosixPath(unquote(parts.path)) if parts.scheme == "file" else None


class GitOptions(OriginOptions):
    git: str | None = Field(default=None, max_length=2000, description="A repository's URL.")
    ref: str | None = Field(default=None, max_length=500, description="With git: what to read.")

    def build_origin(self, source_id: str) -> GitOrigin:
        url = self.git or ""
        parts = split_url(url)
        path = PurePosixPath(unquote(parts.path))
        is_plain = parts.scheme in ("https", "ssh", "file") and parts.password is None
        # In https a user alone is a token as well. A host like `-oProxyCommand=…` is an option.
        is_token = parts.scheme == "https" and parts.username is not None
        is_option = (parts.hostname or "").startswith("-")
        if not is_plain or is_token or is_option or ".." in path.parts or "\0" in unquote(url):
            raise InvalidFormat(
                'Field "git" must be a plain URL that begins with https, ssh or file',
                field="git",
                got=without_login(url),
                expected="https://HOST/PATH, ssh://USER@HOST/PATH or file:///PATH",
                hint="a token is kept sealed: pecia source credential",
            )
        require_no_key(url, field="git", source_id=source_id)
        return GitOrigin(url=url, ref=self.ref or "HEAD")


def copies_folder(home: Path) -> Path:
    """Where the copies of repositories are: a folder for each tenant, named by its id."""
    return home / "repositories"


def tenant_copies(home: Path, tenant_id: UUID) -> Path:
    """The copies of one tenant's repositories."""
    return copies_folder(home) / str(tenant_id)


@asynccontextmanager
async def open_origin(origin: GitOrigin, context: ConnectorContext) -> AsyncGenerator[GitConnector]:
    # Lazy import: libgit2 is for those who have such a source.
    from pecia.adapters.git.fetch import GitCredentials, GitFetchPolicy

    name = sha256(origin.url.encode()).hexdigest()[:24]
    copy = tenant_copies(context.settings.kernel.home, context.tenant_id) / name
    checkout = GitCheckout(origin.url, origin.ref, origin.subfolder, copy)
    login = context.login
    policy = GitFetchPolicy(
        egress_guard(context),
        folder_bounds(context, confined=origin.confined).folders,
        authorities=context.fetch.authorities,
    )
    credentials = GitCredentials(login.user, login.secret) if login else None
    selection = file_selection(context)
    async with open_git(checkout, selection, policy, credentials=credentials) as connector:
        yield connector


async def check_origin(origin: GitOrigin, context: ConnectorContext) -> None:
    if origin.local_path is not None:
        bounds = folder_bounds(context, confined=origin.confined)
        await run_sync(require_folder, Path(origin.local_path), bounds, "git")
    elif urlsplit(origin.url).scheme in ("http", "https"):
        require_reachable(context, origin.url, field="git")


def parse_token(text: str) -> SourceLogin:
    user, colon, secret = text.partition(":")
    return SourceLogin(user, secret) if colon else SourceLogin("token", text)


GIT = ConnectorKind(
    "git",
    "One ref of a git repository.",
    GitOrigin,
    open_origin,
    options=GitOptions,
    credential=CredentialFormat("TOKEN, or USER:TOKEN", parse_token),
    check=check_origin,
)
