"""Every part of the settings of this house. Imports no room: who only needs a port reads this."""

from pecia.adapters.embed.settings import EmbedSettings
from pecia.kernel.settings.model import Part
from pecia.rooms.cascade.settings import CascadeSettings
from pecia.rooms.ckf.settings import CkfSettings
from pecia.rooms.desk.settings import DeskSettings
from pecia.rooms.hub.settings import HubSettings
from pecia.rooms.lake.settings import LakeSettings
from pecia.rooms.memory.settings import MemorySettings
from pecia.rooms.wiki.settings import WikiSettings

SETTINGS: tuple[type[Part], ...] = (
    CascadeSettings,
    CkfSettings,
    DeskSettings,
    EmbedSettings,
    HubSettings,
    LakeSettings,
    MemorySettings,
    WikiSettings,
)
