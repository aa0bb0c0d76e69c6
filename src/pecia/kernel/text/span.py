"""Places in a text, counted in code points, and edits at such places. Never does I/O."""

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """The characters from `start` up to, and without, `end`."""

    start: int
    end: int

    def of(self, text: str) -> str:
        return text[self.start : self.end]

    @property
    def size(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Edit:
    """Put `text` in the place of `span`. An empty span inserts, an empty text deletes."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Position:
    """A line and a column as people count them, both from 1."""

    line: int
    column: int


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text after all edits, whose spans refer to the text before any of them."""
    pieces: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda it: it.span):
        if edit.span.start < done or edit.span.end > len(text):
            raise ValueError(f"edit at {edit.span} overlaps another one or leaves the text")
        pieces += (text[done : edit.span.start], edit.text)
        done = edit.span.end
    pieces.append(text[done:])
    return "".join(pieces)


def split_lines(text: str) -> list[str]:
    """Lines with their ends, which are LF, CRLF or CR: joined, they are the text.

    `str.splitlines` also cuts at form feeds and other separators, which are content here.
    """
    return _LINE.findall(text)


def find_position(text: str, offset: int) -> Position:
    """Where people would say that `offset` is."""
    line, column = 1, offset + 1
    for end in _LINE_END.finditer(text, 0, offset):
        # A cut between CR and LF is still on the line that the pair ends.
        if end.group() == "\r" and text.startswith("\r\n", end.start()):
            continue
        line, column = line + 1, offset - end.end() + 1
    return Position(line, column)


_LINE = re.compile(r"[^\r\n]*+(?:\r\n|[\r\n])|[^\r\n]+")
_LINE_END = re.compile(r"\r\n|[\r\n]")
