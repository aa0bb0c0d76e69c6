"""Records the help of every command in src/pecia/interfaces/cli/recorded_help.json: `make docs`."""

import contextlib
import io
import json
import os
from importlib import import_module
from typing import Any

import typer.main

from pecia.interfaces.cli.command_table import COMMANDS, CommandEntry
from pecia.interfaces.cli.completion import NAMED_THINGS
from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.cli.recorded_help import FILE
from pecia.interfaces.cli.tools.direct import direct_help
from pecia.interfaces.cli.typer_app import build_app

WIDTH = "88"
ALSO_NAMED = {"source": "source_id"}


def main() -> None:
    FILE.write_text(record_all(), encoding="utf-8")


def record_all() -> str:
    """What the file should be."""
    entries = [it for it in COMMANDS if it.words != "call"]
    found = {it.words: _record_direct(it) if it.is_direct else _record_typer(it) for it in entries}
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


def _record_direct(entry: CommandEntry) -> dict[str, Any]:
    command = import_module(entry.module).COMMANDS[entry.words]
    own = command.properties
    flags = {it: f"--{it.replace('_', '-')}" for it in own if it not in command.positional}
    return {
        "text": direct_help(entry.words, command) + "\n",
        "flags": {flag: own[it].get("description", "") for it, flag in flags.items()},
        "arguments": [*command.positional],
        "choices": {flag: own[it]["enum"] for it, flag in flags.items() if "enum" in own[it]},
        "things": _things({flags.get(it, it): it for it in own}),
    }


def _record_typer(entry: CommandEntry) -> dict[str, Any]:
    app = build_app([entry.module])
    command: Any = typer.main.get_command(app)
    for word in entry.words.split():
        command = command.commands[word]
    flags: dict[str, str] = {}
    named: dict[str, str] = {}
    for it in command.params:
        is_argument = it.param_type_name == "argument"
        # What is on by default is switched off.
        words = it.secondary_opts if it.default is True and it.secondary_opts else it.opts
        flags |= {} if is_argument else dict.fromkeys(words, it.help or "")
        if it.bare_type() == "str":
            named |= {it.name if is_argument else words[0]: it.name}
    return {
        "text": _typer_text(app, entry.words),
        "flags": flags,
        "arguments": [it.name for it in command.params if it.param_type_name == "argument"],
        "choices": {},
        "things": _things(named),
    }


def _things(names: dict[str, str]) -> dict[str, str]:
    """Of flags and arguments by their names: those that name something a server has."""
    wanted = {it: ALSO_NAMED.get(name, name) for it, name in names.items()}
    # An id is a token's only in the tools of tokens.
    return {it: name for it, name in wanted.items() if name in NAMED_THINGS and name != "id"}


def _typer_text(app: typer.Typer, words: str) -> str:
    said = io.StringIO()
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = WIDTH
    try:
        with contextlib.redirect_stdout(said):
            asked = [*words.split(), "--help"]
            app(asked, prog_name="pecia", obj=Terminal(), standalone_mode=False)
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before
    return said.getvalue()


if __name__ == "__main__":
    main()
