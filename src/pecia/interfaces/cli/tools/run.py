"""Runs one tool from a shell: arguments in, result out. The same for every command."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pecia.interfaces.cli.command_table import ToolShortcut
from pecia.interfaces.cli.commands.shortcuts import SHORTCUTS
from pecia.interfaces.cli.output.render import choose_layout, show_tool_answer
from pecia.interfaces.cli.output.terminal import (
    EXIT_FAILED,
    EXIT_OK,
    CommandUsageError,
    Terminal,
)
from pecia.interfaces.cli.server.home import require_home
from pecia.interfaces.cli.settings import load_settings, read_token
from pecia.interfaces.cli.tools.arguments import parse_arguments, parse_json_object
from pecia.interfaces.cli.tools.backend import (
    ToolBackend,
    ToolInfo,
    describe_tool,
    find_server_backend,
    find_tool,
    has_tool,
    list_offline_tools,
    open_in_process,
)
from pecia.interfaces.cli.tools.confirmation import call_with_confirmation, require_yes
from pecia.interfaces.cli.tools.help import tool_document, tool_help
from pecia.interfaces.cli.tools.space_choice import with_option
from pecia.kernel.errors import (
    BadArgument,
    Conflict,
    Json,
    MissingField,
    NotFound,
    PeciaError,
    Unavailable,
)

WIKI = "wiki"
NEED_SERVER = frozenset(
    (
        *("write_document", "edit_document", "delete_document", "rename_document", "rename_folder"),
        *("rollback_to_version", "get_history", "save_version", "write_documents"),
        *("create_document",),
        *("patch_frontmatter", "accept_suggestion", "reject_suggestion", "comment_suggestion"),
    )
)
"""Tools of the wiki that the reference marks Connected, and ours that write documents."""


@dataclass(frozen=True, slots=True)
class ToolCommand:
    """Which tool, under which command, and how its result is shown."""

    tool: str
    command: str
    positional: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    removes: str = ""


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A tool, and the parsed arguments."""

    tool: ToolInfo
    arguments: dict[str, Json]


@dataclass(frozen=True, slots=True)
class ToolWords:
    """What follows a tool's name, without our own three flags."""

    rest: tuple[str, ...]
    document: str | None = None
    wants_help: bool = False
    says_yes: bool = False


def run_shortcut(terminal: Terminal, entry: ToolShortcut, words: Sequence[str]) -> int:
    """Run the tool of a shorter command; its exit code."""
    ask = ToolCommand(
        entry.tool, f"pecia {entry.words}", entry.positional, entry.columns, entry.removes
    )
    return run_tool(terminal, ask, words)


def run_tool(terminal: Terminal, ask: ToolCommand, words: Sequence[str]) -> int:
    """Call the tool and print its result; or print its help. The exit code."""
    split = split_words(words)
    if split.wants_help:
        _show_help(terminal, ask, describe_tool(terminal, ask.tool))
        return EXIT_OK
    if (server := find_server_backend(terminal)) is not None:
        ready = _prepare_call(server.find_tool(ask.tool), ask, split)
        answer = _call(terminal, server, ready, ask, split)
    else:
        ready, answer = _run_in_process(terminal, ask, split)
    layout = choose_layout(ready.tool.output)
    terminal.print_result(
        answer, lambda it: show_tool_answer(it, answer, layout, columns=ask.columns)
    )
    return _exit_code(terminal, answer, ask)


def _exit_code(terminal: Terminal, answer: Json, ask: ToolCommand) -> int:
    """Tools that work on several things, or whose reference says so, answer what they could not do
    instead of failing. A shell script must see it."""
    if not isinstance(answer, dict) or answer.get("success", True):
        return EXIT_OK
    terminal.info(f"not done, or not all of it\n  hint: {_next_command(ask, can_list=True)}")
    return EXIT_FAILED


def _run_in_process(
    terminal: Terminal, ask: ToolCommand, words: ToolWords
) -> tuple[PreparedCall, Json]:
    settings = load_settings(terminal)
    known = list_offline_tools(settings)
    _require_offline_tool(terminal, ask, known)
    # Usage errors are reported before anything is opened. Tools of upstream servers are known only
    # to an open App.
    ready = None
    if has_tool(known, ask.tool):
        ready = _prepare_call(find_tool(known, ask.tool), ask, words)
    require_home(settings.kernel)
    with open_in_process(terminal, settings) as tools:
        ready = ready or _prepare_call(tools.find_tool(ask.tool), ask, words)
        return ready, _call(terminal, tools, ready, ask, words)


