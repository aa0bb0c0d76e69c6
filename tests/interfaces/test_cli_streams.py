"""Where a result goes: a pipe that nobody reads, a disk that is full, a stream that is closed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

WORDS = ["help", "source --help", "search --help", "completion bash", "config", "config --json"]
REFUSED = ["status", "source remove papers", "config nosuch --json"]


def run(home: Path, words: str, redirect: str, stdout: int) -> "subprocess.CompletedProcess[str]":
    """A command that begins with these streams, as a shell starts it: its interpreter too."""
    return subprocess.run(
        ["bash", "-c", f'exec "$0" -m pecia {words} {redirect}', sys.executable],
        env={"PATH": os.environ["PATH"], "HOME": str(home), "PECIA_HOME": str(home / "pecia")},
        cwd=home,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("words", WORDS)
def test_a_reader_that_went_away_is_no_failure(tmp_path: Path, words: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = run(tmp_path, words, "", writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_editor_that_went_away_is_no_crash(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    asked = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    done = run(tmp_path, "mcp", f"<<< '{asked}'", writer)
    os.close(writer)
    assert "INTERNAL_ERROR" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [*WORDS, "config nosuch --json"])
def test_a_result_that_finds_no_room_is_a_failure_in_one_line(tmp_path: Path, words: str) -> None:
    done = run(tmp_path, words, "> /dev/full", subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-2:] == [
        "[UNAVAILABLE] the output cannot be written: no space left on device",
        "  hint: write it to another place, or make room there",
    ]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [*WORDS, *REFUSED])
@pytest.mark.parametrize("closed", [">&-", "<&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_as_the_null_device(tmp_path: Path, words: str, closed: str) -> None:
    null = closed.replace(">&-", ">/dev/null").replace("<&-", "</dev/null")
    expected = run(tmp_path, words, null, subprocess.PIPE)
    done = run(tmp_path, words, closed, subprocess.PIPE)
    assert done.returncode == expected.returncode
    assert (done.stdout, done.stderr) == (expected.stdout, expected.stderr)
