"""A server that is started in a folder that somebody cloned: whose code runs, and what is kept."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.cli.server.spawn import (
    LOG_LIMIT_BYTES,
    LOG_NAME,
    OLD_LOGS,
    STARTED,
    StartTimeouts,
    open_log,
    spawn,
    wait_until_up,
)
from pecia.kernel.errors import Timeout, Unavailable
from pecia.kernel.jobs.worker_process import worker_command

LIMIT_S = 50


@pytest.fixture
def cloned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which somebody put a package of our name, and in which we stand."""
    package = tmp_path / "cloned" / "pecia"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("open('ran', 'w')\n", encoding="utf-8")
    monkeypatch.chdir(package.parent)
    return package.parent


def test_a_package_of_our_name_in_the_folder_is_not_run_as_the_server(
    cloned: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    process = spawn(Terminal(), ["start", str(tmp_path / "none")], log)
    assert process.wait(LIMIT_S) == 1
    assert "there is no folder" in log.read_text(encoding="utf-8")
    assert not (cloned / "ran").exists()


def test_nor_as_its_worker(cloned: Path) -> None:
    done = subprocess.run(
        [*worker_command(sys.executable), "--help"], capture_output=True, timeout=LIMIT_S
    )
    assert done.returncode == 0
    assert not (cloned / "ran").exists()


def test_a_config_is_the_one_of_the_folder_that_we_stand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the server stands, as one for no folder does."""
    (tmp_path / "mine.yml").write_text("no_such_setting: 1\n", encoding="utf-8")
    (tmp_path / "away").mkdir()
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "log"
    asked = spawn(Terminal(config=Path("mine.yml")), ["config"], log, cwd=tmp_path / "away")
    assert asked.wait(LIMIT_S) != 0
    assert "no_such_setting" in log.read_text(encoding="utf-8")


def test_a_log_is_for_its_owner_alone_and_written_through_no_link(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_text("precious", encoding="utf-8")
    theirs.chmod(0o644)
    for place in (Path.symlink_to, Path.hardlink_to):
        log = tmp_path / "log"
        log.unlink(missing_ok=True)
        place(log, theirs)
        os.close(open_log(log))
        assert theirs.read_text(encoding="utf-8") == "precious"
        assert not log.is_symlink()
        assert stat.S_IMODE(log.stat().st_mode) == 0o600
    log.chmod(0o644)
    os.close(open_log(log))
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    log.unlink()
    os.mkfifo(log)
    os.close(open_log(log))
    assert log.is_file()


def test_two_that_start_at_once_write_no_holes_into_one_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = open_log(log)
    os.write(first, b"first\n")
    second = open_log(log)
    os.write(first, b"again\n")
    os.write(second, b"second\n")
    os.close(first)
    os.close(second)
    lines = log.read_text(encoding="utf-8").splitlines()
    assert [it for it in lines if not it.startswith(STARTED)] == ["first", "again", "second"]
    assert [*tmp_path.iterdir()] == [log]


def test_a_log_keeps_earlier_starts_and_is_put_aside_when_it_is_long(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for n in range(OLD_LOGS + 3):
        for text in (f"crash {n}\n", "x" * LOG_LIMIT_BYTES):
            handle = open_log(log)
            os.write(handle, text.encode())
            os.close(handle)
    newest = OLD_LOGS + 2
    kept = {it.name: it.read_text(encoding="utf-8") for it in tmp_path.iterdir()}
    assert kept.keys() == {"log", *(f"log.{n}" for n in range(1, OLD_LOGS + 1))}
    assert f"crash {newest}\n" in kept["log"]
    for n in range(1, OLD_LOGS + 1):
        assert f"crash {newest - n}\n" in kept[f"log.{n}"]


def test_why_a_server_did_not_start_is_said_without_what_was_logged_before(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("an earlier crash\n", encoding="utf-8")
    process = spawn(Terminal(), ["start", str(tmp_path / "none")], log)
    process.wait(LIMIT_S)
    with pytest.raises(Unavailable, match="there is no folder") as refusal:
        wait_until_up(Terminal(), tmp_path, process, log=log)
    assert "earlier" not in refusal.value.message
    assert "an earlier crash" in log.read_text(encoding="utf-8")


def test_a_start_that_takes_too_long_names_its_log_and_no_setting_that_would_not_help(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Timeout) as late:
        wait_until_up(Terminal(), tmp_path, None, StartTimeouts(answer_s=0))
    Terminal().print_error(late.value)
    said = capsys.readouterr().err
    assert str(tmp_path / LOG_NAME) in said
    assert "REQUEST_TIMEOUT" not in said
