"""Tables of separated values as tables people can read: the header, then a row a line."""

import csv
import io
import re
from collections.abc import Iterator, Sequence

from pecia.adapters.extraction.readers.input_file import InputFile, ReaderResult
from pecia.adapters.extraction.readers.version import OURS, our_version
from pecia.adapters.extraction.wire import About
from pecia.kernel.text.canonical import RawUnit, UnitKind

_SAMPLE = 20_000
_SAMPLED_LINES = 20
# Two lines at least, or one with a blank after its sign: `#1` may be a value.
_COMMENT = re.compile(r"(?:#[^\n]*\n+){2,}|#[ \t][^\n]*\n|#[^\n\d][^\n]*\n")
_CELL_LETTERS = 10_000_000


def read_csv(file: InputFile, first: int, count: int) -> ReaderResult:
    comment, text = _split_comment(file.text.text.replace("\x00", "\ufffd"))
    csv.field_size_limit(_CELL_LETTERS)
    dialect = _dialect(text)
    rows = [it for it in csv.reader(io.StringIO(text), dialect) if any(it)]
    if comment and (header := _commented_header(comment[-1], rows, dialect)):
        rows.insert(0, header)
        comment.pop()
    blocks = ["\n".join(comment), "\n".join(markdown_table(rows))]
    about = About("", OURS, our_version(), is_markdown=True, unit_count=1)
    return ReaderResult(about, [RawUnit(1, UnitKind.SHEET, "\n\n".join(filter(None, blocks)))])


def _split_comment(text: str) -> tuple[list[str], str]:
    """The lines of a comment at the start, without their signs, and the table after it."""
    body = text.removeprefix("\ufeff")
    end = _COMMENT.match(body)
    if end is None or not body[end.end() :].strip():
        return [], body
    lines = (it.lstrip("#").strip(" ") for it in end[0].splitlines())
    return [it for it in lines if it], body[end.end() :]


def _commented_header(
    line: str, rows: Sequence[Sequence[str]], dialect: type[csv.Dialect]
) -> list[str]:
    """The names of the columns, where the last line of the comment has as many as the rows."""
    cells = [cell for row in csv.reader([line], dialect) for cell in row]
    widths = [len(it) for it in rows[:_SAMPLED_LINES]]
    return cells if len(cells) > 1 and widths and len(cells) == max(widths) else []


def markdown_table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows as a Markdown table; the first is its header."""
    width = max(map(len, rows), default=0)
    for number, row in enumerate(rows):
        cells = [*map(_cell, row), *[""] * (width - len(row))]
        yield f"| {' | '.join(cells)} |"
        if number == 0:
            yield f"| {' | '.join(['---'] * width)} |"


def _cell(value: str) -> str:
    return " ".join(value.split()).replace("|", "\\|")


def _dialect(text: str) -> type[csv.Dialect]:
    """The sign between cells: that which splits the first lines into the same number of cells."""
    lines = [it for it in text[:_SAMPLE].splitlines() if not it.startswith("#")][:_SAMPLED_LINES]
    counts = {sign: [line.count(sign) for line in lines] for sign in ",;\t|"}
    best = max(counts, key=lambda it: (min(counts[it], default=0), sum(counts[it])))

    class Dialect(csv.excel):
        delimiter = best

    return Dialect
