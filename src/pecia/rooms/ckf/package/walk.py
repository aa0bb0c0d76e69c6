"""Walks over the texts and references of a package by the table of fields. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from pecia.kernel.errors import Json
from pecia.rooms.ckf.package.field import Field, Kind, Role
from pecia.rooms.ckf.package.fields import ALL, ITEM_SECTIONS
from pecia.rooms.ckf.package.finding import Place
from pecia.rooms.ckf.package.model import Item, Package, text_of


@dataclass(frozen=True, slots=True)
class Text:
    """One text, with its field, the record that holds it, and its place."""

    field: Field
    owner: Item
    place: Place
    value: str


def every_text(package: Package) -> Iterator[Text]:
    """Every text of every known field, those of nested records too."""
    for section in ALL:
        place = Place(f"/{section.key}", section.key)
        if section.kind is Kind.OBJECT:
            yield from record_texts(section.fields, package.part(section.key), place)
            continue
        # Positions are those of the document, where an item may be of a wrong type.
        found = package.body.get(section.key)
        for number, it in enumerate(found if isinstance(found, list) else []):
            if isinstance(it, dict):
                here = Place(f"{place.path}/{number}", section.key, text_of(it, "id"))
                yield from record_texts(section.fields, it, here)


def record_texts(fields: tuple[Field, ...], record: Item, place: Place) -> Iterator[Text]:
    for field in fields:
        value = record.get(field.name)
        # What is empty or a number holds no text, and most fields of most items are.
        if value and not isinstance(value, (int, float)):
            yield from _texts(field, value, record, place.at(field.name))


def item_texts(fields: tuple[Field, ...], item: Item, *roles: Role) -> list[str]:
    """The texts of an item that have one of the roles."""
    return [it.value for it in record_texts(fields, item, Place("")) if it.field.role in roles]


def said_texts(package: Package) -> Iterator[str]:
    """What the items say, without places: for counting in packages with tens of thousands."""
    for section in ITEM_SECTIONS:
        fields = [it for it in section.fields if it.role in SAID or it.parts]
        for item in package.items(section.key):
            for field in fields:
                value = item.get(field.name)
                if isinstance(value, str):
                    yield value
                elif value:
                    found = _texts(field, value, item, _NOWHERE)
                    yield from (it.value for it in found if it.field.role in SAID)


def _texts(field: Field, value: Json, owner: Item, place: Place) -> Iterator[Text]:
    if isinstance(value, str):
        # A step written as plain text is what its action would be.
        yield Text(_STEP if field.role is Role.GROUP else field, owner, place, value)
    elif isinstance(value, list):
        for number, it in enumerate(value):
            yield from _texts(field, it, owner, place.at(number))
    elif isinstance(value, dict) and field.parts:
        for part in field.parts:
            if part.name in value:
                yield from _texts(part, value[part.name], owner, place.at(part.name))


SAID = (Role.LABEL, Role.CLAUSE, Role.PROSE)
_STEP = Field("action", Role.CLAUSE)
_NOWHERE = Place("")
