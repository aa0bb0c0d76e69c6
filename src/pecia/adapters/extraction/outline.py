"""A document's table of contents, put where its titles stand in the canonical text. Pure."""

from collections.abc import Sequence

from pecia.adapters.extraction.wire import OutlineHeading
from pecia.kernel.text.canonical import CanonicalText, Unit
from pecia.kernel.text.chunks.chunk import OutlineEntry

# A title runs over no more lines than this.
_LINES = 3
# Many tables of contents leave out the number that stands before a title.
_NUMBER_LETTERS = 8


def locate_outline(
    whole: CanonicalText, headings: Sequence[OutlineHeading]
) -> tuple[OutlineEntry, ...]:
    """One entry a title, at its line on its page, or at the top of the page when it is not found.

    A title of a page that was not read has no place, and is left out.
    """
    units_by_no = {it.no: it for it in whole.units}
    placed: list[OutlineEntry] = []
    lines_of: int | None = None
    lines: list[tuple[int, str]] = []
    for it in headings:
        if it.unit_no not in units_by_no:
            continue
        # Titles come in the order of their pages, so one page at a time is enough to hold.
        if it.unit_no != lines_of:
            lines_of, lines = it.unit_no, _lines(whole.text, units_by_no[it.unit_no])
        placed.append(OutlineEntry(_place(lines, it.title), max(1, it.level), it.title))
    return tuple(placed)


def _lines(text: str, unit: Unit) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    at = unit.span.start
    for line in unit.span.of(text).split("\n"):
        found.append((at, _key(line)))
        at += len(line) + 1
    return found


def _place(lines: list[tuple[int, str]], title: str) -> int:
    wanted = _key(title)
    for number, (at, line) in enumerate(lines):
        if line and wanted.startswith(line):
            joined = "".join(it for _, it in lines[number : number + _LINES])
            if joined.startswith(wanted):
                return at
    near = (
        at
        for at, line in lines
        if wanted and line.endswith(wanted) and len(line) - len(wanted) <= _NUMBER_LETTERS
    )
    return next(near, lines[0][0])


def _key(line: str) -> str:
    return "".join(it for it in line.casefold() if it.isalnum())
