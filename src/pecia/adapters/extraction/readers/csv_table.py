"""Tables of separated values as tables people can read: the header, then a row a line."""

import csv
import io
from collections.abc import Iterator, Sequence

from pecia.adapters.extraction.readers.input_file import InputFile, ReaderResult
from pecia.adapters.extraction.readers.version import OURS, our_version
from pecia.adapters.extraction.wire import About
from pecia.kernel.text.canonical import RawUnit, UnitKind

_SAMPLE = 20_000
_CELL_LETTERS = 10_000_000


def read_csv(file: InputFile, first: int, count: int) -> ReaderResult:
    text = file.text.text.replace("\x00", "\ufffd")
    csv.field_size_limit(_CELL_LETTERS)
    rows = [it for it in csv.reader(io.StringIO(text), _delimiter(text)) if any(it)]
    about = About("", OURS, our_version(), is_markdown=True, unit_count=1)
    return ReaderResult(about, [RawUnit(1, UnitKind.SHEET, "\n".join(markdown_table(rows)))])


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


def _delimiter(text: str) -> type[csv.Dialect] | str:
    """The sign between cells: that which splits the first lines into the same number of cells."""
    lines = text[:_SAMPLE].splitlines()[:20]
    counts = {sign: [line.count(sign) for line in lines] for sign in ",;\t|"}
    best = max(counts, key=lambda it: (min(counts[it], default=0), sum(counts[it])))

    class Dialect(csv.excel):
        delimiter = best

    return Dialect
