"""`--help` of every command, where nothing is right: no home, no server, unreadable settings."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from pecia.interfaces.cli.main import build_commands, run


def commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command and group of commands."""
    yield words
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*words, name))


EVERY = [*commands(typer.main.get_command(build_commands()))]


@pytest.fixture
def nothing_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PECIA_HOME", str(tmp_path / "none" / "home"))
    monkeypatch.setenv("PECIA_PORT", "not a port")
    monkeypatch.setenv("PECIA_TOKEN", "no\ttoken")


@pytest.mark.usefixtures("nothing_right")
@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_help_needs_nothing(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words, "--help"]) == 0
    said = capsys.readouterr()
    assert "pecia" in said.out
    assert said.err == ""


@pytest.mark.usefixtures("nothing_right")
def test_the_help_of_a_tool_needs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["call", "lake.list_files", "--help"]) == 0
    assert "--source-id" in capsys.readouterr().out


def test_there_are_commands_to_try() -> None:
    assert {("token", "make"), ("hub", "check"), ("operator", "audit"), ("mcp",)} <= {*EVERY}
