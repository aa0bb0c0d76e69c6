"""Checks how texts are written: form, spaces, length, language, and the count of steps. Pure."""

import re
import unicodedata
from collections.abc import Iterator

from pecia.rooms.ckf.package.field import Role
from pecia.rooms.ckf.package.finding import Finding, Place
from pecia.rooms.ckf.package.language import foreign_language
from pecia.rooms.ckf.package.model import Package, integer_of, text_of
from pecia.rooms.ckf.package.walk import Text, every_text

LONGEST_EXCERPT = 240
# Quotations are as the source has them; ids and values are not for reading.
_READ = (Role.LABEL, Role.CLAUSE, Role.PROSE)


def check_text(package: Package) -> Iterator[Finding]:
    language = text_of(package.metadata, "language")
    for text in every_text(package):
        if text.field.name == "source_excerpts" and len(text.value) > LONGEST_EXCERPT:
            message = f"{len(text.value)} characters are quoted at once"
            yield text.place.finding(
                "EXCERPT_TOO_LONG", message, expected=LONGEST_EXCERPT, got=len(text.value)
            )
        elif text.field.role in _READ:
            yield from _form(text)
            yield from _drift(text, language)
    yield from _steps(package)


def _form(text: Text) -> Iterator[Finding]:
    if not unicodedata.is_normalized("NFC", text.value):
        yield text.place.finding("NOT_NFC", f"{text.field.name} is not in NFC")
    if _SPACES.search(text.value):
        yield text.place.finding("WHITESPACE", f"{text.field.name} has spaces too many")


def _drift(text: Text, language: str) -> Iterator[Finding]:
    if text.field.role is Role.LABEL:
        return
    other = foreign_language(text.value, language)
    if other:
        message = f"{text.field.name} looks like {other}, the package is in {language}"
        yield text.place.finding("LANGUAGE_DRIFT", message, expected=language, got=other)


def _steps(package: Package) -> Iterator[Finding]:
    for number, item in enumerate(package.items("procedures")):
        steps = item.get("steps")
        parts = [it for it in steps if isinstance(it, dict)] if isinstance(steps, list) else []
        counted = [integer_of(it, "step") for it in parts if "step" in it]
        if counted and counted != list(range(1, len(counted) + 1)):
            place = Place(f"/procedures/{number}/steps", "procedures", text_of(item, "id"))
            message = f"the steps count {', '.join(map(str, counted))}"
            yield place.finding("STEP_ORDER", message, expected=f"1 to {len(counted)}")


# Line ends are allowed: an answer may be a list.
_SPACES = re.compile(r"^\s|\s$|[^\S\n]{2,}|\t|\n{3,}")
