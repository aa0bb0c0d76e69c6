"""A stdio session that could not begin: error on stderr, error response, exit code above 0."""

import sys

import typer

from pecia.interfaces.cli.output.failure import explain_unwritable
from pecia.interfaces.cli.output.terminal import EXIT_FAILED, Terminal
from pecia.interfaces.mcp.transport.stdio.relay import refuse_requests
from pecia.kernel.errors import InternalError, PeciaError


def fail_session(terminal: Terminal, error: Exception) -> typer.Exit:
    """The exit to raise, after printing the reason and answering the first request."""
    known = error if isinstance(error, PeciaError) else _explain(error)
    print_failure(terminal, known)
    answer_first_request(known)
    return typer.Exit(EXIT_FAILED)


def print_failure(terminal: Terminal, error: PeciaError) -> None:
    terminal.info(f"Failed to connect to Pecia MCP server: {error.message}")
    if hint := error.fields.get("hint"):
        terminal.info(f"  hint: {hint}")


def answer_first_request(error: PeciaError) -> None:
    """An editor waits for its first answer, and few users find its log of stderr."""
    if not sys.stdin.isatty():
        refuse_requests(sys.stdin.buffer, sys.stdout.buffer, error)


def end_session(terminal: Terminal, refused: str | None) -> None:
    """Print the reason to stderr and exit with an error, where the server served nothing."""
    if refused is not None:
        terminal.info(f"Failed to connect to Pecia MCP server: {refused}")
        raise typer.Exit(EXIT_FAILED)


def _explain(error: Exception) -> PeciaError:
    unwritable = explain_unwritable(error) if isinstance(error, OSError) else None
    return unwritable or InternalError(f"{type(error).__name__}: {error}", hint="pecia doctor")
