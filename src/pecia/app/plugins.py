"""Plugins: features and connectors of other packages, found by their entry points.

A plugin that fails is left out and said by name. One that takes a name of ours stops the start.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from pecia.adapters.embedding.settings import EmbedSettings
from pecia.app.registrations import BUILT_IN_FEATURES
from pecia.kernel.errors import Conflict
from pecia.kernel.registration import FeatureRegistration
from pecia.kernel.settings.catalog import build_catalog
from pecia.kernel.settings.kernel import KernelSettings
from pecia.kernel.settings.model import SettingsSection, setting

FEATURE_GROUP = "pecia.features"
CONNECTOR_GROUP = "pecia.connectors"

# Toolsets and database schemas beside those of features.
OTHER_NAMES = ("all", "cipher", "conformance", "office", "kernel", "jobs", "public")

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")

T = TypeVar("T")


class PluginSettings(SettingsSection):
    """Which plugins are used."""

    section = "plugins"

    disabled: tuple[str, ...] = setting(
        (),
        description="Installed plugins that are not loaded, by the names of their entry points. "
        "Their data stays.",
    )


BUILT_IN_SETTINGS: tuple[type[SettingsSection], ...] = tuple(
    sorted(
        (
            EmbedSettings,
            PluginSettings,
            *(it for feature in BUILT_IN_FEATURES for it in feature.settings),
        ),
        key=lambda it: it.section,
    )
)


@dataclass(frozen=True, slots=True)
class FeaturePlugins:
    """The features of plugins, and why others are left out."""

    features: tuple[FeatureRegistration, ...] = ()
    problems: tuple[str, ...] = ()


class PluginError(Exception):
    """Why one plugin is left out."""


def plugin_names() -> tuple[str, ...]:
    """The names of the feature plugins that are installed. Imports none."""
    return tuple(sorted({it.name for it in entry_points(group=FEATURE_GROUP)}))


@cache
def load_feature_plugins(disabled: tuple[str, ...]) -> FeaturePlugins:
    """The registrations of installed feature plugins that are not disabled."""
    taken = {it.name for it in BUILT_IN_FEATURES}
    taken |= {*KernelSettings.model_fields, *OTHER_NAMES}
    taken |= {it.section for it in BUILT_IN_SETTINGS}
    sections = [KernelSettings, *BUILT_IN_SETTINGS]

    def load(entry: EntryPoint) -> FeatureRegistration:
        found = entry.load()
        if not isinstance(found, FeatureRegistration):
            raise PluginError(f"{entry.value} is no FeatureRegistration")
        if found.name != entry.name:
            raise PluginError(f"it registers {found.name!r} under the name {entry.name!r}")
        if wrong := [it.section for it in found.settings if it.section != found.name]:
            raise PluginError(f"its settings have the section {wrong[0]!r}, not {found.name!r}")
        # Refuses a variable or key that another setting has.
        build_catalog([*sections, *found.settings])
        sections.extend(found.settings)
        return found

    loaded, problems = load_entries(FEATURE_GROUP, disabled, taken, load)
    return FeaturePlugins(tuple(loaded), tuple(problems))


def load_entries(
    group: str,
    disabled: Sequence[str],
    taken: Iterable[str],
    load: Callable[[EntryPoint], T],
) -> tuple[list[T], list[str]]:
    """What the entry points of a group give, in order of name, and why others give nothing."""
    loaded: list[T] = []
    problems: list[str] = []
    seen: set[str] = set()
    for entry in sorted(entry_points(group=group), key=lambda it: (it.name, it.value)):
        if entry.name in disabled:
            continue
        if entry.name in taken:
            raise refuse_clash(entry.name, f"{entry.name!r} is a name of Pecia's own")
        try:
            if not _NAME.fullmatch(entry.name):
                raise PluginError("its name is not a lower-case word of at most 40 characters")
            if entry.name in seen:
                raise PluginError(f"another plugin is called {entry.name!r} too: {entry.value}")
            seen.add(entry.name)
            loaded.append(load(entry))
        except Conflict:
            raise
        # Code of others: whatever it raises is its own, and it does not end the server.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            problems.append(describe_problem(entry.name, error))
    return loaded, problems


def describe_problem(name: str, error: BaseException) -> str:
    """One line for the log and the warnings of the settings."""
    reason = str(error) if isinstance(error, PluginError) else f"{type(error).__name__}: {error}"
    return f"plugin {name!r} is left out: {reason}. {_remedy(name)}"


def refuse_clash(name: str, reason: str) -> Conflict:
    """The error for a plugin that would take something of ours."""
    return Conflict(f"plugin {name!r} cannot be used: {reason}. {_remedy(name)}", plugin=name)


def opaque_section(name: str) -> type[SettingsSection]:
    """Stands for the settings of a plugin that is not loaded: they are no mistake in a file."""
    return type(f"Opaque{name}", (SettingsSection,), {"section": name, "live": frozenset({name})})


def _remedy(name: str) -> str:
    return f"To start without it: plugins.disabled, or PECIA_PLUGINS_DISABLED={name}"