def _require_offline_tool(terminal: Terminal, ask: ToolCommand, known: Sequence[ToolInfo]) -> None:
    """Of the wiki, only what reads documents and configures answers without a server: editors may
    have a document open, and a server knows them."""
    found = find_tool(known, ask.tool) if has_tool(known, ask.tool) else None
    if found is None or found.feature != WIKI or not ask.command.startswith("pecia call "):
        return
    if found.name in NEED_SERVER:
        raise Unavailable(
            f"the server is not running, and {found.full_name} needs it", hint="pecia start FOLDER"
        )
    terminal.info(
        "no server is running: this is answered from the disk. Not available: preview links, and "
        "what changes documents"
    )


def _call(
    terminal: Terminal, tools: ToolBackend, ready: PreparedCall, ask: ToolCommand, words: ToolWords
) -> Json:
    given = " ".join(shlex.quote(it) for it in words.rest)
    typed = f"{ask.command} {given}".strip()
    if ask.removes and not words.says_yes:
        named = {it: _in_words(ready.arguments[it]) for it in ask.positional}
        question = ask.removes.format_map(named)
        require_yes(terminal, question, hint=with_option(typed, "--yes"))
    try:
        return call_with_confirmation(
            terminal, tools, ready.tool, ready.arguments, yes=words.says_yes, command=typed
        )
    except (BadArgument, Conflict, NotFound) as error:
        raise _with_next_command(error, ask) from None


def _in_words(value: Json) -> str:
    return ", ".join(map(repr, value)) if isinstance(value, list) else repr(value)


def _with_next_command(error: PeciaError, ask: ToolCommand) -> PeciaError:
    """The error with a command that leads on, where its own hint names none."""
    leads_on = _next_command(ask, can_list=isinstance(error, NotFound | Conflict))
    if "pecia " not in str(error.fields.get("hint", "")):
        error.fields = {**error.fields, "hint": leads_on}
    return error


def _next_command(ask: ToolCommand, *, can_list: bool) -> str:
    """The list of what there is, where the command's group has one; else its help."""
    group, _, _ = ask.command.removeprefix("pecia ").partition(" ")
    is_listed = any(it.words == f"{group} list" for it in SHORTCUTS)
    return f"pecia {group} list" if is_listed and can_list else f"{ask.command} --help"


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
        if word == "--help" or (word == "-h" and not _is_flag(rest)):
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


def _prepare_call(tool: ToolInfo, ask: ToolCommand, words: ToolWords) -> PreparedCall:
    try:
        given = _read_args_json(words.document)
        parsed = parse_arguments(words.rest, tool.schema, positional=ask.positional, given=given)
        return PreparedCall(tool, _with_full_paths(parsed, ask))
    except BadArgument as error:
        error.message = error.message.replace("this tool", ask.command)
        raise CommandUsageError(error, hint=f"{ask.command} --help") from None


def _with_full_paths(arguments: dict[str, Json], ask: ToolCommand) -> dict[str, Json]:
    """A folder as the person means it, who types it in a folder of this machine. Of a space that
    somebody adds by a token, it may be a name below a root of the server's, and stays as it is."""
    folder = arguments.get("folder")
    is_here = ask.command == "pecia source add" or (
        ask.command == "pecia space add" and read_token() is None
    )
    if not is_here or not isinstance(folder, str) or folder.startswith("~") or ":" in folder:
        return arguments
    if not folder:
        return arguments
    path = Path.cwd() / folder
    return {**arguments, "folder": str(path.resolve() if ".." in path.parts else path)}


def _is_flag(before: Sequence[str]) -> bool:
    """Whether the last word is a flag that waits for its value."""
    return bool(before) and before[-1].startswith("--") and "=" not in before[-1]


def _read_args_json(text: str | None) -> dict[str, Json]:
    if text is None:
        return {}
    return parse_json_object(sys.stdin.read() if text == "-" else text, field="args")
