"""A command that finds no Pecia says so and makes none. The commands are read off the program."""

import json
import os
import subprocess
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from typer.main import get_command

from pecia.app.app import SETTINGS
from pecia.interfaces.cli.command_table import COMMANDS
from pecia.interfaces.cli.commands.shortcuts import SHORTCUTS
from pecia.interfaces.cli.tools.backend import find_tool, list_offline_tools
from pecia.interfaces.cli.typer_app import build_app
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import ClusterOptions
from pecia.kernel.store.cluster.paths import find_cluster_paths
from tests.interfaces.shell import pecia, pecia_at

# Commands that are for making a home, or something in it. Every other one must not.
SET_UP = {
    *("start", "init", "serve", "mcp", "cipher", "migrate", "restore", "tenant add"),
    *("cascade trust", "cascade serve"),
}
# Commands that need no home at all: they read files, settings, or a server that is named.
NEEDS_NONE = {
    *("config", "smoke", "mcp smoke", "okf validate", "okf lint", "okf index"),
    *(
        "eval retrieval",
        "eval ckf",
        "ckf compile",
        "ckf validate",
        "ckf diff",
        "ckf slice",
        "ckf verify",
    ),
    *("cascade list", "cascade show", "cascade search", "cascade links", "cascade diff"),
    *("cascade conflicts", "cascade stale", "cascade problems"),
}
# What a client runs when a session begins and ends: silent, and never a failure of that session.
HOOKS = {"hook recall", "hook capture"}
# Commands that look at the file they were given first, and refuse that one here.
FILE_FIRST = {
    *("ckf publish", "eval questions", "group import", "memory import", "memory export"),
    "space import",
}

TOOLS = {it.words: it.tool for it in SHORTCUTS} | {"call": "lake.list_sources"}


ENTRIES = {it.words: it for it in COMMANDS}
EVERY = {*ENTRIES, *TOOLS}


def typer_command(words: str) -> Any:
    command: Any = get_command(build_app([ENTRIES[words].module]))
    for word in words.split():
        command = command.commands[word]
    return command


@cache
def tool_schemas() -> list[Any]:
    return list_offline_tools(
        load_settings(SETTINGS, flags={}, environ={}, project_file=None, user_file=None)
    )


def arguments(words: str, folder: Path) -> list[str]:
    """As many words as the command needs to begin with its work."""
    if (tool := TOOLS.get(words)) is not None:
        schema = find_tool(tool_schemas(), tool).schema
        given = {it: value_of(schema["properties"][it]) for it in schema.get("required", ())}
        return [*([tool] if words == "call" else []), "--args", json.dumps(given)]
    if ENTRIES[words].is_direct:
        direct = import_module(ENTRIES[words].module).COMMANDS[words]
        # `remember` would read what it is not given from stdin.
        needed = direct.required or (("words",) if words == "remember" else ())
        return [flag for it in needed for flag in (f"--{it}", "some")]
    found: list[str] = []
    for param in typer_command(words).params:
        if param.required:
            given = {"id_": str(uuid4())}.get(param.name, "some")
            given = str(folder / "some.txt") if "file" in param.name else given
            found += [*([param.opts[0]] if param.param_type_name == "option" else []), given]
    return found


def value_of(schema: dict[str, Any]) -> Any:
    kinds: dict[str, Any] = {
        "integer": 1,
        "number": 1,
        "boolean": True,
        "array": ["some"],
        "object": {},
    }
    return kinds.get(schema.get("type", "string"), "some")


def ran(words: str, home: Path) -> "subprocess.CompletedProcess[str]":
    (home / "some.txt").write_text("some\n")
    return pecia_at(home, *words.split(), *arguments(words, home))


@pytest.mark.parametrize("words", sorted({*EVERY} - SET_UP - NEEDS_NONE - HOOKS))
def test_a_command_without_a_home_makes_none_and_says_how_one_is_started(
    words: str, tmp_path: Path
) -> None:
    done = ran(words, tmp_path)
    home = tmp_path / "pecia"
    assert done.returncode == 1, (done.stdout, done.stderr)
    assert find_cluster_paths(home, ClusterOptions().system) is None
    assert not home.exists()
    if words in FILE_FIRST:
        return
    assert str(home) in done.stdout + done.stderr
    assert "pecia start" in done.stdout + done.stderr or "pecia serve" in done.stderr


@pytest.mark.parametrize("words", sorted(NEEDS_NONE & {*EVERY}))
def test_a_command_that_needs_no_home_makes_none(words: str, tmp_path: Path) -> None:
    ran(words, tmp_path)
    assert find_cluster_paths(tmp_path / "pecia", ClusterOptions().system) is None
    assert not (tmp_path / "pecia").exists()


@pytest.mark.parametrize("words", sorted(HOOKS))
def test_a_hook_without_a_home_is_silent_and_makes_none(words: str, tmp_path: Path) -> None:
    done = ran(words, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert find_cluster_paths(tmp_path / "pecia", ClusterOptions().system) is None
    assert not (tmp_path / "pecia").exists()


def test_an_empty_home_stays_empty(tmp_path: Path) -> None:
    home = tmp_path / "pecia"
    home.mkdir()
    for words in ("audit", "call", "source list", "doctor", "status"):
        done = ran(words, tmp_path)
        assert (done.returncode, str(home) in done.stdout + done.stderr) == (1, True), words
        assert [*home.iterdir()] == [], words


def test_the_doctor_names_a_damaged_pointer_and_the_other_findings(tmp_path: Path) -> None:
    home = tmp_path / "pecia"
    home.mkdir()
    (home / "postgres.json").write_text('{"clust')
    done = pecia_at(tmp_path, "doctor", "--json")
    found = {it["check"]: it for it in json.loads(done.stdout)["findings"]}
    assert done.returncode == 1
    assert found["home"]["state"] == "ok"
    assert found["database"]["state"] == "fail"
    assert f"{home / 'postgres.json'} is damaged" in found["database"]["found"]
    assert "pecia restore" in found["database"]["advice"]
    assert "pecia doctor" not in found["database"]["found"]


def test_the_lists_of_exceptions_name_commands_that_exist() -> None:
    assert {*SET_UP, *NEEDS_NONE, *HOOKS, *FILE_FIRST} <= {*EVERY}


def test_a_tenant_is_not_added_to_a_home_that_nobody_named(tmp_path: Path) -> None:
    done = subprocess.run(
        pecia("tenant", "add", "acme"),
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert "Creating the database" not in done.stdout + done.stderr
    assert "pecia serve --config pecia.yml" in done.stderr
    assert [*tmp_path.rglob("PG_VERSION")] == []
