"""One canonical text per revision of a file, to which every citation refers. Pure.

The text is in NFC with LF line ends. Its units (pages, slides, sheets, sections, cues) are joined
by a line with a form feed; a table keeps where each one is, in code points. Form feeds inside a
unit become line ends, so that the joints are the only ones. What PostgreSQL or UTF-8 cannot hold
(NUL, half of a surrogate pair) becomes U+FFFD.
"""

import hashlib
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from pecia.kernel.text.span import Span

UNIT_SEPARATOR = "\n\f\n"


class UnitKind(StrEnum):
    PAGE = "page"
    SLIDE = "slide"
    SHEET = "sheet"
    SECTION = "section"
    CUE = "cue"


@dataclass(frozen=True, slots=True)
class RawUnit:
    """A unit as an extractor gives it. Cues carry times, the others a number and a label."""

    no: int
    kind: UnitKind
    text: str
    label: str = ""
    ts_start_ms: int | None = None
    ts_end_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of a canonical text. The joints lie between the spans."""

    no: int
    kind: UnitKind
    label: str
    span: Span
    ts_start_ms: int | None = None
    ts_end_ms: int | None = None

    @property
    def is_locator(self) -> bool:
        """Whether a reader is sent to this very unit, so that nothing may straddle its edge."""
        return self.kind is not UnitKind.SECTION

    @property
    def page_no(self) -> int | None:
        return self.no if self.kind is UnitKind.PAGE else None


@dataclass(frozen=True, slots=True)
class CanonicalText:
    text: str
    units: tuple[Unit, ...]
    sha256: str

    def unit_at(self, offset: int) -> Unit | None:
        """The unit that holds the character; a joint belongs to the unit before it."""
        return unit_at(self.units, offset)


def build_canonical_text(units: Iterable[RawUnit]) -> CanonicalText:
    """The units as one text. Given its own units again, it is the same text."""
    table: list[Unit] = []
    pieces: list[str] = []
    start = 0
    for raw in units:
        piece = normalize(raw.text)
        span = Span(start, start + len(piece))
        table.append(Unit(raw.no, raw.kind, raw.label, span, raw.ts_start_ms, raw.ts_end_ms))
        pieces.append(piece)
        start = span.end + len(UNIT_SEPARATOR)
    text = UNIT_SEPARATOR.join(pieces)
    return CanonicalText(text, tuple(table), hash_text(text))


def normalize(text: str) -> str:
    """NFC and LF, with nothing that a store would refuse."""
    clean = _LINE_END.sub("\n", text)
    clean = _REFUSED.sub("\ufffd", clean)
    return clean if clean.isascii() else unicodedata.normalize("NFC", clean)


def hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def unit_at(units: tuple[Unit, ...], offset: int) -> Unit | None:
    number = bisect_right(units, offset, key=lambda it: it.span.start)
    return units[number - 1] if number else None


_LINE_END = re.compile(r"\r\n|[\r\f]")
_REFUSED = re.compile(r"[\x00\ud800-\udfff]")
