"""What a feature registers before anything is open. Cheap to import: every command reads it."""

from dataclasses import dataclass

from pecia.kernel.settings.model import SettingsSection


@dataclass(frozen=True, slots=True)
class FeatureRegistration:
    """A feature by name. `build` is `package.module:function`, from a FeatureContext to a Feature;
    resolved when an app opens. None: settings alone."""

    name: str
    build: str | None = None
    settings: tuple[type[SettingsSection], ...] = ()
    migrations: str | None = None
    """The package of its numbered .sql files."""
    is_deferred: bool = False
    """Built with the first use of one of its parts, as they were recorded; for features of ours."""
