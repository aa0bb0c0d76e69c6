"""Bibliographic metadata from the first and last pages of a PDF. Pure; no model.

Only what is printed there counts: a field that is not found is left out, never guessed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pecia.features.ckf.package.model import Item
from pecia.kernel.errors import Json


def find_isbn(line: str) -> str:
    """The first good ISBN of a line, without its hyphens, or nothing."""
    for it in _PRINTED.finditer(line):
        digits = re.sub(r"[ -]", "", it[1]).upper()
        if _is_valid_checksum(digits):
            return digits
    return ""


def _is_valid_checksum(digits: str) -> bool:
    if len(digits) == 13 and digits.isdigit():
        return sum(int(it) * (3 if at % 2 else 1) for at, it in enumerate(digits)) % 10 == 0
    if len(digits) == 10 and digits[:9].isdigit():
        values = [10 if it == "X" else int(it) for it in digits]
        return sum(value * (10 - at) for at, value in enumerate(values)) % 11 == 0
    return False


_PRINTED = re.compile(
    r"(?i)isbn(?:-1[03])?(?:\s*\([^)]{1,20}\))?\s*:?\s*([0-9][0-9 -]{8,16}[0-9xX])"
)


FRONT_PAGES, BACK_PAGES = 5, 3
TITLE_PAGES = 3
BOOK_PAGES = 80
FIELDS = (
    "source_title",
    "source_subtitle",
    "source_authors",
    "source_edition",
    "source_publisher",
    "source_year",
    "source_isbn",
)


@dataclass(frozen=True, slots=True)
class BookPage:
    number: int
    lines: tuple[str, ...]
    matter: str


@dataclass(frozen=True, slots=True)
class BibliographicFact:
    """A value, and the page that it is printed on."""

    value: Json
    page: BookPage


@dataclass(frozen=True, slots=True)
class Bibliography:
    facts: dict[str, BibliographicFact]
    is_book: bool

    @property
    def format(self) -> str:
        return "pdf_book" if self.is_book else "pdf_document"

    def merge_header(self, inferred: Item) -> Item:
        """The header, with inferred values overridden by printed ones."""
        made = {**inferred, "source_type": "PDF e-book" if self.is_book else "PDF document"}
        made.update((name, it.value) for name, it in self.facts.items())
        authors = self.facts.get("source_authors")
        if authors and isinstance(authors.value, list):
            made["source_author"] = ", ".join(str(it) for it in authors.value)
        return made

    def list_warnings(self, inferred: Item) -> list[str]:
        """One line for every field that was replaced, and for every one that was not found."""
        return [_field_warning(name, self.facts.get(name), inferred.get(name)) for name in FIELDS]


def is_pdf(*names: str) -> bool:
    return any(it.lower().endswith(".pdf") for it in names)


def extract_bibliography(text: str) -> Bibliography:
    """The facts on pages 1 to 5 and the last three; form feeds mark the pages."""
    every = text.split("\f")
    pages = [it for it in _pages(every) if it.lines]
    found = dict(_titles(pages)) | dict(_imprint(pages))
    return Bibliography(found, "source_isbn" in found or len(every) >= BOOK_PAGES)


def _field_warning(name: str, fact: BibliographicFact | None, old: Json) -> str:
    if fact is None:
        return f"metadata.{name}: not found in front/back matter"
    place = f"{fact.page.matter}-matter (p.{fact.page.number})"
    return f'metadata.{name}: overridden by {place}: "{old or ""}" -> "{fact.value}"'


def _pages(every: list[str]) -> Iterator[BookPage]:
    for number, words in enumerate(every, start=1):
        front, back = number <= FRONT_PAGES, number > len(every) - BACK_PAGES
        if front or back:
            lines = (" ".join(it.split()) for it in words.splitlines())
            yield BookPage(number, tuple(it for it in lines if it), "front" if front else "back")


def _titles(pages: list[BookPage]) -> Iterator[tuple[str, BibliographicFact]]:
    """Title, subtitle and authors, which stand together on one of the first pages."""
    place = _title_place(pages)
    if place is None:
        return
    page, at = place
    title, subtitle = _split_subtitle(page.lines[at])
    yield "source_title", BibliographicFact(title, page)
    below = list(page.lines[at + 1 : at + 4])
    if not subtitle and below and _is_title(below[0]) and not _names(below[0]):
        subtitle = below.pop(0)
    if subtitle:
        yield "source_subtitle", BibliographicFact(subtitle, page)
    # A `by` line elsewhere may credit a foreword.
    authors = _authors([page]) or _below(page, below) or _authors(pages)
    if authors:
        yield "source_authors", authors


def _title_place(pages: list[BookPage]) -> tuple[BookPage, int] | None:
    """The first line that reads as a title and stands on another page too, else the very first."""
    places = [
        (page, at)
        for page in pages
        if page.number <= TITLE_PAGES
        for at, line in enumerate(page.lines)
        if _is_title(line)
    ]
    for page, at in places:
        words = _split_subtitle(page.lines[at])[0].casefold()
        others = (line for it in pages if it is not page for line in it.lines)
        if any(words in line.casefold() for line in others):
            return page, at
    return places[0] if places else None


def _is_title(line: str) -> bool:
    if not 3 <= len(line) <= 120 or line.endswith((".", ",", ";")) or len(line.split()) > 14:
        return False
    others = (_NO_TITLE, _EDITION, _PUBLISHER)
    return bool(_LETTERS.search(line)) and not any(it.search(line) for it in others)


def _split_subtitle(line: str) -> tuple[str, str]:
    title, _, subtitle = line.partition(": ")
    if not subtitle:
        title, _, subtitle = line.partition(" — ")
    return title.strip(), subtitle.strip()


def _authors(pages: list[BookPage]) -> BibliographicFact | None:
    for page in pages:
        for line in page.lines if page.number <= TITLE_PAGES else ():
            match = _BY.match(line)
            if match and (names := _names(line[match.end() :])):
                return BibliographicFact([*names], page)
    return None


def _below(page: BookPage, lines: list[str]) -> BibliographicFact | None:
    names = _names(lines[0]) if lines else []
    return BibliographicFact([*names], page) if names else None


def _names(line: str) -> list[str]:
    """The names in a line; empty where any part is not a name."""
    parts = [it.strip() for it in _BETWEEN.split(line) if it.strip()]
    return parts if parts and all(_NAME.fullmatch(it) for it in parts) else []


def _imprint(pages: list[BookPage]) -> Iterator[tuple[str, BibliographicFact]]:
    for name, find in (
        ("source_isbn", find_isbn),
        ("source_edition", _edition),
        ("source_publisher", _publisher),
        ("source_year", _year),
    ):
        hits = [(find(line), page) for page in pages for line in page.lines]
        found = [(value, page) for value, page in hits if value]
        if found:
            # ISBN-13 is preferred to ISBN-10.
            value, page = max(found, key=lambda it: len(str(it[0])) if name == "source_isbn" else 0)
            yield name, BibliographicFact(value, page)


def _edition(line: str) -> str:
    found = _EDITION.search(line)
    return found[0] if found else ""


def _publisher(line: str) -> str:
    found = _PUBLISHER.search(line)
    return found[1].strip() if found else ""


def _year(line: str) -> int:
    found = _YEAR.search(line) if _DATED.search(line) else None
    return int(found[0]) if found and int(found[0]) >= 1450 else 0


_LETTERS = re.compile(r"[^\W\d_]{2}")
_NO_TITLE = re.compile(
    r"(?i)isbn|©|\(c\)|copyright|https?:|www\.|@|^page\b|^(?:by|por)\s|^\W*\d+\W*$"
)
_BY = re.compile(r"(?i)(?:written )?(?:by|por|authors?|autor(?:es|as?)?)\s*[: ]\s*")
_BETWEEN = re.compile(r"\s*[;,&]\s*|\s+(?:and|e|y|et|und)\s+")
_NAME = re.compile(
    r"[^\W\d_a-z][\w'’.-]*(?:\s+(?:(?:da|de|do|dos|das|van|von|der|la|le)\s+){0,2}[^\W\d_a-z][\w'’.-]*){1,3}"
)
_EDITION = re.compile(
    r"(?i)\b(?:\d{1,3}(?:st|nd|rd|th|\.?[ªº])|first|second|third|fourth|fifth|revised)"
    r"\s+(?:edition|edi[çc][ãa]o|edici[oó]n|ed\.)"
)
_PUBLISHER = re.compile(
    r"(?i:published by|publisher:|publicado por|editora:?|editorial:?|verlag:)\s+([^.,;(©\d]{2,80})"
)
_DATED = re.compile(r"(?i)©|\(c\)|copyright|published|publicado|edition|edi[çc][ãa]o|edici[oó]n")
_YEAR = re.compile(r"\b(?:1[4-9]|20)\d{2}\b")
