"""The places that the lake's sources lie in, opened with the adapters that reach them."""

from base64 import b64encode
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from hashlib import sha256
from pathlib import Path
from uuid import UUID

from pecia.adapters.connect import repository
from pecia.adapters.connect.bucket import Address, Bucket
from pecia.adapters.connect.folder import Folder
from pecia.adapters.connect.sign import Keys
from pecia.adapters.connect.site import Site, SiteLimits
from pecia.adapters.git import fetch as git
from pecia.adapters.http.fetch import Fetcher
from pecia.adapters.http.guard import Guard
from pecia.adapters.http.rules import Rules
from pecia.adapters.http.transport import trusting
from pecia.adapters.scan import Links, Selection
from pecia.adapters.watch import Batch, watch
from pecia.app.spaces import SpaceFolder
from pecia.kernel.corpus.connector import Connector
from pecia.kernel.errors import InvalidInput
from pecia.kernel.settings.load import Settings
from pecia.kernel.store.store import Store
from pecia.rooms.lake.credential import Credentials, Login
from pecia.rooms.lake.origin import (
    FolderOrigin,
    GitOrigin,
    S3Origin,
    SourceConfig,
    UploadOrigin,
    WebOrigin,
)
from pecia.rooms.lake.settings import LakeSettings
from pecia.rooms.lake.uploads import Uploads
from pecia.rooms.lake.watching import Stirred


def connecting(
    settings: Settings, store: Store, credentials: Credentials
) -> Callable[[UUID, str, SourceConfig], AbstractAsyncContextManager[Connector]]:
    """How to open the place of a source, with what this installation trusts."""
    lake = settings.part(LakeSettings)
    guard = Guard(Rules.trusting(lake.trusted_hosts))
    trust = git.Trust(guard, folders=_folders(settings), authorities=lake.authorities)
    tls = trusting(lake.authorities) if lake.authorities else None
    copies = settings.kernel.home / "repositories"

    @asynccontextmanager
    async def connect(
        tenant_id: UUID, source_id: str, config: SourceConfig
    ) -> AsyncGenerator[Connector]:
        login = await credentials.login(tenant_id, source_id, config.origin)
        match config.origin:
            case FolderOrigin() as origin:
                yield _folder(origin, config)
            case GitOrigin() as origin:
                copy = copies / str(tenant_id) / _name(origin.url)
                checkout = repository.Checkout(origin.url, origin.ref, origin.subfolder, copy)
                shown = git.Credentials(login.user, login.secret) if login else None
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


def require_sound(config: SourceConfig) -> None:
    """Refuse patterns that mean no path, before a crawl meets them."""
    _selection(config)


async def watching(config: SourceConfig) -> AsyncGenerator[Stirred]:
    """What happens in the folder of a source."""
    if not isinstance(config.origin, FolderOrigin):
        raise InvalidInput("only folders are watched", field="source_id")
    follow = config.origin.follow_links
    selection = _selection(config, follow=follow)
    folder = _folder(config.origin, config)
    async with aclosing(watch(Path(config.origin.folder), selection)) as events:
        async for event in events:
            keys = None
            # Behind links a change may concern other keys as well.
            if isinstance(event, Batch) and not follow:
                keys = tuple(it.path for it in event.changes)
            yield Stirred(keys, folder)


def _folder(origin: FolderOrigin, config: SourceConfig) -> Folder | SpaceFolder:
    folder = Folder(Path(origin.folder), _selection(config, follow=origin.follow_links))
    return SpaceFolder(folder) if origin.is_space else folder


def _folders(settings: Settings) -> tuple[Path, ...]:
    """What repositories may be read from this machine: all, where its owner alone may say so."""
    if settings.kernel.mode == "local":
        return (Path("/"),)
    return tuple(Path(it) for it in settings.part(LakeSettings).folders)


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
