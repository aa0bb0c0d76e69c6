"""The entry point of the command line: every command, and the one place that renders failures."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import typer

from pecia import __version__
from pecia.interfaces.cli.cipher import cipher
from pecia.interfaces.cli.commands import (
    call,
    ckf,
    config,
    init,
    mcp,
    okf,
    serve,
    shortcuts,
    start,
    status,
    stop,
    worker,
)
from pecia.interfaces.cli.commands.admin import (
    backup,
    group_import,
    index,
    migrate,
    operator,
    secrets,
)
from pecia.interfaces.cli.commands.cascade import cascade
from pecia.interfaces.cli.commands.doctor import doctor
from pecia.interfaces.cli.commands.evaluation import evaluate
from pecia.interfaces.cli.commands.source import crawl, credential, upload
from pecia.interfaces.cli.output.terminal import (
    EXIT_MISUSED,
    EXIT_OK,
    CommandUsageError,
    Terminal,
    terminal_of,
    with_config,
)
from pecia.interfaces.cli.tools import confirmation
from pecia.kernel.errors import InvalidInput, PeciaError

EXIT_INTERRUPTED = 130

EPILOG = "Every command takes --json (one JSON document on stdout) and --debug (tracebacks)."


def main() -> None:
    """Run the command line of this process."""
    raise SystemExit(run(sys.argv[1:]))


def run(words: Sequence[str]) -> int:
    """Run one command; its exit code."""
    words, terminal = split_global_options(words)
    try:
        code = build_commands()(list(words), prog_name="pecia", obj=terminal, standalone_mode=False)
        return code if isinstance(code, int) else EXIT_OK
    except PeciaError as error:
        return terminal.print_error(error)
    except CommandUsageError as misuse:
        terminal.print_error(misuse.error)
        return EXIT_MISUSED
    except typer.TyperException as error:
        # Without a message, its help has been shown already.
        if said := error.format_message():
            terminal.print_error(_usage_error(error, said))
        return error.exit_code
    except BrokenPipeError:
        # The reader closed the pipe. Without this the interpreter would print an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except (typer.Abort, KeyboardInterrupt):
        terminal.info("stopped")
        return EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the outermost handler.
        cause = unwrap_group(error)
        if isinstance(cause, PeciaError):
            return terminal.print_error(cause)
        return terminal.print_crash(cause if isinstance(cause, Exception) else error)


def _usage_error(error: typer.TyperException, said: str) -> InvalidInput:
    """What is wrong with a command: its option or argument, and whose help says what is right."""
    option, context = getattr(error, "param", None), getattr(error, "ctx", None)
    command = context.command_path if context else "pecia"
    field = option.name if option and option.name else "command"
    return InvalidInput(said, field=field, hint=f"{command} --help")


def unwrap_group(error: BaseException) -> BaseException:
    """The one error in a group of tasks that failed, when it is one."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast(BaseExceptionGroup[BaseException], error)
    return unwrap_group(group.exceptions[0]) if len(group.exceptions) == 1 else group


def split_global_options(words: Sequence[str]) -> tuple[list[str], Terminal]:
    """Take --json and --debug out, wherever they stand before a `--`."""
    end = words.index("--") if "--" in words else len(words)
    ours, rest = words[:end], words[end:]
    kept = [it for it in ours if it not in ("--json", "--debug")]
    return [*kept, *rest], Terminal("--json" in ours, "--debug" in ours)


def build_commands() -> typer.Typer:
    """All commands. Making them imports neither the web stack nor the database driver."""
    app = typer.Typer(
        name="pecia",
        epilog=EPILOG,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(with_options)
    for command in (
        start,
        init,
        stop,
        status,
        call,
        confirmation,
        ckf,
        config,
        doctor,
        evaluate,
        index,
        serve,
        worker,
        migrate,
        backup,
        operator,
        mcp,
        cipher,
        cascade,
        okf,
    ):
        command.add_to(app)
    groups = shortcuts.add_to(app)
    secrets.add_to(groups["secret"])
    group_import.add_to(groups["group"])
    crawl.add_to(groups["source"])
    credential.add_to(groups["source"])
    upload.add_to(groups["source"])
    app.command()(version)
    return app


def with_options(
    ctx: typer.Context,
    config: Path | None = typer.Option(None, help="A configuration file, in place of the user's."),
) -> None:
    """Find, read, compile, write, layer and remember knowledge."""
    ctx.obj = with_config(terminal_of(ctx), config)


def version(ctx: typer.Context) -> None:
    """The version of this program."""
    terminal_of(ctx).print_result({"version": __version__}, lambda it: it.print_line(__version__))
