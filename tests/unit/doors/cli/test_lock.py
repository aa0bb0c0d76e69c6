"""Lock files: where a server is, and who may serve a home."""

import json
from pathlib import Path

import pytest

from pecia.doors.cli.find import running
from pecia.doors.cli.lock import (
    ServerLock,
    claimed,
    folder_lock,
    home_lock,
    is_claimed,
    read_lock,
    remove_lock,
    write_folder_lock,
    write_lock,
)
from pecia.kernel.errors import Conflict

LOCK = ServerLock(
    url="http://127.0.0.1:9",
    port=9,
    pid=1,
    version="0.1.0",
    home="/home/ana/pecia",
    instance="one",
    started_at="2026-01-01T00:00:00+00:00",
)


def test_a_lock_is_read_as_it_was_written_and_is_its_owners_alone(tmp_path: Path) -> None:
    write_lock(home_lock(tmp_path), LOCK)
    assert read_lock(home_lock(tmp_path)) == LOCK
    assert home_lock(tmp_path).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "{", "[]", '{"url": "x"}', "7"])
def test_a_lock_that_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    home_lock(tmp_path).write_text(text)
    assert read_lock(home_lock(tmp_path)) is None


def test_the_lock_of_a_folder_is_kept_out_of_git(tmp_path: Path) -> None:
    write_folder_lock(tmp_path, LOCK)
    assert json.loads(folder_lock(tmp_path).read_text())["home"] == LOCK.home
    assert "server.lock" in (tmp_path / ".pecia" / ".gitignore").read_text().splitlines()


@pytest.mark.parametrize("url", ["http://203.0.113.9:80", "http://127.0.0.1@evil.example", 7])
def test_a_folder_that_was_cloned_with_its_lock_points_to_no_other_machine(
    tmp_path: Path, url: object
) -> None:
    write_folder_lock(tmp_path, LOCK)
    told = {**LOCK.as_json(), "url": url}
    folder_lock(tmp_path).write_text(json.dumps(told))
    assert read_lock(folder_lock(tmp_path)) is None


def test_a_gitignore_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / ".pecia").mkdir()
    (tmp_path / ".pecia" / ".gitignore").write_text("mine\n")
    write_folder_lock(tmp_path, LOCK)
    assert (tmp_path / ".pecia" / ".gitignore").read_text() == "mine\n"


def test_nothing_is_written_through_a_symbolic_link(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / ".pecia").symlink_to(elsewhere)
    with pytest.raises(Conflict, match="symbolic link"):
        write_folder_lock(folder, LOCK)
    assert not [*elsewhere.iterdir()]


def test_only_its_own_lock_is_removed_by_an_instance(tmp_path: Path) -> None:
    write_lock(home_lock(tmp_path), LOCK)
    assert not remove_lock(home_lock(tmp_path), instance="another")
    assert remove_lock(home_lock(tmp_path), instance="one")
    assert not remove_lock(home_lock(tmp_path), instance="one")


def test_one_process_at_a_time_may_serve_a_home(tmp_path: Path) -> None:
    with claimed(tmp_path) as first, claimed(tmp_path) as second:
        assert (first, second) == (True, False)
        assert is_claimed(tmp_path)
    assert not is_claimed(tmp_path)
    with claimed(tmp_path) as again:
        assert again


def test_a_lock_that_nobody_stands_behind_is_removed_when_it_is_read(tmp_path: Path) -> None:
    write_lock(home_lock(tmp_path), LOCK)
    assert running(tmp_path, limit_s=1) is None
    assert not home_lock(tmp_path).exists()


def test_a_lock_that_is_no_lock_is_removed_too(tmp_path: Path) -> None:
    home_lock(tmp_path).write_text("{")
    assert running(tmp_path, limit_s=1) is None
    assert not home_lock(tmp_path).exists()


def test_the_lock_of_a_server_that_is_starting_stays(tmp_path: Path) -> None:
    write_lock(home_lock(tmp_path), LOCK)
    with claimed(tmp_path):
        assert running(tmp_path, limit_s=1) is None
        assert home_lock(tmp_path).exists()
