"""What stands above a page: its first lines, where they are a title. Pure.

A page of a report often says what it is in its first lines and nowhere else, and what is cut out of
its midst should say so too. Lines that stand on many pages are the report's own and say nothing.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from pecia.kernel.text.canonical import Unit, UnitKind

# A title has few lines, near the top, and none as long as a line of prose.
MAX_LINES = 3
MAX_LINE_CHARS = 90
_TOP, _FOOT, _DEPTH = 4, 3, 8
# A line that this share of the pages has, and no fewer than so many, is the report's own.
_OFTEN = 0.15
_MIN_REPEATS = 4
# A row of a table has several numbers, a title a year or two.
_MAX_NUMBERS = 2
_MAX_CLAUSE_CHARS = 50
_MIN_SENTENCE_WORDS = 5

_NUMBER = re.compile(r"\d[\d.,]*")
_NO_LETTERS = re.compile(r"[\W\d_]+")
_BLANKS = re.compile(r"\s+")


def find_page_titles(text: str, units: Sequence[Unit]) -> dict[int, tuple[str, ...]]:
    """The title of each page that has one, by where the page starts."""
    pages = {it.span.start: _lines(it.span.of(text)) for it in units if it.kind is UnitKind.PAGE}
    own = _own_lines(pages.values())
    heads = {start: tuple(_head(lines, own)) for start, lines in pages.items()}
    return {start: head for start, head in heads.items() if head}


def _lines(page: str) -> list[str]:
    """As many of the lines with words as are looked at: the first, and the last for their sake."""
    lines = [it for it in map(str.strip, page.split("\n")) if it]
    return lines if len(lines) <= _DEPTH + _FOOT else [*lines[: _DEPTH + 1], *lines[-_FOOT:]]


def _own_lines(pages: Iterable[Sequence[str]]) -> frozenset[str]:
    """What the top or the foot of many pages says, whatever number it has."""
    counts: Counter[str] = Counter()
    of = 0
    for lines in pages:
        of += 1
        counts.update({_plain(it) for it in (*lines[:_TOP], *lines[-_FOOT:])})
    often = max(_MIN_REPEATS, _OFTEN * of)
    return frozenset({"", *(line for line, count in counts.items() if count >= often)})


def _head(lines: Sequence[str], own: frozenset[str]) -> Iterator[str]:
    found = 0
    for line, following in pairwise([*lines[: _DEPTH + 1], ""][: _DEPTH + 1]):
        if _plain(line) in own:
            continue
        if found == MAX_LINES or not _is_title(line, following):
            return
        found += 1
        yield _BLANKS.sub(" ", line)


def _is_title(line: str, following: str) -> bool:
    if len(line) > MAX_LINE_CHARS or line[0].islower():
        return False
    if len(_NUMBER.findall(line)) > _MAX_NUMBERS:
        return False
    if len(line) > _MAX_CLAUSE_CHARS and line.endswith((";", ",", ":")):
        return False
    if line.endswith(".") and line.count(" ") >= _MIN_SENTENCE_WORDS:
        return False
    # What goes on in small letters is a sentence.
    return line.isupper() or not following[:1].islower()


def _plain(line: str) -> str:
    return _NO_LETTERS.sub(" ", line.lower()).strip()
