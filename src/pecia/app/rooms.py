"""The rooms of this house, one line each. What a room needs from outside is handed in here."""

from pecia.adapters.extract.extractor import open_extractor
from pecia.adapters.extract.model import Limits
from pecia.adapters.git.model import Draft, Signature
from pecia.adapters.git.repository import History
from pecia.app.layers import cascades_of
from pecia.app.memories import memory_room
from pecia.app.packages import ckf_room
from pecia.app.places import connecting, place_check, watching
from pecia.app.spaces import NewFolders, space_roots
from pecia.app.upstreams import upstream_room
from pecia.kernel.corpus.embedder import Embedder
from pecia.kernel.corpus.index.lag import IndexLag
from pecia.kernel.corpus.index.shelf import Shelf
from pecia.kernel.corpus.search import Corpus
from pecia.kernel.errors import Json
from pecia.kernel.room import Room
from pecia.kernel.secrets.keyring import Keyring
from pecia.kernel.settings.load import Settings
from pecia.kernel.store.audit import Ledger
from pecia.kernel.store.migrate import Part
from pecia.kernel.store.store import Store
from pecia.kernel.tool.confirmation import Confirmations
from pecia.rooms.cascade.room import room_over
from pecia.rooms.lake.credential import Credentials
from pecia.rooms.lake.delivery import Deliveries, delivery_job
from pecia.rooms.lake.links import PATH as DOWNLOAD
from pecia.rooms.lake.links import Links
from pecia.rooms.lake.originals import Originals
from pecia.rooms.lake.room import Given, Ways, lake
from pecia.rooms.lake.settings import LakeSettings
from pecia.rooms.office.room import office
from pecia.rooms.wiki.history.port import versions_in
from pecia.rooms.wiki.room import wiki
from pecia.rooms.wiki.settings import WikiSettings

MIGRATIONS: tuple[Part, ...] = (
    Part("ckf", "pecia.rooms.ckf.schema"),
    Part("hub", "pecia.rooms.hub.schema"),
    Part("lake", "pecia.rooms.lake.schema"),
    Part("memory", "pecia.rooms.memory.schema"),
    Part("wiki", "pecia.rooms.wiki.schema"),
)


def build_rooms(
    settings: Settings,
    store: Store,
    ledger: Ledger,
    keyring: Keyring,
    embedder: Embedder | None = None,
    lag: IndexLag | None = None,
) -> tuple[Room, ...]:
    """Every room, in the order of the design."""
    corpus = Corpus(store, Shelf(settings.kernel.home / "index"), embedder, lag=lag)
    roots = space_roots(store)
    cascades = cascades_of(settings, store)
    others = (
        lake(store, corpus, _ways(settings, store, keyring), _given(settings, keyring)),
        ckf_room(settings, store, corpus, cascades),
        room_over(cascades),
        wiki(
            corpus,
            settings.part(WikiSettings),
            versions_in(History.open, Draft, Signature),
            roots,
        ),
        memory_room(settings, corpus),
    )
    purgers = tuple(room.purge for room in others if room.purge)
    rooms = (office(store, ledger, keyring, purgers, NewFolders(roots)), *others)
    return (*rooms, upstream_room(settings, store, keyring, rooms))


def download_links(settings: Settings, keyring: Keyring) -> Links | None:
    """Links to originals, where all they need is set; a local install has it from its keys."""
    kernel = settings.kernel
    given = kernel.download_signing_secret
    is_local = kernel.mode == "local"
    if not is_local and not (given and kernel.public_url and kernel.internal_fetch_token):
        return None

    def secret() -> bytes:
        # Asked when a link is made: rooms are also built without keys, to be described.
        return given.get_secret_value().encode() if given else keyring.sign(DOWNLOAD, b"").mac

    public_url = kernel.public_url or f"http://{kernel.host}:{kernel.port}"
    return Links(secret, public_url, kernel.download_link_ttl_s)


def originals_of(settings: Settings, store: Store, keyring: Keyring) -> Originals:
    """How files are fetched for who has a link."""
    credentials = Credentials(store, keyring)
    connect = connecting(settings, store, credentials)
    deliveries = Deliveries(store, delivery_job(connect))
    links = download_links(settings, keyring)
    return Originals(store, connect, links, credentials, deliveries)


def _given(settings: Settings, keyring: Keyring) -> Given:
    kernel = settings.kernel
    limits: dict[str, Json] = {
        "calls_per_s": kernel.principal_rate_per_s,
        "calls_burst": kernel.principal_burst,
        "request_timeout_s": kernel.request_timeout_s,
        "request_bytes": kernel.body_limit_bytes,
    }
    return Given(kernel.home / "index", download_links(settings, keyring), limits)


def _ways(settings: Settings, store: Store, keyring: Keyring) -> Ways:
    given = settings.part(LakeSettings)
    limits = Limits(children=given.readers)
    credentials = Credentials(store, keyring)
    return Ways(
        connecting(settings, store, credentials),
        lambda: open_extractor(limits),
        watching(settings, store),
        credentials,
        place_check(settings, store),
        Confirmations(store, keyring),
    )
