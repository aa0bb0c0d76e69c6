"""The rooms of this house, one line each. What a room needs from outside is handed in here."""

from pecia.kernel.room import Room
from pecia.kernel.secrets.keyring import Keyring
from pecia.kernel.settings.load import Settings
from pecia.kernel.settings.model import Part as SettingsPart
from pecia.kernel.store.audit import Ledger
from pecia.kernel.store.migrate import Part
from pecia.kernel.store.store import Store
from pecia.rooms.desk.settings import DeskSettings
from pecia.rooms.hub.settings import HubSettings
from pecia.rooms.lake.room import lake
from pecia.rooms.memory.settings import MemorySettings
from pecia.rooms.office.room import office
from pecia.rooms.wiki.settings import WikiSettings

SETTINGS: tuple[type[SettingsPart], ...] = (DeskSettings, HubSettings, MemorySettings, WikiSettings)

MIGRATIONS: tuple[Part, ...] = ()


def build_rooms(
    settings: Settings, store: Store, ledger: Ledger, keyring: Keyring
) -> tuple[Room, ...]:
    """Every room, in the order of the design."""
    others = (lake(store),)
    purgers = tuple(room.purge for room in others if room.purge)
    return (office(store, ledger, keyring, purgers), *others)
