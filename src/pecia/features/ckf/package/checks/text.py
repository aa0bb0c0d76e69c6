"""Checks texts: Unicode form, spaces, length, language, and step numbers. Pure."""

import re
import unicodedata
from collections.abc import Iterator

from pecia.features.ckf.package.checks.findings import DocumentPath, PackageFinding
from pecia.features.ckf.package.field import FieldRole
from pecia.features.ckf.package.language import detect_foreign_language
from pecia.features.ckf.package.model import Package, integer_of, text_of
from pecia.features.ckf.package.walk import PackageText, iter_texts

MAX_EXCERPT_CHARS = 240
# Quotations are verbatim; ids and values are not prose.
_READ = (FieldRole.LABEL, FieldRole.CLAUSE, FieldRole.PROSE)


def check_text(package: Package) -> Iterator[PackageFinding]:
    language = text_of(package.metadata, "language")
    for text in iter_texts(package):
        if text.field.name == "source_excerpts" and len(text.value) > MAX_EXCERPT_CHARS:
            message = f"{len(text.value)} characters are quoted at once"
            yield text.place.make_finding(
                "EXCERPT_TOO_LONG", message, expected=MAX_EXCERPT_CHARS, got=len(text.value)
            )
        elif text.field.role in _READ:
            yield from _form(text)
            yield from _drift(text, language)
    yield from _steps(package)


def _form(text: PackageText) -> Iterator[PackageFinding]:
    if not unicodedata.is_normalized("NFC", text.value):
        yield text.place.make_finding("NOT_NFC", f"{text.field.name} is not in NFC")
    # A passage keeps the layout of its source: lists, tables and code.
    if text.place.section != "retrieval_chunks" and _SPACES.search(text.value):
        yield text.place.make_finding("WHITESPACE", f"{text.field.name} has spaces too many")


def _drift(text: PackageText, language: str) -> Iterator[PackageFinding]:
    if text.field.role is FieldRole.LABEL:
        return
    other = detect_foreign_language(text.value, language)
    if other:
        message = f"{text.field.name} looks like {other}, the package is in {language}"
        yield text.place.make_finding("LANGUAGE_DRIFT", message, expected=language, got=other)


def _steps(package: Package) -> Iterator[PackageFinding]:
    for number, item in enumerate(package.items("procedures")):
        steps = item.get("steps")
        parts = [it for it in steps if isinstance(it, dict)] if isinstance(steps, list) else []
        counted = [integer_of(it, "step") for it in parts if "step" in it]
        if counted and counted != list(range(1, len(counted) + 1)):
            place = DocumentPath(f"/procedures/{number}/steps", "procedures", text_of(item, "id"))
            message = f"the steps count {', '.join(map(str, counted))}"
            yield place.make_finding("STEP_ORDER", message, expected=f"1 to {len(counted)}")


# Line ends are allowed: an answer may be a list.
_SPACES = re.compile(r"^\s|\s$|[^\S\n]{2,}|\t|\n{3,}")
