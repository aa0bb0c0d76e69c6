"""The entry point of the command line: which command runs, and the one place that renders failures.

Imports as little as each command allows: `--help` and completion are answered from tables, a tool
is called without Typer, and Typer loads the module of its command only.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, cast

from pecia import __version__
from pecia.interfaces.cli.command_table import COMMANDS, GROUPS, CommandEntry, ToolShortcut
from pecia.interfaces.cli.commands.shortcuts import SHORTCUTS
from pecia.interfaces.cli.output.streams import (
    discard_stdout,
    flush_stdout,
    is_stdout_abandoned,
    open_closed_streams,
)

if TYPE_CHECKING:
    from pecia.interfaces.cli.output.terminal import Terminal
    from pecia.kernel.errors import PeciaError

EXIT_OK, EXIT_MISUSED, EXIT_INTERRUPTED = 0, 2, 130
HELP_WORDS = ("--help", "-h")
VERSION_WORDS = ("--version", "-V")
CALL = "call"

ENTRIES: dict[str, CommandEntry | ToolShortcut] = {it.words: it for it in (*COMMANDS, *SHORTCUTS)}


def main() -> None:
    """Run the command line of this process."""
    open_closed_streams()
    raise SystemExit(run(sys.argv[1:]))


def cipher_main() -> None:
    """The program `cipher`: `pecia cipher`, for clients whose configuration names that program."""
    open_closed_streams()
    raise SystemExit(run(["cipher", *sys.argv[1:]]))


def run(words: Sequence[str]) -> int:
    """Run one command; its exit code."""
    code, failure = _run(words)
    if (failure := failure or flush_stdout()) is None:
        return code
    discard_stdout()
    if isinstance(failure, BrokenPipeError):
        # The reader closed the pipe: it has what it wanted.
        return code
    return _report_lost_output(failure)


def _run(words: Sequence[str]) -> tuple[int, OSError | None]:
    """The exit code of a command, and why stdout did not take its result."""
    try:
        if (code := _answer_from_tables(words)) is not None:
            return code, None
    except OSError as error:
        return EXIT_OK, error
    from pecia.interfaces.cli.output.terminal import OutputLostError

    try:
        return _run_command(words), None
    except OutputLostError as error:
        return EXIT_OK, error.failure


def _run_command(words: Sequence[str]) -> int:
    from pecia.interfaces.cli.output.terminal import OutputLostError, Terminal

    terminal = Terminal("--json" in words, "--debug" in words)
    try:
        words, terminal = split_global_options(words)
        if words and words[-1] in HELP_WORDS and (code := _answer_from_tables(words)) is not None:
            return code
        return _dispatch(list(words), terminal)
    except KeyboardInterrupt:
        terminal.info("stopped")
        return EXIT_INTERRUPTED
    except OutputLostError:
        raise
    except Exception as error:
        if isinstance(error, BrokenPipeError) and is_stdout_abandoned():
            raise OutputLostError(error) from error
        return _report_failure(terminal, error, words)


def _answer_from_tables(words: Sequence[str]) -> int | None:
    """Help, version and completion, which need nothing but the tables; None for all else."""
    from pecia.interfaces.cli import help_text

    match [*words]:
        case ["__complete", *typed]:
            from pecia.interfaces.cli.completion import print_candidates

            print_candidates(typed)
        case []:
            sys.stdout.write(help_text.root_help())
            return EXIT_MISUSED
        case [("--help" | "-h" | "help")]:
            sys.stdout.write(help_text.root_help())
        case [("--version" | "-V" | "version")]:
            sys.stdout.write(f"{__version__}\n")
        case [*group, ("--help" | "-h")] | ["help", *group] if " ".join(group) in GROUPS:
            sys.stdout.write(help_text.group_help(" ".join(group)))
        case [*command, ("--help" | "-h")] | ["help", *command] if " ".join(command) in ENTRIES:
            return _print_recorded_help(" ".join(command))
        case _:
            return None
    return EXIT_OK


def _print_recorded_help(command: str) -> int | None:
    """The help of a command; None for a tool, whose arguments a server or the features know."""
    from pecia.interfaces.cli.recorded_help import recorded_help

    if (found := recorded_help(command)) is None:
        return None
    sys.stdout.write(found.text)
    return EXIT_OK


def _dispatch(words: list[str], terminal: "Terminal") -> int:
    first, *rest = words or ["--help"]
    if first == "help":
        return run([*rest, "--help"])
    if first == "version" or first in VERSION_WORDS:
        _require_end(first, rest)
        terminal.print_result({"version": __version__}, lambda it: it.print_line(__version__))
        return EXIT_OK
    if first == "completion":
        from pecia.interfaces.cli.completion import print_script

        return print_script(terminal, rest)
    if first in HELP_WORDS:
        return run([first])
    return _run_entry(find_entry(words), words, terminal)


def _require_end(command: str, rest: Sequence[str]) -> None:
    if rest:
        from pecia.interfaces.cli.output.terminal import CommandUsageError
        from pecia.kernel.errors import InvalidInput

        error = InvalidInput(f"{command} takes no {rest[0]!r}", field="arguments", got=rest[0])
        raise CommandUsageError(error, hint="pecia --help")


def _run_entry(entry: CommandEntry | ToolShortcut, words: list[str], terminal: "Terminal") -> int:
    rest = words[len(entry.words.split()) :]
    if isinstance(entry, ToolShortcut):
        from pecia.interfaces.cli.tools.run import run_shortcut

        return run_shortcut(terminal, entry, rest)
    if entry.words == CALL:
        from pecia.interfaces.cli.commands.call import run_call

        return run_call(terminal, rest)
    if entry.is_direct:
        from pecia.interfaces.cli.tools.direct import run_direct

        command = import_module(entry.module).COMMANDS[entry.words]
        return run_direct(terminal, entry.words, command, rest)
    from pecia.interfaces.cli.typer_app import build_app

    code = build_app([entry.module])(words, prog_name="pecia", obj=terminal, standalone_mode=False)
    return code if isinstance(code, int) else EXIT_OK


def find_entry(words: Sequence[str]) -> CommandEntry | ToolShortcut:
    """The command that these words begin with; a usage error with the nearest where there is none.

    A group without a command of its own says which it has.
    """
    for length in (3, 2, 1):
        if entry := ENTRIES.get(" ".join(words[:length])):
            return entry
    from pecia.interfaces.cli.output.terminal import CommandUsageError

    raise CommandUsageError(_unknown_command(words))


def _unknown_command(words: Sequence[str]) -> "PeciaError":
    from pecia.interfaces.cli.help_text import list_commands
    from pecia.kernel.errors import InvalidInput, MissingField
    from pecia.kernel.tool.suggestion import suggest_name

    lengths = (it for it in (2, 1) if " ".join(words[:it]) in GROUPS)
    group = " ".join(words[: next(lengths, 0)])
    known = list_commands(group)
    command = f"pecia {group}".strip()
    hint = f"{command} --help"
    rest = words[len(group.split()) :]
    if not rest:
        return MissingField(
            f"{command} needs a command: {', '.join(known)}", field="command", hint=hint
        )
    kind = "option" if rest[0].startswith("-") else "command"
    near = suggest_name(rest[0], [*known, *HELP_WORDS, *VERSION_WORDS, "--config", "--json"])
    return InvalidInput(
        f"there is no {kind} {rest[0]!r} of {command}{near}",
        field="command",
        got=rest[0],
        # Of the whole program there are too many to name.
        expected=", ".join(known) if group and not near else None,
        hint=hint,
    )


def _report_failure(terminal: "Terminal", error: Exception, words: Sequence[str]) -> int:
    from pecia.interfaces.cli.output.failure import explain_unwritable
    from pecia.interfaces.cli.output.terminal import CommandUsageError
    from pecia.kernel.errors import PeciaError

    if isinstance(error, CommandUsageError):
        terminal.print_error(_with_way_on(error.error, words))
        return EXIT_MISUSED
    cause = unwrap_group(error)
    if isinstance(cause, PeciaError):
        return terminal.print_error(_with_way_on(cause, words))
    if (code := _typer_failure(terminal, error, words)) is not None:
        return code
    if isinstance(cause, OSError) and (unwritable := explain_unwritable(cause)):
        return terminal.print_error(unwritable)
    return terminal.print_crash(cause if isinstance(cause, Exception) else error)


def _report_lost_output(failure: OSError) -> int:
    from pecia.interfaces.cli.output.terminal import Terminal
    from pecia.kernel.errors import Unavailable

    why = (failure.strerror or "it failed").lower()
    hint = "write it to another place, or make room there"
    return Terminal().print_error(Unavailable(f"the output cannot be written: {why}", hint=hint))


def _with_way_on(error: "PeciaError", words: Sequence[str]) -> "PeciaError":
    """The error of a wrong value with the help of its command, where it has no hint of its own."""
    from pecia.kernel.errors import BadArgument, NotFound, Unprocessable

    is_wrong_value = isinstance(error, BadArgument | NotFound | Unprocessable)
    if not is_wrong_value or error.fields.get("hint", error.code.hint) != error.code.hint:
        return error
    for length in (3, 2, 1):
        if (command := " ".join(words[:length])) in ENTRIES:
            error.fields = {**error.fields, "hint": f"pecia {command} --help"}
            break
    return error


def _typer_failure(terminal: "Terminal", error: Exception, words: Sequence[str]) -> int | None:
    """The exit code of what Typer raised; None where it was something else."""
    if "typer" not in sys.modules:
        return None
    import typer

    if isinstance(error, typer.Abort):
        terminal.info("stopped")
        return EXIT_INTERRUPTED
    if not isinstance(error, typer.TyperException):
        return None
    # Without a message, its help has been shown already.
    if said := error.format_message():
        terminal.print_error(_usage_error(error, said, words))
    return error.exit_code


def _usage_error(error: Exception, said: str, words: Sequence[str]) -> "PeciaError":
    """What is wrong with a command: its option or argument, and whose help says what is right."""
    from pecia.kernel.errors import InvalidInput, MissingField

    option, context = getattr(error, "param", None), getattr(error, "ctx", None)
    hint = f"{context.command_path if context else 'pecia'} --help"
    if option is None or not option.name:
        _, is_extra, extra = said.partition("unexpected extra argument(s) (")
        if is_extra:
            said = f"unexpected word {extra.rstrip(')')!r}"
        return InvalidInput(said, field="command", hint=hint)
    flag = next((it for it in option.opts if it.startswith("--")), None)
    if said.startswith("Missing "):
        return MissingField(
            f"{flag or option.name.upper()} is missing", field=option.name, hint=hint
        )
    if (got := _given_value(words, flag)) is not None:
        return InvalidInput(f"{said}; got {got!r}", field=option.name, got=got, hint=hint)
    return InvalidInput(said, field=option.name, hint=hint)


def _given_value(words: Sequence[str], flag: str | None) -> str | None:
    """What was given to an option, which Typer does not say."""
    for word, following in zip(words, [*words[1:], None], strict=True):
        name, is_joined, value = word.partition("=")
        if flag and name == flag:
            return value if is_joined else following
    return None


def unwrap_group(error: BaseException) -> BaseException:
    """The one error in a group of tasks that failed, when it is one."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast(BaseExceptionGroup[BaseException], error)
    return unwrap_group(group.exceptions[0]) if len(group.exceptions) == 1 else group


def split_global_options(words: Sequence[str]) -> "tuple[list[str], Terminal]":
    """Take --json, --plain and --debug out, wherever they stand before a `--`, and --config where
    it stands before the command."""
    from pathlib import Path

    from pecia.interfaces.cli.output.terminal import CommandUsageError, Terminal
    from pecia.kernel.errors import MissingField

    end = words.index("--") if "--" in words else len(words)
    ours, rest = words[:end], words[end:]
    kept = [it for it in ours if it not in ("--json", "--plain", "--debug")]
    config: Path | None = None
    while kept and kept[0].partition("=")[0] == "--config":
        _, is_given, value = kept.pop(0).partition("=")
        if not is_given and not kept:
            raise CommandUsageError(
                MissingField("--config needs a file", field="config"), hint="pecia --help"
            )
        config = Path(value if is_given else kept.pop(0))
    terminal = Terminal("--json" in ours, "--debug" in ours, config, "--plain" in ours)
    return [*kept, *rest], terminal
