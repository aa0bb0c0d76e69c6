"""The ckf room of a server, with what it needs from outside handed in: the corpus and the web."""

from pecia.adapters.http.fetch import Fetcher, Limits
from pecia.adapters.http.guard import Guard
from pecia.adapters.http.rules import Rules
from pecia.app.models import provider_models
from pecia.kernel.corpus.search import Corpus
from pecia.kernel.errors import UpstreamError
from pecia.kernel.room import Room
from pecia.kernel.settings.load import Settings
from pecia.kernel.store.store import Store
from pecia.rooms.cascade.cascades import Cascades
from pecia.rooms.cascade.resources import Shelf
from pecia.rooms.ckf.compiling import ReadSource
from pecia.rooms.ckf.library_sources import StoredFiles, stored_sources, with_concepts
from pecia.rooms.ckf.library_store import StoredLibrary
from pecia.rooms.ckf.llm.quota import StoredLedger
from pecia.rooms.ckf.llm.tool import Asking
from pecia.rooms.ckf.pages.desk import Outside
from pecia.rooms.ckf.room import ckf
from pecia.rooms.ckf.settings import CkfSettings
from pecia.rooms.lake.settings import LakeSettings
from pecia.rooms.lake.uri import file_uri, read_uri

LARGEST_PACKAGE = 2_000_000
FETCH_S = 10.0


def ckf_room(
    settings: Settings,
    store: Store,
    corpus: Corpus | None = None,
    cascades: Cascades | None = None,
) -> Room:
    """The room over what is stored here."""
    kernel, llm = settings.kernel, settings.part(CkfSettings)
    # Whoever calls names the address, of whichever tenant: on a server none is trusted for all.
    own = settings.part(LakeSettings).trusted_hosts if kernel.mode == "local" else ()
    guard = Guard(Rules.trusting(own))

    async def fetch(url: str) -> bytes:
        limits = Limits(max_bytes=LARGEST_PACKAGE, timeout_s=FETCH_S)
        async with Fetcher(guard) as fetcher:
            found = await fetcher.fetch(url, limits=limits)
        if found.status != 200:
            raise UpstreamError(f"{url} answered {found.status}", status=found.status)
        return found.body

    return ckf(
        kernel.public_url or f"http://{kernel.host}:{kernel.port}",
        _sources(store, cascades),
        StoredLibrary(store, corpus),
        Outside("ckf" in kernel.public_rooms, fetch, StoredFiles(store, file_uri)),
        Asking(provider_models(llm), llm, StoredLedger(store)),
    )


def _sources(store: Store, cascades: Cascades | None) -> ReadSource:
    """Reads files and documents by `pecia://file/…`, and concepts by `okf://…`."""
    files = stored_sources(store, _address)
    if cascades is None:
        return files
    return with_concepts(files, Shelf(cascades).text)


def _address(uri: str) -> tuple[str, str]:
    found = read_uri(uri)
    return found.source_id, found.key
