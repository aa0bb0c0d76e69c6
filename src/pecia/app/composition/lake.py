"""The places that the lake's sources lie in, opened with the adapters that reach them."""

from base64 import b64encode
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote, urlsplit
from uuid import UUID

from anyio.to_thread import run_sync

from pecia.adapters.connectors import git as repository
from pecia.adapters.connectors.filesystem.bounds import FolderBounds, require_folder
from pecia.adapters.connectors.filesystem.scan import FileSelection, SymlinkPolicy, resolve_path
from pecia.adapters.connectors.filesystem.watch import FolderChangeBatch, watch_folder
from pecia.adapters.connectors.folder import FolderConnector
from pecia.adapters.connectors.s3 import BucketAddress, S3Connector
from pecia.adapters.connectors.web import CrawlLimits, WebConnector
from pecia.adapters.git import fetch as git
from pecia.adapters.http.egress_rules import EgressRules
from pecia.adapters.http.fetch import Fetcher
from pecia.adapters.http.guard import EgressGuard
from pecia.adapters.http.sigv4 import AwsKeys
from pecia.adapters.http.transport import build_tls_context
from pecia.app.composition.wiki import SpaceConnector
from pecia.features.lake.allowlist import TenantAllowlist, load_allowlist
from pecia.features.lake.crawl.crawler import OpenConnector
from pecia.features.lake.crawl.watcher import FolderChange, WatchFolder
from pecia.features.lake.credentials import SourceCredentials, SourceLogin
from pecia.features.lake.model import (
    FolderOrigin,
    GitOrigin,
    S3Origin,
    SourceConfig,
    UploadOrigin,
    WebOrigin,
)
from pecia.features.lake.settings import LakeSettings
from pecia.features.lake.tools.sources import RequireOrigin
from pecia.features.lake.tools.uploads import UploadConnector
from pecia.features.wiki.storage.roots import require_open
from pecia.kernel.corpus.connector import Connector
from pecia.kernel.errors import InvalidInput
from pecia.kernel.settings.load import Settings
from pecia.kernel.store.cluster import ClusterOptions
from pecia.kernel.store.store import Store


def build_connector_factory(
    settings: Settings, store: Store, credentials: SourceCredentials
) -> OpenConnector:
    """How to open the place of a source, with what its tenant was given."""
    lake = settings.part(LakeSettings)
    tls = build_tls_context(lake.authorities) if lake.authorities else None
    copies = settings.kernel.home / "repositories"

    @asynccontextmanager
    async def connect(
        tenant_id: UUID, source_id: str, config: SourceConfig
    ) -> AsyncGenerator[Connector]:
        login = await credentials.login(tenant_id, source_id, config.origin)
        reach = await load_effective_allowlist(settings, store, tenant_id)
        guard = EgressGuard(EgressRules.from_trusted_hosts(reach.hosts))
        match config.origin:
            case FolderOrigin() as origin:
                await run_sync(_require_allowed, origin, reach)
                yield _folder(origin, config, reach)
            case GitOrigin() as origin:
                copy = copies / str(tenant_id) / _clone_folder_name(origin.url)
                checkout = repository.GitCheckout(origin.url, origin.ref, origin.subfolder, copy)
                shown = git.GitCredentials(login.user, login.secret) if login else None
                folders = _bounds(reach, confined=origin.confined).folders
                trust = git.GitFetchPolicy(guard, folders, authorities=lake.authorities)
                async with repository.open_git(
                    checkout, _selection(config), trust, credentials=shown
                ) as place:
                    yield place
            case S3Origin() as origin:
                async with Fetcher(guard, tls=tls) as fetcher:
                    yield S3Connector(_address(origin), fetcher, _selection(config), _keys(login))
            case WebOrigin() as origin:
                limits = CrawlLimits(
                    origin.most_pages,
                    origin.depth,
                    config.most_bytes,
                    lake.page_timeout_s,
                    lake.page_pause_s,
                )
                async with Fetcher(guard, tls=tls) as fetcher:
                    yield WebConnector(
                        origin.url, fetcher, _selection(config), limits, _authorization(login)
                    )
            case UploadOrigin() as origin:
                yield UploadConnector(store, tenant_id, origin.source_id, _selection(config).admits)

    return connect


