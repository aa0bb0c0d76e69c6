"""How a stdio session ends that could not begin: explained on stderr, answered, and not with 0."""

import sys

import typer

from pecia.doors.cli.terminal import FAILED, Terminal
from pecia.doors.mcp.stdio import refuse
from pecia.kernel.errors import InternalError, PeciaError


def fail_session(terminal: Terminal, error: Exception) -> typer.Exit:
    """The exit to raise, when stderr has the reason and the first request has its answer."""
    known = error if isinstance(error, PeciaError) else _unexpected(error)
    explain(terminal, known)
    answer_first_request(known)
    return typer.Exit(FAILED)


def explain(terminal: Terminal, error: PeciaError) -> None:
    terminal.say(f"Failed to connect to Pecia MCP server: {error.message}")
    if hint := error.fields.get("hint"):
        terminal.say(f"  try: {hint}")


def answer_first_request(error: PeciaError) -> None:
    """An editor waits for its first answer, and few people find what it keeps of stderr."""
    if not sys.stdin.isatty():
        refuse(sys.stdin.buffer, sys.stdout.buffer, error)


def end_session(terminal: Terminal, refused: str | None) -> None:
    """Explain on stderr, and exit with an error, where the server served nothing."""
    if refused is not None:
        terminal.say(f"Failed to connect to Pecia MCP server: {refused}")
        raise typer.Exit(FAILED)


def _unexpected(error: Exception) -> PeciaError:
    return InternalError(f"{type(error).__name__}: {error}", hint="pecia doctor")
