"""The commands a newcomer is told are commands that work where they stand."""

import os
import sys
from pathlib import Path

import pytest

from pecia.interfaces.cli.output.welcome import client_snippets, program_name


def test_a_program_that_the_shell_does_not_find_is_named_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / ".venv" / "bin" / "pecia")])
    own = str(tmp_path / ".venv" / "bin" / "pecia")
    assert program_name() == own
    (tmp_path / "far" / "away").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "far" / "away")
    assert program_name() == own
    stdio = str(client_snippets("http://127.0.0.1:1")["stdio"])
    assert str(tmp_path / ".venv" / "bin" / "pecia") in stdio


def test_a_program_that_the_shell_finds_is_named_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "pecia"
    own.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [str(own)])
    assert program_name() == "pecia"