def build_origin_check(settings: Settings, store: Store) -> RequireOrigin:
    """Whether a crawl could begin with a configuration, as far as can be said without going out."""

    async def require_place(tenant_id: UUID, config: SourceConfig) -> None:
        _selection(config)
        reach = await load_effective_allowlist(settings, store, tenant_id)
        match config.origin:
            case FolderOrigin() as origin if not origin.is_space:
                bounds = _bounds_of(origin, reach)
                await run_sync(require_folder, Path(origin.folder), bounds, "folder")
            case GitOrigin() as origin if urlsplit(origin.url).scheme == "file":
                bounds = _bounds(reach, confined=origin.confined)
                path = Path(unquote(urlsplit(origin.url).path))
                await run_sync(require_folder, path, bounds, "git")
            case _:
                pass

    return require_place


def build_folder_watch(settings: Settings, store: Store) -> WatchFolder:
    """How to follow what happens in the folder of a tenant's source."""

    async def watched(tenant_id: UUID, config: SourceConfig) -> AsyncGenerator[FolderChange]:
        if not isinstance(config.origin, FolderOrigin):
            raise InvalidInput("only folders are watched", field="source_id")
        origin, follow = config.origin, config.origin.follow_links

        async def opened() -> FolderConnector | SpaceConnector:
            reach = await load_effective_allowlist(settings, store, tenant_id)
            await run_sync(_require_allowed, origin, reach)
            return _folder(origin, config, reach)

        await opened()
        root = Path(origin.folder)
        async with aclosing(watch_folder(root, _selection(config, follow=follow))) as events:
            async for event in events:
                # What was given may have been taken away since the watching began.
                folder = await opened()
                keys = None
                # Behind links a change may concern other keys as well.
                if isinstance(event, FolderChangeBatch) and not follow:
                    keys = tuple(it.path for it in event.changes)
                yield FolderChange(keys, folder)

    return watched


async def load_effective_allowlist(
    settings: Settings, store: Store, tenant_id: UUID
) -> TenantAllowlist:
    """What a tenant was given; to that of a local install, by its settings as well."""
    own = (settings.kernel.home, ClusterOptions().system)
    closed = tuple([await run_sync(resolve_path, it) for it in own])
    reach = replace(await load_allowlist(store, tenant_id), closed=closed)
    if not reach.is_local:
        return reach
    lake = settings.part(LakeSettings)
    folders = [await run_sync(resolve_path, Path(it)) for it in lake.folders]
    return replace(
        reach, folders=(*reach.folders, *folders), hosts=(*reach.hosts, *lake.trusted_hosts)
    )


def _bounds(reach: TenantAllowlist, *, confined: bool) -> FolderBounds:
    """The owner of a local install may name any folder of the machine, and others what is given."""
    folders = None if reach.is_local and not confined else reach.folders
    return FolderBounds(folders, reach.closed)


def _bounds_of(origin: FolderOrigin, reach: TenantAllowlist) -> FolderBounds:
    if origin.is_space:
        # Its own folder, which `require_open` has below a root: another space is no part of it.
        return FolderBounds((Path(origin.folder),) if origin.confined else None, reach.closed)
    return _bounds(reach, confined=origin.confined)


def _require_allowed(origin: FolderOrigin, reach: TenantAllowlist) -> None:
    """Refuse a folder that is not where its tenant may have one any more."""
    if origin.is_space and origin.confined:
        require_open(Path(origin.folder), reach.space_roots)
    else:
        _bounds_of(origin, reach).require(Path(origin.folder))


def _folder(
    origin: FolderOrigin, config: SourceConfig, reach: TenantAllowlist
) -> FolderConnector | SpaceConnector:
    selection = _selection(config, follow=origin.follow_links)
    folder = FolderConnector(Path(origin.folder), selection, _bounds_of(origin, reach))
    return SpaceConnector(folder) if origin.is_space else folder


def _address(origin: S3Origin) -> BucketAddress:
    return BucketAddress(
        origin.endpoint, origin.bucket, origin.prefix, origin.region, origin.path_style
    )


def _keys(login: SourceLogin | None) -> AwsKeys | None:
    return AwsKeys(login.user, login.secret, login.session) if login else None


def _authorization(login: SourceLogin | None) -> dict[str, str]:
    if login is None:
        return {}
    secret = login.secret
    if login.user == "Basic":
        secret = b64encode(secret.encode()).decode()
    return {"authorization": f"{login.user} {secret}"}


def _selection(config: SourceConfig, *, follow: bool = False) -> FileSelection:
    links = SymlinkPolicy.INSIDE if follow else SymlinkPolicy.SKIP
    return FileSelection(config.include, config.exclude, links)


def _clone_folder_name(url: str) -> str:
    return sha256(url.encode()).hexdigest()[:24]
