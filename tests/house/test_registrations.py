"""Every feature is registered once: what lies in its folder is what its registration says."""

from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name

import pytest

from pecia.app.registrations import BUILT_IN_FEATURES
from pecia.kernel.settings.model import SettingsSection

FEATURES = Path(__file__).parents[2] / "src" / "pecia" / "features"
FOLDERS = sorted(it.parent for it in FEATURES.glob("*/__init__.py"))


def sections(folder: Path) -> set[type[SettingsSection]]:
    if not (folder / "settings.py").is_file():
        return set()
    module = import_module(f"pecia.features.{folder.name}.settings")
    found = [it for it in vars(module).values() if isinstance(it, type)]
    return {
        it for it in found if it.__module__ == module.__name__ and issubclass(it, SettingsSection)
    }


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda it: it.name)
def test_the_settings_and_migrations_in_a_folder_are_registered_once(folder: Path) -> None:
    registered = [it for feature in BUILT_IN_FEATURES for it in feature.settings]
    mine = [it for it in registered if it.__module__.startswith(f"pecia.features.{folder.name}.")]
    assert len(mine) == len(set(mine))
    assert set(mine) == sections(folder)
    schema = f"pecia.features.{folder.name}.schema"
    holders = [it.name for it in BUILT_IN_FEATURES if it.migrations == schema]
    assert holders == ([folder.name] if (folder / "schema").is_dir() else [])


@pytest.mark.parametrize("registration", BUILT_IN_FEATURES, ids=lambda it: it.name)
def test_a_builder_is_a_function(registration: object) -> None:
    builder = getattr(registration, "build", None)
    assert builder is None or callable(resolve_name(builder))


def test_names_are_unique() -> None:
    names = [it.name for it in BUILT_IN_FEATURES]
    assert len(names) == len(set(names))
