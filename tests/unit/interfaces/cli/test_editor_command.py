"""Under which path editors start this installation, however it was installed."""

import sys
from pathlib import Path

import pytest

from pecia.interfaces.cli.editors import find_own_command
from pecia.interfaces.cli.output.terminal import Terminal


@pytest.fixture
def interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Python of its own folder, which runs us."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python" / "python3"))
    (tmp_path / "python").mkdir()
    return tmp_path / "python"


def test_a_program_far_from_its_interpreter_is_found_by_how_it_was_called(
    interpreter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `pip install --user` lays it out."""
    script = tmp_path / "bin" / "pecia"
    script.parent.mkdir()
    script.touch()
    monkeypatch.setattr(sys, "argv", [str(script), "init"])
    assert find_own_command(Terminal()) == str(script)


def test_a_module_that_was_called_has_its_program_beside_the_interpreter(
    interpreter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (interpreter / "pecia").touch()
    monkeypatch.setattr(sys, "argv", ["/src/pecia/__main__.py", "init"])
    assert find_own_command(Terminal()) == str(interpreter / "pecia")
