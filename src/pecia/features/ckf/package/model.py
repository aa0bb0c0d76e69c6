"""A package in memory: one JSON object, kept whole, so that nothing unknown is ever lost.

After `normalize` a package has all sections, each of the right type unless the document itself had
a wrong one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pecia.features.ckf.package.field import SectionKind
from pecia.features.ckf.package.fields import ALL_SECTIONS, ITEM_SECTIONS
from pecia.kernel.errors import Json

Item: TypeAlias = dict[str, Json]

PROTOCOL = "ckf-1.0"
SPEC_VERSION = "0.2"
# The date of a package without one: the current date would make parsing non-deterministic.
NO_DATE = "1970-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Package:
    """The object with typed accessors. Values of the wrong type read as absent."""

    body: Item

    @property
    def metadata(self) -> Item:
        return self.section_object("metadata")

    def section_object(self, section: str) -> Item:
        """An object section, or the header."""
        found = self.body.get(section)
        return found if isinstance(found, dict) else {}

    def items(self, section: str) -> list[Item]:
        """The items of an array section."""
        found = self.body.get(section)
        return [it for it in found if isinstance(it, dict)] if isinstance(found, list) else []

    def iter_items(self) -> Iterator[tuple[str, Item]]:
        """Every item with its section, in schema order."""
        for section in ITEM_SECTIONS:
            for item in self.items(section.key):
                yield section.key, item

    @property
    def trace(self) -> list[Item]:
        return self.items("source_traceability")


def make_empty_body() -> Item:
    """All 23 keys in schema order, empty."""
    return {it.key: {} if it.kind is SectionKind.OBJECT else [] for it in ALL_SECTIONS}


def text_of(record: Mapping[str, Json], field: str) -> str:
    found = record.get(field)
    return found if isinstance(found, str) else ""


def texts_of(record: Mapping[str, Json], field: str) -> list[str]:
    """A list of texts; a single text becomes a list of one."""
    found = record.get(field)
    if isinstance(found, str):
        return [found]
    return [it for it in found if isinstance(it, str)] if isinstance(found, list) else []


def number_of(record: Mapping[str, Json], field: str) -> float | None:
    found = record.get(field)
    return None if isinstance(found, bool) or not isinstance(found, (int, float)) else found


def integer_of(record: Mapping[str, Json], field: str) -> int | None:
    found = record.get(field)
    return found if isinstance(found, int) and not isinstance(found, bool) else None
