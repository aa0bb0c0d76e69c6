"""One ref of a git repository as a place that files come from."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from mimetypes import guess_type
from pathlib import Path
from tempfile import TemporaryDirectory

from anyio.to_thread import run_sync

from pecia.adapters.git.fetch import Credentials, Limits, Trust, fetch
from pecia.adapters.git.repository import Repository
from pecia.adapters.scan import Selection
from pecia.kernel.corpus.connector import Listed, Original, Passed, Seen
from pecia.kernel.errors import PayloadTooLarge


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
        with TemporaryDirectory(prefix="pecia-original-") as scratch:
            path = Path(scratch) / "original"
            await run_sync(path.write_bytes, body)
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
    await fetch(checkout.url, checkout.copy, trust, credentials=credentials, limits=limits)
    repository = Repository(checkout.copy)
    commit = await repository.commit(checkout.ref)
    prefix = f"{checkout.subfolder.strip('/')}/" if checkout.subfolder.strip("/") else ""
    yield GitPlace(repository, commit.oid, prefix, selection)
