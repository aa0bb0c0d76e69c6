"""A server that is started in a folder that somebody cloned: whose code runs, and what is kept."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.cli.server.spawn import create_log, spawn
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


def test_a_log_is_begun_anew_for_its_owner_alone_and_through_no_link(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_text("precious", encoding="utf-8")
    theirs.chmod(0o644)
    for place in (Path.symlink_to, Path.hardlink_to):
        log = tmp_path / "log"
        log.unlink(missing_ok=True)
        place(log, theirs)
        os.close(create_log(log))
        assert theirs.read_text(encoding="utf-8") == "precious"
        assert not log.is_symlink()
        assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_two_that_start_at_once_write_no_holes_into_one_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = create_log(log)
    os.write(first, b"first")
    second = create_log(log)
    os.write(first, b"again")
    os.write(second, b"second")
    os.close(first)
    os.close(second)
    assert log.read_bytes() == b"second"
    assert [*tmp_path.iterdir()] == [log]
