"""One ref of a git repository as a place that files come from."""

import fcntl
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from mimetypes import guess_type
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from pecia.adapters.connect.scratch import scratch
from pecia.adapters.git.fetch import Credentials, Limits, Trust, fetch
from pecia.adapters.git.repository import Repository
from pecia.adapters.scan import Selection
from pecia.kernel.corpus.connector import (
    LONGEST_KEY_BYTES,
    Listed,
    Original,
    Passed,
    Seen,
    is_keepable,
)
from pecia.kernel.errors import PayloadTooLarge

LOOK_EVERY_S = 0.2


@dataclass(frozen=True, slots=True)
class Checkout:
    """Where a repository is, which of its states counts, and where our copy of it lies."""

    url: str
    ref: str
    subfolder: str
    copy: Path


@dataclass(frozen=True, slots=True)
class GitPlace:
    """The files of one commit. Keys are paths below the subfolder."""

    repository: Repository
    commit: str
    prefix: str
    selection: Selection

    async def listing(self) -> AsyncGenerator[Listed]:
        tree = await self.repository.tree(self.commit)
        touched = await self.repository.last_touched(self.commit)
        for file in tree.files:
            key = file.path.removeprefix(self.prefix)
            if not file.path.startswith(self.prefix) or not self.selection.admits(key):
                continue
            if not is_keepable(key):
                yield Passed(key[:200], f"the path is longer than {LONGEST_KEY_BYTES} bytes")
                continue
            commit = touched.get(file.path)
            yield Seen(
                key,
                stamp=file.oid,
                size_bytes=file.size_bytes,
                modified_at=commit.author.when if commit else None,
                content_type=guess_type(key)[0],
                owner=commit.author.name if commit else None,
            )
        for path, reason in tree.refused.items():
            yield Passed(path, reason)

    @asynccontextmanager
    async def opening(self, key: str, most_bytes: int) -> AsyncGenerator[Original]:
        body = await self.repository.read(self.commit, self.prefix + key)
        if len(body) > most_bytes:
            raise PayloadTooLarge(
                f"the file is larger than {most_bytes} bytes", field="key", max=most_bytes
            )

        def fill(path: Path) -> None:
            path.write_bytes(body)

        async with scratch(fill) as path:
            yield Original(path)


@asynccontextmanager
async def opened(
    checkout: Checkout,
    selection: Selection,
    trust: Trust,
    *,
    credentials: Credentials | None = None,
    limits: Limits | None = None,
) -> AsyncGenerator[GitPlace]:
    """The repository as it is now, fetched."""
    async with _alone(checkout.copy):
        await fetch(checkout.url, checkout.copy, trust, credentials=credentials, limits=limits)
    repository = Repository(checkout.copy)
    commit = await repository.commit(checkout.ref)
    prefix = f"{checkout.subfolder.strip('/')}/" if checkout.subfolder.strip("/") else ""
    yield GitPlace(repository, commit.oid, prefix, selection)


@asynccontextmanager
async def _alone(copy: Path) -> AsyncGenerator[None]:
    """Several jobs read one copy; one at a time brings it up to date. Who dies lets go."""
    handle = await run_sync(_lock_file, copy)
    try:
        while True:
            if await run_sync(_locked, handle):
                break
            await anyio.sleep(LOOK_EVERY_S)
        yield
    finally:
        os.close(handle)


def _lock_file(copy: Path) -> int:
    copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return os.open(
        copy.with_name(f"{copy.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
    )


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
