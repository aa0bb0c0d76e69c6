"""What a server says of itself before it has a port, and what finding one costs."""

import json
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest

from pecia.doors.cli.announce import announced
from pecia.doors.cli.find import live_lock
from pecia.doors.cli.listen import reserve
from pecia.doors.cli.lock import claimed, folder_lock, home_lock, read_lock, write_lock
from pecia.doors.mcp.stdio import refuse
from pecia.kernel.errors import Unavailable


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    (tmp_path / "notes").mkdir()
    return tmp_path / "notes"


def test_a_server_tells_its_home_that_it_starts_and_a_folder_only_where_it_is(
    tmp_path: Path, notes: Path
) -> None:
    with announced(tmp_path, notes) as announcement:
        first = read_lock(home_lock(tmp_path))
        assert first is not None
        assert first.port == 0
        assert not (notes / ".pecia").exists()
        reserved = reserve("127.0.0.1", 0, exact=True)
        lock = announcement.bound(reserved)
        reserved.let_go()
        assert lock.port > 0
        assert lock.instance == first.instance
        assert read_lock(home_lock(tmp_path)) == read_lock(folder_lock(notes)) == lock
    assert not home_lock(tmp_path).exists()
    assert not folder_lock(notes).exists()


def test_the_lock_of_another_server_is_not_taken_away(tmp_path: Path) -> None:
    with announced(tmp_path, None) as first, announced(tmp_path, None) as second:
        assert first.lock.instance != second.lock.instance
        write_lock(home_lock(tmp_path), first.lock)
        second.withdraw()
        assert read_lock(home_lock(tmp_path)) == first.lock


def test_the_lock_of_a_folder_stays_while_its_server_starts(tmp_path: Path, notes: Path) -> None:
    with claimed(tmp_path), announced(tmp_path, notes) as announcement:
        reserved = reserve("127.0.0.1", 0, exact=True)
        announcement.bound(reserved)
        reserved.let_go()
        assert live_lock(notes) is None
        assert folder_lock(notes).exists()
    # The same lock, left by a process that was killed.
    announcement.tell()
    assert live_lock(notes) is None
    assert not folder_lock(notes).exists()


def test_the_settings_are_known_before_any_room_is_read() -> None:
    """An editor gives a server few seconds to have a port, and the rooms take long to read."""
    program = (
        "import sys; from pecia.doors.cli import seeking, start; "
        "from pecia.doors.cli.configured import settled; "
        "from pecia.doors.cli.terminal import Terminal; settled(Terminal()); "
        "print(*sorted(it for it in sys.modules if it.startswith(('pecia.app', 'starlette'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=50
    )
    assert done.stdout.split() == ["pecia.app", "pecia.app.settings"]


def test_only_a_request_is_answered_where_no_server_is() -> None:
    out = BytesIO()
    frames = [b"[[", b"\n", b'{"method": "notifications/x"}', b'{"id": 7, "method": "initialize"}']
    refuse([*frames, b'{"id": 8, "method": "ping"}'], out, Unavailable("it said: address in use"))
    (answer,) = map(json.loads, out.getvalue().splitlines())
    assert (answer["id"], answer["error"]["message"]) == (7, "it said: address in use")
