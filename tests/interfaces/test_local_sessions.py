"""Sessions of the owner's browsers in the home: over a restart, and no longer than they should."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from pecia.app.local_owner import SESSION_TTL_S, SESSIONS_FILE, LocalOwner
from pecia.kernel.errors import AuthRequired

TOKEN = "peciaown_of-this-home"


@dataclass
class Clock:
    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def begin(home: Path, clock: Clock, token: str = TOKEN) -> LocalOwner:
    """As a server that starts does."""
    return LocalOwner(token, home, clock)


def is_known(owner: LocalOwner, session: str) -> bool:
    try:
        owner.check(session)
    except AuthRequired:
        return False
    return True


def test_a_session_survives_a_restart_and_ends_when_it_would_have(tmp_path: Path) -> None:
    clock = Clock()
    owner = begin(tmp_path, clock)
    session = owner.sign_in(owner.make_link())
    clock.now += SESSION_TTL_S - 1
    assert is_known(begin(tmp_path, clock), session)
    clock.now += 1
    assert not is_known(begin(tmp_path, clock), session)


@pytest.mark.parametrize("is_everywhere", [True, False])
def test_a_sign_out_survives_a_restart(tmp_path: Path, is_everywhere: bool) -> None:
    clock = Clock()
    owner = begin(tmp_path, clock)
    one, other = (owner.sign_in(owner.make_link()) for _ in range(2))
    owner.sign_out(None if is_everywhere else one)
    again = begin(tmp_path, clock)
    assert not is_known(again, one)
    assert is_known(again, other) is not is_everywhere


def test_a_new_token_ends_every_session(tmp_path: Path) -> None:
    clock = Clock()
    owner = begin(tmp_path, clock)
    session = owner.sign_in(owner.make_link())
    assert not is_known(begin(tmp_path, clock, token="peciaown_another"), session)


def test_the_file_gives_nobody_a_session_and_is_the_owners_alone(tmp_path: Path) -> None:
    owner = begin(tmp_path, Clock())
    session = owner.sign_in(owner.make_link())
    file = tmp_path / SESSIONS_FILE
    assert file.stat().st_mode & 0o777 == 0o600
    assert session not in file.read_text()
    assert TOKEN not in file.read_text()


def test_a_clock_that_was_set_back_makes_no_session_longer(tmp_path: Path) -> None:
    clock = Clock()
    owner = begin(tmp_path, clock)
    session = owner.sign_in(owner.make_link())
    clock.now -= 3600
    assert not is_known(begin(tmp_path, clock), session)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": "b"}', "null"])
def test_a_damaged_file_ends_the_sessions_and_not_the_server(tmp_path: Path, text: str) -> None:
    (tmp_path / SESSIONS_FILE).write_text(text)
    owner = begin(tmp_path, Clock())
    assert is_known(owner, TOKEN)
    assert is_known(owner, owner.sign_in(owner.make_link()))
