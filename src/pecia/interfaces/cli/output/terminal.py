"""Output of the command line: one document on stdout, everything else on stderr, never mixed."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from pecia.kernel.errors import InternalError, Json, PeciaError

if TYPE_CHECKING:
    import typer

EXIT_OK, EXIT_FAILED, EXIT_MISUSED = 0, 1, 2
"""Exit codes: success; error; usage error."""

# Hints by error code. A command with a better one sets `hint`.
ADVICE: Mapping[str, str] = {
    "AUTH_REQUIRED": "set PECIA_TOKEN to a token of this server; an administrator makes one with "
    "`pecia token make`",
    "FORBIDDEN": "ask an administrator of your tenant; where a scope is named, use a token with it",
    "TOOL_NOT_FOUND": "list them with `pecia call --list`",
    "RATE_LIMITED": "wait, then try again",
    "QUOTA_EXCEEDED": "remove something, or ask the operator for more with `pecia tenant quota`",
    "STORAGE_FULL": "free disk space, then try again",
    # Who raises it knows which limit it was and what sets it: that hint comes first.
    "TIMEOUT": "try again, or ask for less at once",
    "UPSTREAM_ERROR": "look at it with `pecia doctor`",
    "UNAVAILABLE": "look at it with `pecia doctor`",
    "INTERNAL_ERROR": "run it again with --debug, and look at the log of the server",
}

# Fields that the message already has, or that only a program reads.
_HIDDEN_FIELDS = frozenset({"code", "message", "retryable", "problems", "hint", "available"})


@dataclass(frozen=True, slots=True)
class Terminal:
    """The output of a command. One per process."""

    as_json: bool = False
    debug: bool = False
    config: Path | None = None
    plain: bool = False
    """Plain text, as for a pipe, on a terminal too."""

    @property
    def stdout(self) -> TextIO:
        return sys.stdout

    @property
    def is_terminal(self) -> bool:
        """Whether stdout is a terminal that somebody reads."""
        return not self.plain and self.stdout.isatty()

    def info(self, text: str) -> None:
        """A message for the person at the keyboard."""
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    def print_result(self, document: Json, show: Callable[["Terminal"], None]) -> None:
        """The result: as JSON with --json, else as `show` writes it."""
        if self.as_json:
            self._write(json.dumps(document, ensure_ascii=False, indent=2) + "\n", at_once=True)
        else:
            show(self)

    def print_line(self, text: str = "") -> None:
        """One line of the result."""
        self._write(f"{text}\n")

    def _write(self, text: str, *, at_once: bool = False) -> None:
        try:
            self.stdout.write(text)
            if at_once:
                self.stdout.flush()
        except OSError as error:
            raise OutputLostError(error) from error

    def print_error(self, error: PeciaError) -> int:
        """Print the error and a hint; the exit code."""
        payload = error.payload()
        if self.as_json:
            self.print_result({"error": payload}, lambda _: None)
        self.info(f"[{error.code.name}] {error.message}")
        for line in _error_lines(error):
            self.info(f"  {line}")
        return EXIT_FAILED

    def print_crash(self, error: Exception) -> int:
        """An internal error: a traceback with --debug only."""
        if self.debug:
            raise error
        return self.print_error(InternalError(f"{type(error).__name__}: {error}"))


class OutputLostError(Exception):
    """Stdout does not take the result. No OSError: those are of the command's own files."""

    def __init__(self, failure: OSError) -> None:
        super().__init__(str(failure))
        self.failure = failure


class CommandUsageError(Exception):
    """A usage error: nothing was run."""

    def __init__(self, error: PeciaError, hint: str | None = None) -> None:
        super().__init__(error.message)
        error.fields = {**error.fields, **({"hint": hint} if hint else {})}
        self.error = error


def with_config(terminal: Terminal, config: Path | None) -> Terminal:
    """The same terminal, with this configuration file unless it has one."""
    return replace(terminal, config=config or terminal.config)


def terminal_of(ctx: "typer.Context") -> Terminal:
    """The terminal of the run that a command is part of."""
    return cast(Terminal, ctx.find_root().obj)


def _error_lines(error: PeciaError) -> list[str]:
    lines = [
        f"{name}: {_format_value(value)}"
        for name, value in error.fields.items()
        if name not in _HIDDEN_FIELDS and value is not None
    ]
    general = error.code.hint
    hint = error.fields.get("hint")
    # The general hint of a code is replaced by one for the shell.
    advice = (hint if hint != general else None) or ADVICE.get(error.code.name, general)
    return [*lines, *([f"hint: {advice}"] if advice else [])]


def _format_value(value: Json) -> str:
    if isinstance(value, list):
        return ", ".join(_format_value(it) for it in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
