"""Checks quotations and numbers against the source text. Pure."""

import re
from collections.abc import Iterator

from pecia.features.ckf.package.checks.findings import PackageFinding
from pecia.features.ckf.package.fields import ITEM_SECTIONS
from pecia.features.ckf.package.locate import SearchableText
from pecia.features.ckf.package.model import Package, integer_of, text_of
from pecia.features.ckf.package.walk import CONTENT_ROLES, PackageText, iter_texts

_KNOWLEDGE = frozenset(it.key for it in ITEM_SECTIONS)


def check_source(package: Package, source: str) -> Iterator[PackageFinding]:
    sought = SearchableText(source)
    known = set(extract_numbers(source))
    for text in iter_texts(package):
        if text.field.name in ("source_excerpts", "source_excerpt"):
            yield from _quotation(text, sought)
        elif text.place.section in _KNOWLEDGE and text.field.role in CONTENT_ROLES:
            yield from _numbers(text, known)


def extract_numbers(text: str) -> list[str]:
    """Numbers as they are written: 1,250,000.00, 12:30, 2024-05-31, 0.05, 7."""
    return _NUMBER.findall(text)


def _quotation(text: PackageText, sought: SearchableText) -> Iterator[PackageFinding]:
    around = integer_of(text.owner, "source_char_start")
    if text.value and not sought.find(text.value, around):
        message = f"not in the source: {text.value[:80]!r}"
        yield text.place.make_finding("EXCERPT_NOT_IN_SOURCE", message, got=text.value[:240])


def _numbers(text: PackageText, known: set[str]) -> Iterator[PackageFinding]:
    # Synthesized items make no claim about the source.
    if text_of(text.owner, "source_basis") == "synthesized":
        return
    for number in extract_numbers(text.value):
        if number not in known:
            message = f"{text.field.name}: {number} is not in the source"
            yield text.place.make_finding("NUMERIC_DRIFT", message, got=number)


_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
