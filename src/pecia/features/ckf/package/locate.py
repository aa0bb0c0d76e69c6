"""Finds a quotation in a text: exact, else ignoring case, else ignoring white space. Pure."""

import re
from dataclasses import dataclass
from enum import StrEnum

from pecia.kernel.text.span import Span


class MatchMethod(StrEnum):
    EXACT = "exact"
    CASE = "case"
    SPACE = "space"


@dataclass(frozen=True, slots=True)
class LocatedQuotation:
    span: Span
    method: MatchMethod


class SearchableText:
    """A text to find many quotations in. Its normalized forms are computed once."""

    def __init__(self, text: str) -> None:
        self.text = text
        # Cached: an item and its trace row have the same quotation.
        self._known: dict[str, LocatedQuotation | None] = {}
        self._folded: str | None = None
        self._spaced: tuple[str, list[int]] | None = None

    def find(self, quotation: str, around: int | None = None) -> LocatedQuotation | None:
        """The span of the quotation, preferably the occurrence at `around`."""
        if not quotation.strip():
            return None
        if around is not None and around >= 0 and self.text.startswith(quotation, around):
            return _match_at(around, len(quotation), MatchMethod.EXACT)
        if quotation not in self._known:
            self._known[quotation] = self._first(quotation)
        return self._known[quotation]

    def _first(self, quotation: str) -> LocatedQuotation | None:
        at = self.text.find(quotation)
        if at >= 0:
            return _match_at(at, len(quotation), MatchMethod.EXACT)
        at = self._without_case().find(_lower(quotation))
        if at >= 0:
            return _match_at(at, len(quotation), MatchMethod.CASE)
        return self._by_space(quotation)

    def _without_case(self) -> str:
        if self._folded is None:
            self._folded = _lower(self.text)
        return self._folded

    def _by_space(self, quotation: str) -> LocatedQuotation | None:
        if self._spaced is None:
            self._spaced = _collapse_spaces(self._without_case())
        text, places = self._spaced
        wanted, _ = _collapse_spaces(_lower(quotation.strip()))
        at = text.find(wanted)
        if at < 0:
            return None
        start, last = places[at], places[at + len(wanted) - 1]
        return LocatedQuotation(Span(start, last + 1), MatchMethod.SPACE)


def _match_at(start: int, size: int, method: MatchMethod) -> LocatedQuotation:
    return LocatedQuotation(Span(start, start + size), method)


def _lower(text: str) -> str:
    # Offsets must not shift, so letters whose lower case is longer are kept.
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := it.lower()) == 1 else it for it in text)


def _collapse_spaces(text: str) -> tuple[str, list[int]]:
    """The text with white space collapsed, and the original offset of each character."""
    pieces: list[str] = []
    places: list[int] = []
    for it in _RUN.finditer(text):
        if it[0].isspace():
            pieces.append(" ")
            places.append(it.start())
        else:
            pieces.append(it[0])
            places.extend(range(it.start(), it.end()))
    return "".join(pieces), places


_RUN = re.compile(r"\s+|\S+")
