"""What is odd in settings and words is said: which value, and what was probably meant."""

from pathlib import Path

import pytest

from tests.interfaces.shell import Shell, pecia_at


def test_a_key_that_nobody_knows_is_named_however_deep_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "mine.yml"
    file.write_text("mcp:\n  tools:\n    serch:\n      maxResults: 5\n    search: {maxResult: 5}\n")
    done = pecia_at(tmp_path, "--config", str(file), "config", "port")
    assert done.returncode == 0, done.stderr
    assert f"{file}:3: `mcp.tools.serch` is not a setting" in done.stderr
    assert "`mcp.tools.search.maxResult` is not a setting; did you mean" in done.stderr


def test_what_the_wiki_reads_by_itself_is_no_unknown_key(tmp_path: Path) -> None:
    file = tmp_path / "mine.yml"
    file.write_text("content: {dir: docs}\nfolders:\n  - match: a/**\nappearance: {theme: dark}\n")
    done = pecia_at(tmp_path, "--config", str(file), "config", "port")
    assert (done.returncode, "not a setting" in done.stderr) == (0, False)


@pytest.mark.parametrize("command", ["mcp", "cipher"])
def test_a_mode_that_is_none_is_named_by_the_commands_that_speak_mcp(
    tmp_path: Path, command: str
) -> None:
    shell = Shell(tmp_path, {"MCP_SERVER_MODE": "nonsense", "OK_MCP_AUTOSTART": "0"})
    done = shell.run(command)
    assert "MCP_SERVER_MODE: expected" in done.err
    assert "'nonsense'" in done.err


def test_a_value_that_begins_as_a_flag_does_is_told_how_to_be_written(tmp_path: Path) -> None:
    words = ("call", "lake.search_content", "--query")
    done = pecia_at(tmp_path, *words, "--dry-run")
    assert done.returncode == 2
    assert "--query=--dry-run" in done.stderr


def test_a_long_value_that_is_refused_is_shortened_with_a_mark(tmp_path: Path) -> None:
    done = Shell(tmp_path, {"PECIA_PORT": "many" * 1250}).run("config")
    assert done.code == 1
    assert "port from environment PECIA_PORT: expected a valid integer, got 'manymany" in done.err
    assert "…" in done.err
    assert len(done.err) < 1000
