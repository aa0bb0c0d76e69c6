"""The entry point of the command line: every command, and the one place that renders failures."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import typer

from pecia import __version__
from pecia.doors.cli import (
    call,
    cascade,
    cipher,
    ckf,
    config,
    confirmation,
    crawl,
    credential,
    directory,
    doctor,
    evaluate,
    index,
    init,
    keeping,
    mcp,
    migrate,
    okf,
    operator,
    secrets,
    serve,
    start,
    status,
    stop,
    upload,
    verbs,
    worker,
)
from pecia.doors.cli.terminal import MISUSED, OK, Misuse, Terminal, terminal_of, with_config
from pecia.kernel.errors import InvalidInput, PeciaError

INTERRUPTED = 130

EPILOG = "Every command takes --json (one JSON document on stdout) and --debug (tracebacks)."


def main() -> None:
    """Run the command line of this process."""
    raise SystemExit(run(sys.argv[1:]))


def run(words: Sequence[str]) -> int:
    """Run one command; its exit code."""
    words, terminal = own_words(words)
    try:
        code = commands()(list(words), prog_name="pecia", obj=terminal, standalone_mode=False)
        return code if isinstance(code, int) else OK
    except PeciaError as error:
        return terminal.fail(error)
    except Misuse as misuse:
        terminal.fail(misuse.error)
        return MISUSED
    except typer.TyperException as error:
        # Without a message, its help has been shown already.
        if said := error.format_message():
            terminal.fail(InvalidInput(said, field="command", hint="pecia --help"))
        return error.exit_code
    except BrokenPipeError:
        # Whoever read us has enough. Without this the interpreter would complain at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except (typer.Abort, KeyboardInterrupt):
        terminal.say("stopped")
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - a door: nobody else is left to tell.
        cause = sole(error)
        if isinstance(cause, PeciaError):
            return terminal.fail(cause)
        return terminal.crash(cause if isinstance(cause, Exception) else error)


def sole(error: BaseException) -> BaseException:
    """The one error in a group of tasks that failed, when it is one."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast(BaseExceptionGroup[BaseException], error)
    return sole(group.exceptions[0]) if len(group.exceptions) == 1 else group


def own_words(words: Sequence[str]) -> tuple[list[str], Terminal]:
    """Take --json and --debug out, wherever they stand before a `--`."""
    end = words.index("--") if "--" in words else len(words)
    ours, rest = words[:end], words[end:]
    kept = [it for it in ours if it not in ("--json", "--debug")]
    return [*kept, *rest], Terminal("--json" in ours, "--debug" in ours)


def commands() -> typer.Typer:
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
        keeping,
        operator,
        mcp,
        cipher,
        cascade,
        okf,
    ):
        command.add_to(app)
    groups = verbs.add_to(app)
    secrets.add_to(groups["secret"])
    directory.add_to(groups["group"])
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
    terminal_of(ctx).give({"version": __version__}, lambda it: it.line(__version__))
