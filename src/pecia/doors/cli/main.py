"""The entry point of the command line: every command, and the one place that renders failures."""

import sys
from collections.abc import Sequence

import typer

from pecia import __version__
from pecia.doors.cli import call, start, stop, verbs, worker
from pecia.doors.cli.terminal import MISUSED, OK, Misuse, Terminal, terminal_of
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
        code = commands()(
            list(words), prog_name="pecia", obj=terminal, standalone_mode=False
        )
        return code if isinstance(code, int) else OK
    except PeciaError as error:
        return terminal.fail(error)
    except Misuse as misuse:
        terminal.fail(misuse.error)
        return MISUSED
    except typer.TyperException as error:
        terminal.fail(InvalidInput(error.format_message(), field="command", hint="pecia --help"))
        return error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        terminal.say("stopped")
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - a door: nobody else is left to tell.
        return terminal.crash(error)


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
        help="Find, read, compile, write, layer and remember knowledge.",
        epilog=EPILOG,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.command()(version)
    start.add_to(app)
    stop.add_to(app)
    worker.add_to(app)
    call.add_to(app)
    verbs.add_to(app)
    return app


def version(ctx: typer.Context) -> None:
    """The version of this program."""
    terminal_of(ctx).give({"version": __version__}, lambda it: it.line(__version__))
