"""What tests start in place of `python -m pecia` is, to all who look, the same."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.interfaces.shell import opened_shell
from tests.warm.start import pecia


def environ(folder: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(folder), **more}


@pytest.mark.parametrize("words", [["config", "--json"], ["nonsense"]])
def test_warm_or_cold_a_command_says_the_same_and_ends_the_same(
    tmp_path: Path, words: list[str]
) -> None:
    env = environ(tmp_path, PECIA_HOME=str(tmp_path / "ünser"), PECIA_LOG_LEVEL="debug")
    # Found by the folder in which the command runs.
    (tmp_path / "project" / ".pecia").mkdir(parents=True)
    (tmp_path / "project" / ".pecia" / "config.yml").write_text("pool_max_size: 3\n", "utf-8")
    warm, cold = (
        subprocess.run(it, env=env, cwd=tmp_path / "project", capture_output=True, check=False)
        for it in (pecia(*words), [sys.executable, "-m", "pecia", *words])
    )
    assert (warm.returncode, warm.stdout, warm.stderr) == (
        cold.returncode,
        cold.stdout,
        cold.stderr,
    )


def test_nothing_of_one_command_is_left_to_the_next(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for env in (environ(tmp_path, PECIA_HOME=str(home)), environ(tmp_path)):
        done = subprocess.run(
            pecia("config"), env=env, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert (str(home) in done.stdout) is ("PECIA_HOME" in env)


def test_a_command_goes_when_whoever_started_it_is_killed(tmp_path: Path) -> None:
    env = environ(tmp_path, PECIA_HOME=str(tmp_path / "home"))
    words = pecia("secret", "set", "nas", "--purpose", "source")
    before = {it.pid for it in _commands()}
    # It waits for a secret that never comes.
    silent, ours = os.pipe()
    with subprocess.Popen(words, env=env, cwd=tmp_path, stdin=silent) as waiting:
        while not (running := [it for it in _commands() if it.pid not in before]):
            assert waiting.poll() is None
        waiting.send_signal(signal.SIGKILL)
    _, left = psutil.wait_procs(running, timeout=50)
    assert left == []
    os.close(silent)
    os.close(ours)


def test_a_server_that_a_command_starts_is_forked_and_outlives_it(tmp_path: Path) -> None:
    before = {it.pid for it in _commands()}
    with opened_shell() as shell:
        shell.ok("start", shell.folder("notes"), "--port", 0, "--detach", "--no-ask")
        server = psutil.Process(shell.lock.pid)
        assert server.pid in {it.pid for it in _commands()} - before
        # In a session of its own, as one that was started is: no terminal ends it.
        assert os.getsid(server.pid) == server.pid
        shell.ok("stop")
        assert not server.is_running()


def _commands() -> list[psutil.Process]:
    """What runs below the process that forks."""
    own = psutil.Process().children(recursive=True)
    return [it for it in own if it.ppid() != os.getpid() and "tests.warm.process" in it.cmdline()]
