"""Lock files: where a server is, and who may serve a home."""

import json
from pathlib import Path

import pytest

from pecia.features.wiki.storage.project_folder import IGNORE_HEADER, IGNORED_LINES
from pecia.interfaces.cli.server.discover import find_running_server
from pecia.interfaces.cli.server.lock import (
    ServerLock,
    claim_home,
    folder_lock_path,
    home_lock_path,
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
    write_lock(home_lock_path(tmp_path), LOCK)
    assert read_lock(home_lock_path(tmp_path)) == LOCK
    assert home_lock_path(tmp_path).stat().st_mode & 0o777 == 0o600


ODD = json.dumps({**LOCK.as_json(), "port": "9"})


@pytest.mark.parametrize("text", ["", "{", "[]", '{"url": "x"}', "7", ODD, "[" * 100_000])
def test_a_lock_that_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    home_lock_path(tmp_path).write_text(text)
    assert read_lock(home_lock_path(tmp_path)) is None


def test_a_lock_of_an_older_version_names_no_machine_and_is_read(tmp_path: Path) -> None:
    facts = {name: value for name, value in LOCK.as_json().items() if name != "hostname"}
    home_lock_path(tmp_path).write_text(json.dumps(facts))
    assert read_lock(home_lock_path(tmp_path)) == LOCK


def test_the_lock_of_a_folder_is_kept_out_of_git(tmp_path: Path) -> None:
    write_folder_lock(tmp_path, LOCK)
    assert json.loads(folder_lock_path(tmp_path).read_text())["home"] == LOCK.home
    assert "server.lock" in (tmp_path / ".pecia" / ".gitignore").read_text().splitlines()


@pytest.mark.parametrize(
    "url",
    [
        "http://203.0.113.9:80",
        "http://127.0.0.1@evil.example",
        "http://127.0.0.1:999999",
        "http://127.0.0.1:x",
        "http://[::1",
        7,
    ],
)
def test_a_folder_that_was_cloned_with_its_lock_points_to_no_other_machine(
    tmp_path: Path, url: object
) -> None:
    write_folder_lock(tmp_path, LOCK)
    told = {**LOCK.as_json(), "url": url}
    folder_lock_path(tmp_path).write_text(json.dumps(told))
    assert read_lock(folder_lock_path(tmp_path)) is None


def test_a_gitignore_that_a_person_wrote_keeps_their_lines_and_gets_ours(tmp_path: Path) -> None:
    (tmp_path / ".pecia").mkdir()
    (tmp_path / ".pecia" / ".gitignore").write_text("mine\n")
    write_folder_lock(tmp_path, LOCK)
    lines = (tmp_path / ".pecia" / ".gitignore").read_text().splitlines()
    assert lines == ["mine", IGNORE_HEADER, *IGNORED_LINES]


def test_a_gitignore_of_an_older_version_gets_the_lines_that_it_lacks(tmp_path: Path) -> None:
    (tmp_path / ".pecia").mkdir()
    ignore = tmp_path / ".pecia" / ".gitignore"
    ignore.write_text(f"{IGNORE_HEADER}\nserver.lock\nmine\n")
    for _ in range(2):
        write_folder_lock(tmp_path, LOCK)
        assert ignore.read_text().splitlines()[:3] == [IGNORE_HEADER, "server.lock", "mine"]
        assert sorted(ignore.read_text().splitlines()) == sorted(
            [IGNORE_HEADER, *IGNORED_LINES, "mine"]
        )


def test_what_a_person_added_to_it_stays_to_the_byte(tmp_path: Path) -> None:
    (tmp_path / ".pecia").mkdir()
    ignore = tmp_path / ".pecia" / ".gitignore"
    theirs = f"{IGNORE_HEADER}\r\nserver.lock\r\nm\xfcll/".encode("latin-1")
    ignore.write_bytes(theirs)
    write_folder_lock(tmp_path, LOCK)
    assert ignore.read_bytes().startswith(theirs + b"\nhistory/\n")


def test_nothing_is_written_through_a_symbolic_link(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / ".pecia").symlink_to(elsewhere)
    with pytest.raises(Conflict, match="symbolic link"):
        write_folder_lock(folder, LOCK)
    assert not [*elsewhere.iterdir()]


def test_no_file_is_made_where_a_link_in_a_cloned_folder_leads(tmp_path: Path) -> None:
    project = tmp_path / "folder" / ".pecia"
    project.mkdir(parents=True)
    (project / ".gitignore").symlink_to(tmp_path / "elsewhere")
    write_folder_lock(tmp_path / "folder", LOCK)
    assert not (tmp_path / "elsewhere").exists()


def test_only_its_own_lock_is_removed_by_an_instance(tmp_path: Path) -> None:
    write_lock(home_lock_path(tmp_path), LOCK)
    assert not remove_lock(home_lock_path(tmp_path), instance="another")
    assert remove_lock(home_lock_path(tmp_path), instance="one")
    assert not remove_lock(home_lock_path(tmp_path), instance="one")


def test_one_process_at_a_time_may_serve_a_home(tmp_path: Path) -> None:
    with claim_home(tmp_path) as first, claim_home(tmp_path) as second:
        assert (first, second) == (True, False)
        assert is_claimed(tmp_path)
    assert not is_claimed(tmp_path)
    with claim_home(tmp_path) as again:
        assert again


def test_a_lock_that_nobody_stands_behind_is_removed_when_it_is_read(tmp_path: Path) -> None:
    write_lock(home_lock_path(tmp_path), LOCK)
    assert find_running_server(tmp_path, limit_s=1) is None
    assert not home_lock_path(tmp_path).exists()


def test_a_lock_that_is_no_lock_is_removed_too(tmp_path: Path) -> None:
    home_lock_path(tmp_path).write_text("{")
    assert find_running_server(tmp_path, limit_s=1) is None
    assert not home_lock_path(tmp_path).exists()


def test_the_lock_of_a_server_that_is_starting_stays(tmp_path: Path) -> None:
    write_lock(home_lock_path(tmp_path), LOCK)
    with claim_home(tmp_path):
        assert find_running_server(tmp_path, limit_s=1) is None
        assert home_lock_path(tmp_path).exists()
