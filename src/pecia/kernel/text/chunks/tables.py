"""Where the tables of a text are, and which of their lines repeat when one is cut. Pure."""

import re
from dataclasses import dataclass

from pecia.kernel.text.span import Span, split_lines

MAX_CAPTION_CHARS = 200
MIN_ROWS = 3
MAX_HEADER_LINES = 4
MAX_LINES_BETWEEN_ROWS = 2


@dataclass(frozen=True, slots=True)
class TextTable:
    """`head` is the caption and the header; the rows follow it up to the end of `span`."""

    span: Span
    head: Span


def build_markdown_table(text: str, rows: Span, before: Span | None) -> TextTable:
    """A pipe table, with the paragraph before it if that is its caption."""
    header = split_lines(rows.of(text))[:2]
    start = before.start if before and is_caption(before.of(text)) else rows.start
    return TextTable(Span(start, rows.end), Span(start, rows.start + sum(map(len, header))))


def is_caption(paragraph: str) -> bool:
    """One short line that says "Table 3", ends in a colon, or is bold as a whole."""
    line = paragraph.strip()
    return len(line) <= MAX_CAPTION_CHARS and "\n" not in line and bool(_CAPTION.fullmatch(line))


def find_plain_tables(text: str, span: Span) -> list[TextTable]:
    """Runs of lines that end in columns of numbers, as PDF text has them, with what is above.

    A few lines without numbers may stand between rows: they name groups of rows.
    """
    starts: list[int] = []
    rows: list[int] = []
    lines = split_lines(span.of(text))
    at = span.start
    for number, line in enumerate(lines):
        starts.append(at)
        at += len(line)
        if is_row(line):
            rows.append(number)
    starts.append(at)
    tables: list[TextTable] = []
    free = 0
    for first, last in _runs(rows):
        top = _top(lines, first, free)
        head = Span(starts[top], starts[first])
        tables.append(TextTable(Span(head.start, starts[last + 1]), head))
        free = last + 1
    return tables


def is_row(line: str) -> bool:
    """At least two columns, the last one a number, and too few words for a sentence."""
    if "\t" in line.strip() or len(_WIDE_GAP.findall(line.strip())) >= 2:
        return True
    if not _ENDS_IN_NUMBER.search(line):
        return False
    numbers = len(_NUMBER.findall(line))
    return numbers >= 2 and len(_WORD.findall(line)) <= 12


def _runs(rows: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    first = count = 0
    for number, row in enumerate(rows):
        if number and row - rows[number - 1] <= MAX_LINES_BETWEEN_ROWS + 1:
            count += 1
        else:
            first, count = row, 1
        if count == MIN_ROWS:
            runs.append((first, row))
        elif count > MIN_ROWS:
            runs[-1] = (first, row)
    return runs


def _top(lines: list[str], first: int, free: int) -> int:
    """The first of the lines above a row that are its header, with single blank lines between.

    Lines before `free` belong to another table.
    """
    top = first
    for _ in range(MAX_HEADER_LINES):
        above = top - 1
        if above > free and not lines[above].strip():
            above -= 1
        if above < free or not _is_header(lines[above]):
            break
        top = above
    return top


def _is_header(line: str) -> bool:
    words = line.strip()
    return 0 < len(words) <= 100 and not words.endswith((".", ";", ","))


_CAPTION = re.compile(
    r"[*_]*(?:table|figure|exhibit|schedule|tabelle|tableau|tabla|tabela|tabella)\b.*|.*:[*_]*"
    r"|\*\*[^*]+\*\*|__[^_]+__",
    re.IGNORECASE,
)
_WIDE_GAP = re.compile(r" {2,}")
_NUMBER = re.compile(r"(?<![\w.,])[-–(]?[$€£]? ?\d[\d.,]*+%?\)?")
_ENDS_IN_NUMBER = re.compile(r"(?:\d[%)]?|[—–-])\s*$")
_WORD = re.compile(r"[^\W\d_]{2,}")
