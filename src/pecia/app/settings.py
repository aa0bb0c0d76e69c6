"""Every section of the settings. Imports no feature: cheap for a command that only needs a port."""

from pecia.adapters.embedding.settings import EmbedSettings
from pecia.app.registrations import BUILT_IN_FEATURES
from pecia.kernel.settings.model import SettingsSection

SETTINGS: tuple[type[SettingsSection], ...] = tuple(
    sorted(
        (EmbedSettings, *(it for feature in BUILT_IN_FEATURES for it in feature.settings)),
        key=lambda it: it.section,
    )
)
