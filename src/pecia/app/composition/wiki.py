"""The folder of a space: where it may lie, and as a place that files come from.

What its ignore files leave out stays out: the wiki shows no document that they leave out, so search
must not find its words.
"""

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path, PurePosixPath
from uuid import UUID

from anyio.to_thread import run_sync

from pecia.adapters.connectors.access import file_selection
from pecia.adapters.connectors.filesystem.bounds import ANYWHERE, FolderBounds, require_folder
from pecia.adapters.connectors.folder import FolderConnector, watch_changes
from pecia.features.lake.allowlist import load_allowlist
from pecia.features.wiki.core.ignore import IgnoreRules
from pecia.features.wiki.feature import WikiRemotes, wiki_feature
from pecia.features.wiki.history.port import VersionRepository
from pecia.features.wiki.remote.port import RemoteAccess, RemoteAddress, RemoteCopy
from pecia.features.wiki.settings import WikiSettings
from pecia.features.wiki.storage.folder_claim import FolderClaims, Installation
from pecia.features.wiki.storage.roots import SpaceRoots, require_open
from pecia.features.wiki.storage.scan import load_ignore_rules
from pecia.kernel.corpus.connector import ListedFile, ListingEntry, OriginalFile, SkippedFile
from pecia.kernel.corpus.connector_kind import ConnectorContext, ConnectorKind, LocalOrigin
from pecia.kernel.errors import NotFound
from pecia.kernel.feature import Feature, FeatureContext
from pecia.kernel.on_demand import OnDemand
from pecia.kernel.store.store import Store, Transaction
from pecia.kernel.tool.confirmation import Confirmations

IGNORED_REASON = "an ignore file of the space leaves it out"


def build_wiki(context: FeatureContext) -> Feature:
    """The wiki, with its history in git."""
    return wiki_feature(
        context.corpus,
        context.settings.part(WikiSettings),
        open_history,
        build_space_roots(context.store, _folder_claims(context)),
        WikiRemotes(_remote_access(context), Confirmations(context.store, context.keyring)),
    )


async def open_history(folder: Path) -> VersionRepository:
    """The versions of a space, in git: imported with the first space that is opened."""
    await run_sync(import_module, "pecia.adapters.git.repository")
    from pecia.adapters.git.repository import HistoryRepository

    return await HistoryRepository.open(folder)


@dataclass(frozen=True, slots=True)
class RemotesOnDemand:
    """The git remotes of spaces, imported with the first use of one."""

    access: OnDemand[RemoteAccess]

    @asynccontextmanager
    async def open(self, address: RemoteAddress) -> AsyncGenerator[RemoteCopy]:
        async with (await self.access.load()).open(address) as copy:
            yield copy

    async def require(self, address: RemoteAddress) -> None:
        await (await self.access.load()).policy.require(address)

    async def seal(self, tx: Transaction, address: RemoteAddress, text: str) -> None:
        await (await self.access.load()).policy.seal(tx, address, text)

    async def forget(self, tx: Transaction, source_id: str) -> None:
        await (await self.access.load()).policy.forget(tx, source_id)


def _remote_access(context: FeatureContext) -> RemoteAccess:
    remotes = RemotesOnDemand(
        OnDemand("pecia.app.composition.wiki_remote:build_remote_access", context)
    )
    return RemoteAccess(remotes.open, remotes)


def _folder_claims(context: FeatureContext) -> FolderClaims:
    kernel = context.settings.kernel
    home = Path(os.path.realpath(kernel.home))
    return FolderClaims(
        Installation(context.store, home, has_own_cluster=kernel.database_url is None)
    )


def build_space_roots(store: Store, claims: FolderClaims | None = None) -> SpaceRoots:
    """Where tenants may have spaces, as their operator says now."""

    async def roots_of(tenant_id: UUID) -> Sequence[Path]:
        return (await load_allowlist(store, tenant_id)).space_roots

    return SpaceRoots(store, roots_of, claims)


@dataclass(frozen=True, slots=True)
class SpaceFolderCheck:
    """Folders that shall become spaces."""

    roots: SpaceRoots

    async def admit(self, tenant_id: UUID, folder: str) -> str:
        return await self.roots.admit(tenant_id, folder)

    async def resolve(self, folder: str) -> str:
        return await run_sync(os.path.realpath, folder)

    async def claim(self, folder: str) -> None:
        await self.roots.claim(folder)

    async def release(self, folder: str) -> None:
        await self.roots.release(folder)

    async def require(self, folder: str) -> None:
        """Refuse what is not there, no folder, or closed to this server."""
        await run_sync(require_folder, Path(folder), ANYWHERE, "folder")


@dataclass(frozen=True, slots=True)
class SpaceConnector:
    """One space."""

    folder: FolderConnector

    async def listing(self) -> AsyncGenerator[ListingEntry]:
        left_out = _IgnoreRules(self.folder)
        async for it in self.folder.listing():
            is_out = isinstance(it, ListedFile) and await left_out.has(it.key)
            yield SkippedFile(it.key, IGNORED_REASON) if is_out else it

    async def stat_many(self, keys: Sequence[str]) -> list[ListingEntry]:
        left_out = _IgnoreRules(self.folder)
        return [it for it in await self.folder.stat_many(keys) if not await left_out.has(it.key)]

    @asynccontextmanager
    async def opening(self, key: str, most_bytes: int) -> AsyncGenerator[OriginalFile]:
        if await _IgnoreRules(self.folder).has(key):
            raise NotFound(IGNORED_REASON, key=key)
        async with self.folder.opening(key, most_bytes) as original:
            yield original

    async def read_many(self, keys: Sequence[str], most_bytes: int) -> dict[str, bytes]:
        left_out = _IgnoreRules(self.folder)
        kept = [it for it in keys if not await left_out.has(it)]
        return await self.folder.read_many(kept, most_bytes)


class SpaceOrigin(LocalOrigin):
    """The folder of a space: the whole configuration of a source that is a wiki."""

    folder: str

    @property
    def local_path(self) -> PurePosixPath:
        return PurePosixPath(self.folder)


@asynccontextmanager
async def open_space(
    origin: SpaceOrigin, context: ConnectorContext
) -> AsyncGenerator[SpaceConnector]:
    """The space, if its folder still is where its tenant may have one."""
    root, allowed = Path(origin.folder), context.allowlist
    # Its own folder, which `require_open` has below a root: another space is no part of it.
    bounds = FolderBounds((root,) if origin.confined else None, allowed.closed)
    if origin.confined:
        await run_sync(require_open, root, allowed.space_roots)
    else:
        await run_sync(bounds.require, root)
    yield SpaceConnector(FolderConnector(root, file_selection(context), bounds))


def watch_space(
    origin: SpaceOrigin, context: ConnectorContext
) -> AsyncGenerator[tuple[str, ...] | None]:
    return watch_changes(Path(origin.folder), file_selection(context))


SPACE = ConnectorKind(
    "space",
    "The folder of a wiki space.",
    SpaceOrigin,
    open_space,
    watch=watch_space,
    has_posix=True,
)


@dataclass(slots=True)
class _IgnoreRules:
    """What the ignore files say now; those of each folder are read once."""

    folder: FolderConnector
    known: dict[str, IgnoreRules] = field(default_factory=dict[str, IgnoreRules])

    async def has(self, key: str) -> bool:
        above = key.rpartition("/")[0]
        if above not in self.known:
            self.known[above] = await run_sync(load_ignore_rules, self.folder.root, key)
        # By the lines alone: the lake reads what tools have built, unless somebody says otherwise.
        return self.known[above].is_path_matched(key)
