"""Checks every number that a model wrote against its quotations. Pure.

A truncated number is completed where it is unambiguous. One that is not found stays, and its item
is marked as uncertain: a wrong figure must not look like a fact.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from pecia.features.ckf.llm.item import ExtractedItem
from pecia.features.ckf.llm.prepare.segment import SourceSegments
from pecia.features.ckf.package.checks.source import extract_numbers
from pecia.features.ckf.package.field import FieldRole, PackageField
from pecia.features.ckf.package.fields import SECTION_BY_KEY
from pecia.features.ckf.package.model import Item
from pecia.kernel.errors import Json

UNVERIFIED_CONFIDENCE = 0.4
MAX_LISTED = 50
_CHECKED_ROLES = (FieldRole.LABEL, FieldRole.CLAUSE, FieldRole.PROSE)


@dataclass(slots=True)
class NumberCheck:
    """Result of the number check."""

    exact: int = 0
    corrections: list[Item] = field(default_factory=list[Item])
    unverifiable: list[Item] = field(default_factory=list[Item])

    def to_json(self) -> Item:
        good = self.exact + len(self.corrections)
        total = good + len(self.unverifiable)
        return {
            "numeric_integrity_score": round(good / total, 2) if total else 1.0,
            "total_values_checked": total,
            "exact_matches": self.exact,
            "corrected": len(self.corrections),
            "unverifiable": len(self.unverifiable),
            "corrections": list[Json](self.corrections[:MAX_LISTED]),
            "unverifiable_values": list[Json](self.unverifiable[:MAX_LISTED]),
        }


def check_numbers(items: list[ExtractedItem], segments: SourceSegments) -> NumberCheck:
    """Compare, complete and mark. Verbatim source text needs no check."""
    figures = NumberCheck()
    known: dict[str, frozenset[str]] = {}
    for it in items:
        if it.origin in ("model", "promotion"):
            refs = {segments.part_at(quote.start).ref: quote.start for quote in it.quotes}
            for ref, place in refs.items():
                if ref not in known:
                    words = segments.part_at(place).span.of(segments.text)
                    known[ref] = frozenset(extract_numbers(words))
            _check(
                it, next(iter(refs)), frozenset[str]().union(*(known[ref] for ref in refs)), figures
            )
    return figures


def _check(item: ExtractedItem, ref: str, known: frozenset[str], figures: NumberCheck) -> None:
    missing = len(figures.unverifiable)

    def change(name: str, text: str) -> str:
        return _NUMBER.sub(lambda it: settle(name, it[0]), text)

    def settle(name: str, number: str) -> str:
        if number in known:
            figures.exact += 1
            return number
        whole = _complete(number, known)
        entry: Item = {"section": item.section, "field": name, "source_ref": ref}
        if not whole:
            figures.unverifiable.append({**entry, "value": number})
            return number
        figures.corrections.append({**entry, "from": number, "to": whole})
        return whole

    item.fields = _rewrite_record(SECTION_BY_KEY[item.section].fields, item.fields, change)
    if len(figures.unverifiable) > missing:
        item.basis, item.confidence = "uncertain", min(item.confidence, UNVERIFIED_CONFIDENCE)


def _complete(number: str, known: frozenset[str]) -> str:
    """The only longer number with this prefix; dates and times are never completed.

    Nor is a single digit: too many numbers begin with it.
    """
    if len(number) < 2 or _DATED.search(number):
        return ""
    longer = [it for it in known if it.startswith((f"{number}.", f"{number},"))]
    return longer[0] if len(longer) == 1 else ""


def _rewrite_record(
    fields: tuple[PackageField, ...], record: Item, change: Callable[[str, str], str]
) -> Item:
    by_name = {it.name: it for it in fields}
    return {
        name: _value(by_name[name], value, change) if name in by_name else value
        for name, value in record.items()
    }


def _value(field: PackageField, value: Json, change: Callable[[str, str], str]) -> Json:
    if isinstance(value, str):
        return change(field.name, value) if field.role in _CHECKED_ROLES else value
    if isinstance(value, list):
        return [_value(field, it, change) for it in value]
    return _rewrite_record(field.parts, value, change) if isinstance(value, dict) else value


_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_DATED = re.compile(r"[:/-]")
