"""One tool run from a shell: words in, the tool's answer out. The same for every command."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from pecia.doors.cli.arguments import arguments, json_object
from pecia.doors.cli.configured import settled
from pecia.doors.cli.confirmation import answered
from pecia.doors.cli.describe import tool_document, tool_help
from pecia.doors.cli.reach import ToolFacts, callable_tools, found_tool, is_tool, reached
from pecia.doors.cli.render import show
from pecia.doors.cli.terminal import Misuse, Terminal
from pecia.kernel.errors import BadArgument, Json, MissingField


@dataclass(frozen=True, slots=True)
class Ask:
    """Which tool, under which words, and how its answer is shown."""

    tool: str
    command: str
    positional: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Words:
    """What follows a tool's name, with our own three words taken out."""

    rest: tuple[str, ...]
    document: str | None = None
    wants_help: bool = False
    says_yes: bool = False


def run_tool(terminal: Terminal, ask: Ask, words: Sequence[str]) -> None:
    """Call the tool and show what it gave; or show what it takes."""
    split = split_words(words)
    settings = settled(terminal)
    known = callable_tools(settings)
    if split.wants_help:
        _show_help(terminal, ask, found_tool(known, ask.tool))
        return
    # What is typed wrongly is told before anything is opened. Tools of upstream servers are known
    # only to an App that is open.
    ready = _ready(known, ask, split) if is_tool(known, ask.tool) else None
    with reached(terminal, settings) as tools:
        tool, taken = ready or _ready(tools.listing(), ask, split)
        answer = answered(terminal, tools, tool, taken, yes=split.says_yes)
    terminal.give(answer, lambda it: show(it, answer, columns=ask.columns))


def _show_help(terminal: Terminal, ask: Ask, tool: ToolFacts) -> None:
    text = tool_help(tool, ask.command, ask.positional)
    terminal.give(tool_document(tool), lambda it: it.line(text))


def split_words(words: Sequence[str]) -> Words:
    """Take `--args`, `--yes` and `--help` out of the words. After `--` nothing is ours."""
    rest: list[str] = []
    says_yes = False
    document: str | None = None
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if word == "--help":
            return Words((), wants_help=True)
        if word == "--yes":
            says_yes = True
            continue
        if word == "--":
            rest += [word, *waiting]
            break
        if word == "--args" and not waiting:
            raise Misuse(MissingField("--args needs a JSON object, or - for stdin", field="args"))
        if word == "--args":
            document = waiting.pop(0)
        elif word.startswith("--args="):
            document = word.removeprefix("--args=")
        else:
            rest.append(word)
    return Words(tuple(rest), document, says_yes=says_yes)


def _ready(tools: Sequence[ToolFacts], ask: Ask, words: Words) -> tuple[ToolFacts, dict[str, Json]]:
    """The tool, and the arguments that the words mean to it."""
    tool = found_tool(tools, ask.tool)
    try:
        given = _document(words.document)
        return tool, arguments(words.rest, tool.schema, positional=ask.positional, given=given)
    except BadArgument as error:
        raise Misuse(error, hint=f"{ask.command} --help") from None


def _document(text: str | None) -> dict[str, Json]:
    if text is None:
        return {}
    return json_object(sys.stdin.read() if text == "-" else text, field="args")
