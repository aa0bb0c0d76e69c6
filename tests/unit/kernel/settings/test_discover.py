"""Which configuration files are found, and which are passed by."""

from pathlib import Path

import pytest

from pecia.kernel.settings.layers.environment import read_environment
from pecia.kernel.settings.layers.paths import find_project_file, find_user_file


def config_in(folder: Path) -> Path:
    (folder / ".pecia").mkdir(parents=True)
    path = folder / ".pecia" / "config.yml"
    path.touch()
    return path


def test_the_nearest_project_above_is_found(tmp_path: Path) -> None:
    config_in(tmp_path / "home" / "a")
    near = config_in(tmp_path / "home" / "a" / "b")
    deep = tmp_path / "home" / "a" / "b" / "c" / "d"
    deep.mkdir(parents=True)
    assert find_project_file(deep, home=tmp_path / "home") == near


def test_the_home_itself_is_no_project(tmp_path: Path) -> None:
    config_in(tmp_path)
    inside = tmp_path / "a"
    inside.mkdir()
    assert find_project_file(inside, home=tmp_path) is None
    assert find_project_file(tmp_path, home=tmp_path) is None


def test_nothing_above_the_home_is_a_project(tmp_path: Path) -> None:
    config_in(tmp_path)
    inside = tmp_path / "home" / "a"
    inside.mkdir(parents=True)
    assert find_project_file(inside, home=tmp_path / "home") is None


def test_outside_the_home_the_walk_ends_at_the_root(tmp_path: Path) -> None:
    found = config_in(tmp_path / "srv")
    inside = tmp_path / "srv" / "a"
    inside.mkdir()
    assert find_project_file(inside, home=tmp_path / "home") == found


def test_a_folder_without_the_file_is_passed_by(tmp_path: Path) -> None:
    above = config_in(tmp_path / "a")
    (tmp_path / "a" / "b" / ".pecia").mkdir(parents=True)
    assert find_project_file(tmp_path / "a" / "b", home=tmp_path) == above


def test_the_user_file_lies_in_the_configuration_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert find_user_file() is None
    (tmp_path / "pecia").mkdir()
    (tmp_path / "pecia" / "config.yml").touch()
    assert find_user_file() == tmp_path / "pecia" / "config.yml"


def test_the_environment_is_a_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PECIA_PORT", "1")
    taken = read_environment()
    monkeypatch.setenv("PECIA_PORT", "2")
    assert taken["PECIA_PORT"] == "1"
