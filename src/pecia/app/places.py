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

from pecia.adapters.connect import repository
from pecia.adapters.connect.bounds import Bounds, require_folder
from pecia.adapters.connect.bucket import Address, Bucket
from pecia.adapters.connect.folder import Folder
from pecia.adapters.connect.sign import Keys
from pecia.adapters.connect.site import Site, SiteLimits
from pecia.adapters.git import fetch as git
from pecia.adapters.http.fetch import Fetcher
from pecia.adapters.http.guard import Guard
from pecia.adapters.http.rules import Rules
from pecia.adapters.http.transport import trusting
from pecia.adapters.scan import Links, Selection, real_name
from pecia.adapters.watch import Batch, watch
from pecia.app.spaces import SpaceFolder
from pecia.kernel.corpus.connector import Connector
from pecia.kernel.errors import InvalidInput
from pecia.kernel.settings.load import Settings
from pecia.kernel.store.cluster import Options
from pecia.kernel.store.store import Store
from pecia.rooms.lake.crawl import Connect
from pecia.rooms.lake.credential import Credentials, Login
from pecia.rooms.lake.keeping import RequirePlace
from pecia.rooms.lake.origin import (
    FolderOrigin,
    GitOrigin,
    S3Origin,
    SourceConfig,
    UploadOrigin,
    WebOrigin,
)
from pecia.rooms.lake.reach import Reach, reach_of
from pecia.rooms.lake.settings import LakeSettings
from pecia.rooms.lake.uploads import Uploads
from pecia.rooms.lake.watching import Stirred, Watch
from pecia.rooms.wiki.roots import require_open


def connecting(settings: Settings, store: Store, credentials: Credentials) -> Connect:
    """How to open the place of a source, with what its tenant was given."""
    lake = settings.part(LakeSettings)
    tls = trusting(lake.authorities) if lake.authorities else None
    copies = settings.kernel.home / "repositories"

    @asynccontextmanager
    async def connect(
        tenant_id: UUID, source_id: str, config: SourceConfig
    ) -> AsyncGenerator[Connector]:
        login = await credentials.login(tenant_id, source_id, config.origin)
        reach = await tenant_reach(settings, store, tenant_id)
        guard = Guard(Rules.trusting(reach.hosts))
        match config.origin:
            case FolderOrigin() as origin:
                await run_sync(_require_open, origin, reach)
                yield _folder(origin, config, reach)
            case GitOrigin() as origin:
                copy = copies / str(tenant_id) / _name(origin.url)
                checkout = repository.Checkout(origin.url, origin.ref, origin.subfolder, copy)
                shown = git.Credentials(login.user, login.secret) if login else None
                folders = _bounds(reach, confined=origin.confined).folders
                trust = git.Trust(guard, folders, authorities=lake.authorities)
                async with repository.opened(
                    checkout, _selection(config), trust, credentials=shown
                ) as place:
                    yield place
            case S3Origin() as origin:
                async with Fetcher(guard, tls=tls) as fetcher:
                    yield Bucket(_address(origin), fetcher, _selection(config), _keys(login))
            case WebOrigin() as origin:
                limits = SiteLimits(
                    origin.most_pages,
                    origin.depth,
                    config.most_bytes,
                    lake.page_timeout_s,
                    lake.page_pause_s,
                )
                async with Fetcher(guard, tls=tls) as fetcher:
                    yield Site(
                        origin.url, fetcher, _selection(config), limits, _authorization(login)
                    )
            case UploadOrigin() as origin:
                yield Uploads(store, tenant_id, origin.source_id, _selection(config).admits)

    return connect


def place_check(settings: Settings, store: Store) -> RequirePlace:
    """Whether a crawl could begin with a configuration, as far as can be said without going out."""

    async def require_place(tenant_id: UUID, config: SourceConfig) -> None:
        _selection(config)
        reach = await tenant_reach(settings, store, tenant_id)
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


def watching(settings: Settings, store: Store) -> Watch:
    """How to follow what happens in the folder of a tenant's source."""

    async def watched(tenant_id: UUID, config: SourceConfig) -> AsyncGenerator[Stirred]:
        if not isinstance(config.origin, FolderOrigin):
            raise InvalidInput("only folders are watched", field="source_id")
        origin, follow = config.origin, config.origin.follow_links

        async def opened() -> Folder | SpaceFolder:
            reach = await tenant_reach(settings, store, tenant_id)
            await run_sync(_require_open, origin, reach)
            return _folder(origin, config, reach)

        await opened()
        root = Path(origin.folder)
        async with aclosing(watch(root, _selection(config, follow=follow))) as events:
            async for event in events:
                # What was given may have been taken away since the watching began.
                folder = await opened()
                keys = None
                # Behind links a change may concern other keys as well.
                if isinstance(event, Batch) and not follow:
                    keys = tuple(it.path for it in event.changes)
                yield Stirred(keys, folder)

    return watched


async def tenant_reach(settings: Settings, store: Store, tenant_id: UUID) -> Reach:
    """What a tenant was given; to that of a local install, by its settings as well."""
    own = (settings.kernel.home, Options().system)
    closed = tuple([await run_sync(real_name, it) for it in own])
    reach = replace(await reach_of(store, tenant_id), closed=closed)
    if not reach.is_local:
        return reach
    lake = settings.part(LakeSettings)
    folders = [await run_sync(real_name, Path(it)) for it in lake.folders]
    return replace(
        reach, folders=(*reach.folders, *folders), hosts=(*reach.hosts, *lake.trusted_hosts)
    )


def _bounds(reach: Reach, *, confined: bool) -> Bounds:
    """The owner of a local install may name any folder of the machine, and others what is given."""
    folders = None if reach.is_local and not confined else reach.folders
    return Bounds(folders, reach.closed)


def _bounds_of(origin: FolderOrigin, reach: Reach) -> Bounds:
    if origin.is_space:
        # Its own folder, which `require_open` has below a root: another space is no part of it.
        return Bounds((Path(origin.folder),) if origin.confined else None, reach.closed)
    return _bounds(reach, confined=origin.confined)


def _require_open(origin: FolderOrigin, reach: Reach) -> None:
    """Refuse a folder that is not where its tenant may have one any more."""
    if origin.is_space and origin.confined:
        require_open(Path(origin.folder), reach.space_roots)
    else:
        _bounds_of(origin, reach).require(Path(origin.folder))


def _folder(origin: FolderOrigin, config: SourceConfig, reach: Reach) -> Folder | SpaceFolder:
    selection = _selection(config, follow=origin.follow_links)
    folder = Folder(Path(origin.folder), selection, _bounds_of(origin, reach))
    return SpaceFolder(folder) if origin.is_space else folder


def _address(origin: S3Origin) -> Address:
    return Address(origin.endpoint, origin.bucket, origin.prefix, origin.region, origin.path_style)


def _keys(login: Login | None) -> Keys | None:
    return Keys(login.user, login.secret, login.session) if login else None


def _authorization(login: Login | None) -> dict[str, str]:
    if login is None:
        return {}
    secret = login.secret
    if login.user == "Basic":
        secret = b64encode(secret.encode()).decode()
    return {"authorization": f"{login.user} {secret}"}


def _selection(config: SourceConfig, *, follow: bool = False) -> Selection:
    links = Links.INSIDE if follow else Links.SKIP
    return Selection(config.include, config.exclude, links)


def _name(url: str) -> str:
    return sha256(url.encode()).hexdigest()[:24]
