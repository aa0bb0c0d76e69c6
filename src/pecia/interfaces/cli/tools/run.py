"""Runs one tool from a shell: arguments in, result out. The same for every command."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from pecia.interfaces.cli.output.render import show_document
from pecia.interfaces.cli.output.terminal import CommandUsageError, Terminal
from pecia.interfaces.cli.settings import load_settings
from pecia.interfaces.cli.tools.arguments import parse_arguments, parse_json_object
from pecia.interfaces.cli.tools.backend import (
    ToolInfo,
    describe_tool,
    find_tool,
    has_tool,
    list_callable_tools,
    open_backend,
)
from pecia.interfaces.cli.tools.confirmation import call_with_confirmation
from pecia.interfaces.cli.tools.help import tool_document, tool_help
from pecia.kernel.errors import BadArgument, Json, MissingField


@dataclass(frozen=True, slots=True)
class ToolCommand:
    """Which tool, under which command, and how its result is shown."""

    tool: str
    command: str
    positional: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolWords:
    """What follows a tool's name, without our own three flags."""

    rest: tuple[str, ...]
    document: str | None = None
    wants_help: bool = False
    says_yes: bool = False


def run_tool(terminal: Terminal, ask: ToolCommand, words: Sequence[str]) -> None:
    """Call the tool and print its result; or print its help."""
    split = split_words(words)
    if split.wants_help:
        _show_help(terminal, ask, describe_tool(terminal, ask.tool))
        return
    settings = load_settings(terminal)
    known = list_callable_tools(settings)
    # Usage errors are reported before anything is opened. Tools of upstream servers are known only
    # to an open App.
    ready = _prepare_call(known, ask, split) if has_tool(known, ask.tool) else None
    with open_backend(terminal, settings) as tools:
        tool, taken = ready or _prepare_call(tools.list_tools(), ask, split)
        answer = call_with_confirmation(terminal, tools, tool, taken, yes=split.says_yes)
    terminal.print_result(answer, lambda it: show_document(it, answer, columns=ask.columns))


def _show_help(terminal: Terminal, ask: ToolCommand, tool: ToolInfo) -> None:
    text = tool_help(tool, ask.command, ask.positional)
    terminal.print_result(tool_document(tool), lambda it: it.print_line(text))


def split_words(words: Sequence[str]) -> ToolWords:
    """Take `--args`, `--yes` and `--help` out. After `--` nothing is ours."""
    rest: list[str] = []
    says_yes = False
    document: str | None = None
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if word == "--help":
            return ToolWords((), wants_help=True)
        if word == "--yes":
            says_yes = True
            continue
        if word == "--":
            rest += [word, *waiting]
            break
        if word == "--args" and not waiting:
            raise CommandUsageError(
                MissingField("--args needs a JSON object, or - for stdin", field="args")
            )
        if word == "--args":
            document = waiting.pop(0)
        elif word.startswith("--args="):
            document = word.removeprefix("--args=")
        else:
            rest.append(word)
    return ToolWords(tuple(rest), document, says_yes=says_yes)


def _prepare_call(
    tools: Sequence[ToolInfo], ask: ToolCommand, words: ToolWords
) -> tuple[ToolInfo, dict[str, Json]]:
    """The tool, and the parsed arguments."""
    tool = find_tool(tools, ask.tool)
    try:
        given = _read_args_json(words.document)
        return tool, parse_arguments(
            words.rest, tool.schema, positional=ask.positional, given=given
        )
    except BadArgument as error:
        raise CommandUsageError(error, hint=f"{ask.command} --help") from None


def _read_args_json(text: str | None) -> dict[str, Json]:
    if text is None:
        return {}
    return parse_json_object(sys.stdin.read() if text == "-" else text, field="args")
