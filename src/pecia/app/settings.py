"""Every section of the settings. Imports no feature: cheap for a command that only needs a port."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pecia.app.plugins import (
    BUILT_IN_SETTINGS,
    PluginSettings,
    load_feature_plugins,
    opaque_section,
    plugin_names,
)
from pecia.kernel.settings.layers.values import FlagValue
from pecia.kernel.settings.load import Settings, load_settings
from pecia.kernel.settings.model import SettingsSection

SETTINGS = BUILT_IN_SETTINGS


def load_app_settings(
    *,
    flags: Mapping[str, FlagValue],
    environ: Mapping[str, str],
    project_file: Path | None,
    user_file: Path | None,
) -> Settings:
    """The settings of this program and of its plugins.

    Read twice where there are plugins: first to know which of them are disabled, so that those are
    never imported.
    """

    def load(sections: tuple[type[SettingsSection], ...]) -> Settings:
        return load_settings(
            (*SETTINGS, *sections),
            flags=flags,
            environ=environ,
            project_file=project_file,
            user_file=user_file,
        )

    ours = {it.section for it in SETTINGS}
    installed = plugin_names()
    names = [it for it in installed if it not in ours]
    first = load(tuple(map(opaque_section, names)))
    if not installed:
        return first
    plugins = load_feature_plugins(first.part(PluginSettings).disabled)
    sections = [section for it in plugins.features for section in it.settings]
    rest = {*names} - {it.section for it in sections}
    loaded = load((*sections, *map(opaque_section, sorted(rest))))
    return replace(loaded, warnings=(*loaded.warnings, *plugins.problems))
