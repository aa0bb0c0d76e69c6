"""Run as a number that no user database knows, as containers do: with a home folder and without."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

UNKNOWN = 54_321
AS_UNKNOWN = ("setpriv", f"--reuid={UNKNOWN}", f"--regid={UNKNOWN}", "--clear-groups")
PATH = {"PATH": "/usr/bin:/bin"}

pytestmark = pytest.mark.skipif(
    os.getuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv"
)


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A process of nobody we know."""
    return subprocess.run(
        [*AS_UNKNOWN, sys.executable, *arguments],
        env=PATH | variables,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def own_home() -> Iterator[Path]:
    """Not below the folder of all tests, which is root's alone."""
    with tempfile.TemporaryDirectory() as name:
        os.chown(name, UNKNOWN, UNKNOWN)
        yield Path(name)


@pytest.mark.parametrize("has_home", [True, False])
@pytest.mark.parametrize("command", [("status",), ("config", "show")])
def test_commands_of_an_account_without_a_name_end_in_an_answer(
    own_home: Path, command: tuple[str, ...], has_home: bool
) -> None:
    home = {"HOME": str(own_home)} if has_home else {}
    done = run("-m", "pecia", *command, **home)
    said = done.stdout + done.stderr
    assert "INTERNAL_ERROR" not in said
    assert "Traceback" not in said


def test_an_account_without_a_name_is_named_by_its_number() -> None:
    script = (
        "from pecia.kernel.settings.account import *;"
        "print(account_name(), login_name(), account_home(), home_folder())"
    )
    assert run("-c", script).stdout.split() == ["uid54321", "uid54321", "/", "/"]
    assert run("-c", script, HOME="/srv").stdout.split()[2:] == ["/srv", "/srv"]


def test_a_home_folder_of_a_user_that_is_not_there_is_refused_by_name(own_home: Path) -> None:
    done = run("-m", "pecia", "start", "~nobodyofthisname/notes", HOME=str(own_home))
    assert "[INVALID_FORMAT]" in done.stderr
    assert "~nobodyofthisname/notes" in done.stderr


def test_a_home_that_cannot_be_made_is_said_with_what_to_do() -> None:
    done = run("-m", "pecia", "start", "--no-ask", "/srv")
    assert "[UNAVAILABLE] the folder /.local/share/pecia cannot be made" in done.stderr
    assert "PECIA_HOME=/PATH" in done.stderr


def test_a_folder_that_cannot_be_resolved_is_refused_by_name(own_home: Path) -> None:
    done = run("-m", "pecia", "start", "/proc/1/root/etc", HOME=str(own_home))
    assert "[INVALID_INPUT] /proc/1/root/etc cannot be opened" in done.stderr
