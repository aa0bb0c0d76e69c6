"""The space of a wiki tool that was called without one: the project's, where the command runs in
one; else the error says which there are, and the command with the first of them."""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from pecia.interfaces.cli.tools.backend import ToolBackend, ToolInfo
from pecia.kernel.errors import Json, MissingField, NotFound

T = TypeVar("T")


def with_option(command: str, *option: str) -> str:
    """What was typed with this too: before a `--`, for after one there are no options."""
    words = shlex.split(command)
    place = words.index("--") if "--" in words else len(words)
    return shlex.join([*words[:place], *option, *words[place:]])


def call_in_space(
    tools: ToolBackend, tool: ToolInfo, arguments: Mapping[str, Json], command: str
) -> Json:
    """The result of the tool. `command` is what was typed, for the way on."""
    return choose_space(lambda place: tools.call(tool, {**arguments, **place}), command)


def choose_space(run: Callable[[Mapping[str, Json]], T], command: str) -> T:
    """What `run` gives without a space; where there are several, with the one around the working
    folder."""
    try:
        return run({})
    except MissingField as error:
        if error.fields.get("field") != "space":
            raise
        try:
            return run({"cwd": str(Path.cwd())})
        except NotFound as other:
            if other.fields.get("field") != "cwd":
                raise
        raise _with_command(error, command) from None


def _with_command(error: MissingField, command: str) -> MissingField:
    names = error.fields.get("allowed")
    first = str(names[0]) if isinstance(names, list) and names else "NAME"
    error.message = error.message.replace('Field "space"', "--space")
    again = with_option(command, "--space", first)
    hint = f"{again}, or run it in the folder of a space"
    error.fields = {**error.fields, "hint": hint}
    return error
