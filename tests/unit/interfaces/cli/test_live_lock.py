"""Which lock of a folder is followed: a folder may have been cloned, or others may write to it."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from pecia.interfaces.cli.server.discover import find_folder_lock
from pecia.interfaces.cli.server.lock import (
    CLAIM_NAME,
    ServerLock,
    claim_home,
    folder_lock_path,
    home_lock_path,
    write_folder_lock,
    write_lock,
)
from pecia.interfaces.cli.stdio.project_server import find_project

INSTANCE = "one"
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder away")


class Healthy(BaseHTTPRequestHandler):
    """Answers as a server of that instance would, whoever it is."""

    def do_GET(self) -> None:
        body = json.dumps({"instance": INSTANCE}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the output of the tests clean."""


@pytest.fixture
def port() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Healthy) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    (tmp_path / "home").mkdir()
    return tmp_path / "folder"


@pytest.fixture
def lock(folder: Path, port: int) -> ServerLock:
    """What a server of this user says, in its home and in the folder."""
    home = str(folder.parent / "home")
    lock = ServerLock(f"http://127.0.0.1:{port}", port, 1, "0", home, INSTANCE, "2026-01-01")
    write_lock(home_lock_path(Path(home)), lock)
    write_folder_lock(folder, lock)
    return lock


def test_a_lock_that_the_home_confirms_is_followed(folder: Path, lock: ServerLock) -> None:
    with claim_home(Path(lock.home)):
        assert find_folder_lock(folder) == lock


def test_a_lock_is_not_followed_when_nobody_holds_the_home_that_it_names(
    folder: Path, lock: ServerLock
) -> None:
    assert find_folder_lock(folder) is None


def test_a_lock_that_says_another_address_than_the_home_is_not_followed(
    folder: Path, lock: ServerLock, port: int
) -> None:
    write_folder_lock(folder, replace(lock, url=f"http://localhost:{port}"))
    with claim_home(Path(lock.home)):
        assert find_folder_lock(folder) is None


def test_a_home_that_others_could_hold_confirms_nothing(folder: Path, lock: ServerLock) -> None:
    with claim_home(Path(lock.home)):
        (Path(lock.home) / CLAIM_NAME).chmod(0o644)
        assert find_folder_lock(folder) is None


def test_a_home_that_is_none_confirms_nothing(folder: Path, lock: ServerLock) -> None:
    (Path(lock.home) / CLAIM_NAME).mkdir(mode=0o700)
    assert find_folder_lock(folder) is None


@only_root
def test_a_lock_that_another_user_wrote_is_neither_followed_nor_removed(
    folder: Path, lock: ServerLock
) -> None:
    os.chown(folder_lock_path(folder), 12345, 12345)
    assert find_folder_lock(folder) is None
    assert folder_lock_path(folder).exists()


def test_nothing_is_removed_where_a_link_in_a_cloned_folder_leads(
    tmp_path: Path, folder: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "server.lock").write_text("of another program", encoding="utf-8")
    (folder / ".pecia").symlink_to(elsewhere)
    assert find_folder_lock(folder) is None
    assert (elsewhere / "server.lock").exists()


@pytest.mark.parametrize("odd", ["[" * 100_000, "{"])
def test_what_is_no_json_is_removed(folder: Path, odd: str) -> None:
    (folder / ".pecia").mkdir()
    folder_lock_path(folder).write_text(odd, encoding="utf-8")
    assert find_folder_lock(folder) is None
    assert not folder_lock_path(folder).exists()


def test_a_user_is_in_no_project_above_their_home(tmp_path: Path) -> None:
    (tmp_path / ".pecia").mkdir()
    (tmp_path / "ana" / "work").mkdir(parents=True)
    assert find_project(tmp_path / "ana" / "work", home=tmp_path / "ana") is None


@only_root
def test_a_project_that_somebody_made_in_the_folder_of_another_is_none(tmp_path: Path) -> None:
    """As anybody may in `/tmp`."""
    (tmp_path / ".pecia").mkdir()
    home = tmp_path / "nowhere"
    assert find_project(tmp_path, home=home) == tmp_path
    os.chown(tmp_path / ".pecia", 12345, 12345)
    assert find_project(tmp_path, home=home) is None
    os.chown(tmp_path, 12345, 12345)
    assert find_project(tmp_path, home=home) == tmp_path
