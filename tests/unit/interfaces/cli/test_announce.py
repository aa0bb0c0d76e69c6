"""What a server says of itself before it has a port, and what finding one costs."""

import json
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest

from pecia.interfaces.cli.server.announcement import announce
from pecia.interfaces.cli.server.discover import find_folder_lock
from pecia.interfaces.cli.server.lock import (
    claim_home,
    folder_lock_path,
    home_lock_path,
    read_lock,
    write_lock,
)
from pecia.interfaces.cli.server.port import reserve_port
from pecia.interfaces.mcp.transport.stdio.relay import refuse_requests
from pecia.kernel.errors import Unavailable


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    (tmp_path / "notes").mkdir()
    return tmp_path / "notes"


def test_a_server_tells_its_home_that_it_starts_and_a_folder_only_where_it_is(
    tmp_path: Path, notes: Path
) -> None:
    with announce(tmp_path, notes) as announcement:
        first = read_lock(home_lock_path(tmp_path))
        assert first is not None
        assert first.port == 0
        assert not (notes / ".pecia").exists()
        reserved = reserve_port("127.0.0.1", 0, exact=True)
        lock = announcement.publish_port(reserved)
        reserved.release()
        assert lock.port > 0
        assert lock.instance == first.instance
        assert read_lock(home_lock_path(tmp_path)) == read_lock(folder_lock_path(notes)) == lock
    assert not home_lock_path(tmp_path).exists()
    assert not folder_lock_path(notes).exists()


def test_the_lock_of_another_server_is_not_taken_away(tmp_path: Path) -> None:
    with announce(tmp_path, None) as first, announce(tmp_path, None) as second:
        assert first.lock.instance != second.lock.instance
        write_lock(home_lock_path(tmp_path), first.lock)
        second.withdraw()
        assert read_lock(home_lock_path(tmp_path)) == first.lock


def test_the_lock_of_a_folder_stays_while_its_server_starts(tmp_path: Path, notes: Path) -> None:
    with claim_home(tmp_path), announce(tmp_path, notes) as announcement:
        reserved = reserve_port("127.0.0.1", 0, exact=True)
        announcement.publish_port(reserved)
        reserved.release()
        assert find_folder_lock(notes) is None
        assert folder_lock_path(notes).exists()
    # The same lock, left by a process that was killed.
    announcement.write()
    assert find_folder_lock(notes) is None
    assert not folder_lock_path(notes).exists()


def test_the_settings_are_known_before_any_feature_is_imported() -> None:
    """An editor gives a server few seconds to have a port, and the features take long to import."""
    program = (
        "import sys; from pecia.interfaces.cli.stdio import project_server; "
        "from pecia.interfaces.cli.commands import start; "
        "from pecia.interfaces.cli.settings import load_settings; "
        "from pecia.interfaces.cli.output.terminal import Terminal; load_settings(Terminal()); "
        "heavy = lambda it: it.startswith(('pecia.app', 'starlette')) or it.endswith('.feature'); "
        "print(*sorted(filter(heavy, sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=50
    )
    # None of these imports a feature: they are tables of names and settings.
    tables = ["pecia.app.plugins", "pecia.app.registrations", "pecia.app.settings"]
    assert done.stdout.split() == ["pecia.app", *tables]


def test_only_a_request_is_answered_where_no_server_is() -> None:
    out = BytesIO()
    frames = [b"[[", b"\n", b'{"method": "notifications/x"}', b'{"id": 7, "method": "initialize"}']
    refuse_requests(
        [*frames, b'{"id": 8, "method": "ping"}'], out, Unavailable("it said: address in use")
    )
    (answer,) = map(json.loads, out.getvalue().splitlines())
    assert (answer["id"], answer["error"]["message"]) == (7, "it said: address in use")
