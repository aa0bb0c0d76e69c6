"""Iterates over the texts and references of a package, by the table of fields. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from pecia.features.ckf.package.checks.findings import DocumentPath
from pecia.features.ckf.package.field import FieldRole, PackageField, SectionKind
from pecia.features.ckf.package.fields import ALL_SECTIONS, ITEM_SECTIONS
from pecia.features.ckf.package.model import Item, Package, text_of
from pecia.kernel.errors import Json


@dataclass(frozen=True, slots=True)
class PackageText:
    """One text, with its field, its record and its path."""

    field: PackageField
    owner: Item
    place: DocumentPath
    value: str


def iter_texts(package: Package) -> Iterator[PackageText]:
    """Every text of every known field, including nested records."""
    for section in ALL_SECTIONS:
        place = DocumentPath(f"/{section.key}", section.key)
        if section.kind is SectionKind.OBJECT:
            yield from iter_record_texts(section.fields, package.section_object(section.key), place)
            continue
        # Indices are those of the document, in which an item may have the wrong type.
        found = package.body.get(section.key)
        for number, it in enumerate(found if isinstance(found, list) else []):
            if isinstance(it, dict):
                here = DocumentPath(f"{place.path}/{number}", section.key, text_of(it, "id"))
                yield from iter_record_texts(section.fields, it, here)


def iter_record_texts(
    fields: tuple[PackageField, ...], record: Item, place: DocumentPath
) -> Iterator[PackageText]:
    for field in fields:
        value = record.get(field.name)
        # Most fields of most items are empty or a number.
        if value and not isinstance(value, (int, float)):
            yield from _texts(field, value, record, place.child(field.name))


def item_texts(fields: tuple[PackageField, ...], item: Item, *roles: FieldRole) -> list[str]:
    """The texts of an item that have one of the roles."""
    return [
        it.value
        for it in iter_record_texts(fields, item, DocumentPath(""))
        if it.field.role in roles
    ]


def iter_content_texts(package: Package) -> Iterator[str]:
    """The texts of all items without their paths: fast, for large packages."""
    for section in ITEM_SECTIONS:
        fields = [it for it in section.fields if it.role in CONTENT_ROLES or it.parts]
        for item in package.items(section.key):
            for field in fields:
                value = item.get(field.name)
                if isinstance(value, str):
                    yield value
                elif value:
                    found = _texts(field, value, item, _NO_PATH)
                    yield from (it.value for it in found if it.field.role in CONTENT_ROLES)


def _texts(
    field: PackageField, value: Json, owner: Item, place: DocumentPath
) -> Iterator[PackageText]:
    if isinstance(value, str):
        # A step given as plain text is treated as its action.
        yield PackageText(_STEP if field.role is FieldRole.GROUP else field, owner, place, value)
    elif isinstance(value, list):
        for number, it in enumerate(value):
            yield from _texts(field, it, owner, place.child(number))
    elif isinstance(value, dict) and field.parts:
        for part in field.parts:
            if part.name in value:
                yield from _texts(part, value[part.name], owner, place.child(part.name))


CONTENT_ROLES = (FieldRole.LABEL, FieldRole.CLAUSE, FieldRole.PROSE)
_STEP = PackageField("action", FieldRole.CLAUSE)
_NO_PATH = DocumentPath("")
