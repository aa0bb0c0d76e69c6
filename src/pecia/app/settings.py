"""Every part of the settings. Imports no feature: cheap for a command that only needs a port."""

from pecia.adapters.embedding.settings import EmbedSettings
from pecia.features.cascade.settings import CascadeSettings
from pecia.features.ckf.settings import CkfSettings
from pecia.features.discovery.settings import DiscoverySettings
from pecia.features.hub.settings import HubSettings
from pecia.features.lake.settings import LakeSettings
from pecia.features.memory.settings import MemorySettings
from pecia.features.wiki.settings import WikiSettings
from pecia.kernel.settings.model import SettingsSection

SETTINGS: tuple[type[SettingsSection], ...] = (
    CascadeSettings,
    CkfSettings,
    DiscoverySettings,
    EmbedSettings,
    HubSettings,
    LakeSettings,
    MemorySettings,
    WikiSettings,
)
