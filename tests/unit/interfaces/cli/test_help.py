"""`--help` of every command, where nothing is right: no home, no server, unreadable settings."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from pecia.interfaces.cli.command_table import BUILT_IN, COMMANDS, GROUPS, SECTIONS
from pecia.interfaces.cli.commands.shortcuts import SHORTCUTS
from pecia.interfaces.cli.help_text import SUMMARIES, group_help, list_commands, root_help
from pecia.interfaces.cli.main import run
from pecia.interfaces.cli.typer_app import build_app

EVERY = [(), *(tuple(it.split()) for it in SUMMARIES if it not in ("help", "version"))]


def leaves(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Every command that Typer parses, with the first sentence of its help."""
    if words and (not hasattr(command, "commands") or command.invoke_without_command):
        yield " ".join(words), command.get_short_help_str(1000)
    for name, inner in getattr(command, "commands", {}).items():
        yield from leaves(inner, (*words, name))


def test_the_table_names_every_command_that_typer_parses_with_its_own_words() -> None:
    parsed = [it for it in COMMANDS if not it.is_direct and it.words != "call"]
    app = typer.main.get_command(build_app(it.module for it in parsed))
    assert {it.words: it.summary for it in parsed} == dict(leaves(app))


def test_every_command_is_in_the_help_of_the_program_or_of_its_group() -> None:
    for name in list_commands():
        assert f"  {name} " in root_help()
    listed = [it for _, names in SECTIONS for it in names]
    assert sorted(listed) == list_commands()
    for group in GROUPS:
        for name in list_commands(group):
            assert f"  {name} " in group_help(group)
    assert not {*BUILT_IN} & {it.words for it in (*COMMANDS, *SHORTCUTS)}


@pytest.mark.parametrize("words", [["-h"], ["help"], ["--help"]])
def test_the_help_of_the_program_has_three_names(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 0
    assert capsys.readouterr().out == root_help()


@pytest.mark.parametrize("words", [["help", "source"], ["source", "-h"]])
def test_so_has_the_help_of_a_group(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 0
    assert capsys.readouterr().out == group_help("source")


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
