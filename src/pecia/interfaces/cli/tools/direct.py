"""Commands that are parsed by a JSON Schema, as the arguments of a tool are, and need no Typer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pecia.interfaces.cli.output.terminal import EXIT_OK, CommandUsageError, Terminal
from pecia.interfaces.cli.tools.arguments import (
    ToolInputSchema,
    argument_lines,
    parse_arguments,
)
from pecia.kernel.errors import BadArgument, Json

CommandArguments: TypeAlias = Mapping[str, Any]
"""Parsed, with the defaults of the schema filled in."""


@dataclass(frozen=True, slots=True)
class DirectCommand:
    """One command. Words without a flag fill `positional`; the last takes the rest if a list."""

    run: Callable[[Terminal, CommandArguments], int | None]
    about: str
    properties: Mapping[str, Mapping[str, Any]]
    positional: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    tool_names: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the tool behind it calls an argument, to what the command calls it."""

    @property
    def schema(self) -> dict[str, Any]:
        return {"properties": self.properties, "required": [*self.required]}


def run_direct(terminal: Terminal, name: str, command: DirectCommand, words: Sequence[str]) -> int:
    """Run the command, or print its help; the exit code."""
    end = words.index("--") if "--" in words else len(words)
    if "--help" in words[:end] or "-h" in words[:end]:
        terminal.print_line(direct_help(name, command))
        return EXIT_OK
    try:
        given = parse_arguments(words, command.schema, positional=command.positional)
    except BadArgument as error:
        error.message = error.message.replace("this tool", f"pecia {name}")
        raise CommandUsageError(error, hint=f"pecia {name} --help") from None
    defaults: dict[str, Json] = {
        it: schema.get("default") for it, schema in command.properties.items()
    }
    try:
        return command.run(terminal, {**defaults, **given}) or EXIT_OK
    except BadArgument as error:
        raise _with_own_name(error, command) from None


def _with_own_name(error: BadArgument, command: DirectCommand) -> BadArgument:
    theirs = str(error.fields.get("field", ""))
    if ours := command.tool_names.get(theirs):
        error.message = error.message.replace(f'"{theirs}"', f'"{ours}"')
        error.fields = {**error.fields, "field": ours}
    return error


def direct_help(name: str, command: DirectCommand) -> str:
    """The text of `--help`."""
    words = " ".join(
        it.upper() if it in command.required else f"[{it.upper()}]" for it in command.positional
    )
    lines = argument_lines(ToolInputSchema(command.schema), without=command.positional)
    parts = [f"Usage: pecia {name} {words}".rstrip() + " [OPTIONS]", "", command.about, ""]
    parts += [
        f"  {it.upper()}  {command.properties[it].get('description', '')}"
        for it in command.positional
    ]
    return "\n".join(
        [*parts, *([""] if command.positional else []), "Options:", *lines, "  -h, --help"]
    )
