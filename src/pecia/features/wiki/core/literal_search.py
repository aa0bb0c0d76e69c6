"""Literal search: the lines of documents that contain a text. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from pecia.kernel.text.span import split_lines

MAX_LINE_CHARS = 2000


@dataclass(frozen=True, slots=True)
class LineMatch:
    """`line` counts from 1. `cut`: the line is longer than what is shown."""

    line: int
    text: str
    cut: bool = False


def find_lines(text: str, query: str, *, case_sensitive: bool) -> Iterable[LineMatch]:
    """Every line that contains the text, in order."""
    wanted = query if case_sensitive else query.casefold()
    if wanted not in (text if case_sensitive else text.casefold()):
        return
    for number, line in enumerate(split_lines(text), start=1):
        if wanted in (line if case_sensitive else line.casefold()):
            plain = line.rstrip("\r\n")
            yield LineMatch(number, plain[:MAX_LINE_CHARS], len(plain) > MAX_LINE_CHARS)
