"""The settings of the cascade feature."""

from pecia.kernel.settings.model import SettingsSection, setting


class CascadeSettings(SettingsSection):
    """Which cascades this server has."""

    section = "cascade"

    manifests: tuple[str, ...] = setting(
        (),
        description="Manifests of cascades, as `name=/path/manifest.json` or the path alone. The "
        "first is the default.",
    )
