"""Checks quotations and numbers against the text that was compiled. Pure."""

import re
from collections.abc import Iterator

from pecia.rooms.ckf.package.fields import ITEM_SECTIONS
from pecia.rooms.ckf.package.finding import Finding
from pecia.rooms.ckf.package.locate import Sought
from pecia.rooms.ckf.package.model import Package, integer_of, text_of
from pecia.rooms.ckf.package.walk import SAID, Text, every_text

_KNOWLEDGE = frozenset(it.key for it in ITEM_SECTIONS)


def check_source(package: Package, source: str) -> Iterator[Finding]:
    sought = Sought(source)
    known = set(number_tokens(source))
    for text in every_text(package):
        if text.field.name in ("source_excerpts", "source_excerpt"):
            yield from _quotation(text, sought)
        elif text.place.section in _KNOWLEDGE and text.field.role in SAID:
            yield from _numbers(text, known)


def number_tokens(text: str) -> list[str]:
    """Numbers as they are written: 1,250,000.00, 12:30, 2024-05-31, 0.05, 7."""
    return _NUMBER.findall(text)


def _quotation(text: Text, sought: Sought) -> Iterator[Finding]:
    around = integer_of(text.owner, "source_char_start")
    if text.value and not sought.find(text.value, around):
        message = f"not in the source: {text.value[:80]!r}"
        yield text.place.finding("EXCERPT_NOT_IN_SOURCE", message, got=text.value[:240])


def _numbers(text: Text, known: set[str]) -> Iterator[Finding]:
    # What the compiler made itself is no claim about the source.
    if text_of(text.owner, "source_basis") == "synthesized":
        return
    for number in number_tokens(text.value):
        if number not in known:
            message = f"{text.field.name}: {number} is not in the source"
            yield text.place.finding("NUMERIC_DRIFT", message, got=number)


_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
