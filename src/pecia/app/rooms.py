"""The rooms of this house, one line each. What a room needs from outside is handed in here."""

from pecia.adapters.embed.settings import EmbedSettings
from pecia.adapters.extract.extractor import open_extractor
from pecia.adapters.extract.model import Limits
from pecia.app.layers import cascade_room
from pecia.app.places import connecting, watching
from pecia.kernel.corpus.embedder import Embedder
from pecia.kernel.corpus.index.shelf import Shelf
from pecia.kernel.corpus.search import Corpus
from pecia.kernel.room import Room
from pecia.kernel.secrets.keyring import Keyring
from pecia.kernel.settings.load import Settings
from pecia.kernel.settings.model import Part as SettingsPart
from pecia.kernel.store.audit import Ledger
from pecia.kernel.store.migrate import Part
from pecia.kernel.store.store import Store
from pecia.rooms.cascade.settings import CascadeSettings
from pecia.rooms.ckf.room import ckf
from pecia.rooms.desk.settings import DeskSettings
from pecia.rooms.hub.settings import HubSettings
from pecia.rooms.lake.room import Ways, lake
from pecia.rooms.lake.settings import LakeSettings
from pecia.rooms.memory.settings import MemorySettings
from pecia.rooms.office.room import office
from pecia.rooms.wiki.settings import WikiSettings

SETTINGS: tuple[type[SettingsPart], ...] = (
    CascadeSettings,
    DeskSettings,
    EmbedSettings,
    HubSettings,
    LakeSettings,
    MemorySettings,
    WikiSettings,
)

MIGRATIONS: tuple[Part, ...] = (Part("lake", "pecia.rooms.lake.schema"),)


def build_rooms(
    settings: Settings,
    store: Store,
    ledger: Ledger,
    keyring: Keyring,
    embedder: Embedder | None = None,
) -> tuple[Room, ...]:
    """Every room, in the order of the design."""
    corpus = Corpus(store, Shelf(settings.kernel.home / "index"), embedder)
    others = (
        lake(store, corpus, _ways(settings)),
        ckf(settings.kernel.public_url or f"http://{settings.kernel.host}:{settings.kernel.port}"),
        cascade_room(settings, store),
    )
    purgers = tuple(room.purge for room in others if room.purge)
    return (office(store, ledger, keyring, purgers), *others)


def _ways(settings: Settings) -> Ways:
    given = settings.part(LakeSettings)
    limits = Limits(children=given.readers)
    return Ways(connecting(settings), lambda: open_extractor(limits), watching, given.folders)
