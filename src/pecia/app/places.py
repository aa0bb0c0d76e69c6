"""The places that the lake's sources lie in, opened with the adapters that reach them."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from hashlib import sha256
from pathlib import Path
from uuid import UUID

from pecia.adapters.connect import repository
from pecia.adapters.connect.folder import Folder
from pecia.adapters.connect.site import Site, SiteLimits
from pecia.adapters.git.fetch import Trust
from pecia.adapters.http.fetch import Fetcher
from pecia.adapters.http.guard import Guard
from pecia.adapters.http.rules import Rules
from pecia.adapters.scan import Links, Selection
from pecia.adapters.watch import watch
from pecia.kernel.corpus.connector import Connector
from pecia.kernel.errors import InvalidInput
from pecia.kernel.settings.load import Settings
from pecia.kernel.store.store import Store
from pecia.rooms.lake.origin import (
    FolderOrigin,
    GitOrigin,
    SourceConfig,
    UploadOrigin,
    WebOrigin,
)
from pecia.rooms.lake.settings import LakeSettings
from pecia.rooms.lake.uploads import Uploads


def connecting(
    settings: Settings, store: Store
) -> Callable[[UUID, SourceConfig], AbstractAsyncContextManager[Connector]]:
    """How to open the place of a source, with what this installation trusts."""
    lake = settings.part(LakeSettings)
    guard = Guard(Rules.trusting(lake.trusted_hosts))
    trust = Trust(guard, folders=tuple(Path(it) for it in lake.folders))
    copies = settings.kernel.home / "repositories"

    @asynccontextmanager
    async def connect(tenant_id: UUID, config: SourceConfig) -> AsyncGenerator[Connector]:
        match config.origin:
            case FolderOrigin() as origin:
                yield Folder(Path(origin.folder), _selection(config, follow=origin.follow_links))
            case GitOrigin() as origin:
                copy = copies / str(tenant_id) / _name(origin.url)
                copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                checkout = repository.Checkout(origin.url, origin.ref, origin.subfolder, copy)
                async with repository.opened(checkout, _selection(config), trust) as place:
                    yield place
            case WebOrigin() as origin:
                limits = SiteLimits(origin.most_pages, origin.depth, config.most_bytes)
                async with Fetcher(guard) as fetcher:
                    yield Site(origin.url, fetcher, _selection(config), limits)
            case UploadOrigin() as origin:
                yield Uploads(store, tenant_id, origin.source_id, _selection(config).admits)

    return connect


def watching(config: SourceConfig) -> AsyncGenerator[object]:
    """What happens in the folder of a source."""
    if not isinstance(config.origin, FolderOrigin):
        raise InvalidInput("only folders are watched", field="source_id")
    selection = _selection(config, follow=config.origin.follow_links)
    return watch(Path(config.origin.folder), selection)


def _selection(config: SourceConfig, *, follow: bool = False) -> Selection:
    links = Links.INSIDE if follow else Links.SKIP
    return Selection(config.include, config.exclude, links)


def _name(url: str) -> str:
    return sha256(url.encode()).hexdigest()[:24]
