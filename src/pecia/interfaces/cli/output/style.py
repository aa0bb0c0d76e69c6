"""Colours and wrapping for a terminal that somebody reads: none in a pipe, with --plain, NO_COLOR
or a dumb terminal."""

import re
import shutil
import textwrap
from dataclasses import dataclass

from pecia.interfaces.cli.output.render import escape_unprintable
from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.cli.settings import environ

MIN_WIDTH, MAX_WIDTH = 40, 100

_BOLD, _DIM, _MARK, _OFF = "\x1b[1m", "\x1b[2m", "\x1b[1;33m", "\x1b[0m"


@dataclass(frozen=True, slots=True)
class TextStyle:
    """How texts are set off on this terminal."""

    width: int = 80
    has_colour: bool = False

    def bold(self, text: str) -> str:
        return self._set(_BOLD, text)

    def dim(self, text: str) -> str:
        return self._set(_DIM, text)

    def mark(self, text: str) -> str:
        """A word that was searched for."""
        return self._set(_MARK, text)

    def _set(self, code: str, text: str) -> str:
        return f"{code}{text}{_OFF}" if self.has_colour and text else text


def text_style(terminal: Terminal) -> TextStyle:
    """The style of this terminal."""
    if not terminal.is_terminal:
        return TextStyle()
    variables = environ()
    has_colour = not variables.get("NO_COLOR") and variables.get("TERM") != "dumb"
    columns = shutil.get_terminal_size().columns
    return TextStyle(max(MIN_WIDTH, min(columns, MAX_WIDTH)), has_colour)


def wrap_passage(text: str, marks: list[tuple[int, int]], style: TextStyle, lead: str) -> list[str]:
    """A passage on lines of the terminal's width, its matches marked. Only blank lines are left
    out; control characters are escaped."""
    is_open = False
    found: list[str] = []
    for line in _with_marks(text, marks).splitlines():
        for part in textwrap.wrap(line, max(20, style.width - len(lead)), break_on_hyphens=False):
            shown, is_open = _colour_line(part, is_open, style)
            found.append(lead + shown)
    return found


# Of the private use area: in no text that is worth reading, and of the width of one letter.
_START, _END = "\ue000", "\ue001"
_MARKS = re.compile(f"([{_START}{_END}])")


def _with_marks(text: str, marks: list[tuple[int, int]]) -> str:
    clean = text.replace(_START, " ").replace(_END, " ")
    for start, end in sorted(marks, reverse=True):
        clean = f"{clean[:start]}{_START}{clean[start:end]}{_END}{clean[end:]}"
    return clean


def _colour_line(line: str, is_open: bool, style: TextStyle) -> tuple[str, bool]:
    parts: list[str] = []
    for it in _MARKS.split(line):
        if it in (_START, _END):
            is_open = it == _START
        else:
            shown = escape_unprintable(it)
            parts.append(style.mark(shown) if is_open else shown)
    return "".join(parts), is_open
