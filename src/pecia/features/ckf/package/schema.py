"""The JSON Schema of a package, generated from the table of fields."""

from functools import cache
from typing import assert_never

from pecia.features.ckf.package.field import (
    FieldRole,
    FieldShape,
    PackageField,
    PackageSection,
    SectionKind,
)
from pecia.features.ckf.package.fields import ALL_SECTIONS
from pecia.features.ckf.package.model import Item
from pecia.kernel.errors import Json

SCHEMA_URI = "ckf://schema/v0.2"
_TEXT: Item = {"type": "string"}


@cache
def build_package_schema(*, extensions: bool = True) -> Item:
    """Draft 2020-12. Without extensions it is exactly the published format."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_URI,
        "title": "CKF package (spec v0.2, wire ckf-1.0)",
        "description": "Knowledge compiled from a source: a header and 22 sections.",
        "type": "object",
        "properties": {it.key: _section(it, extensions) for it in ALL_SECTIONS},
        "required": [it.key for it in ALL_SECTIONS],
    }


def id_pattern(section: PackageSection) -> str:
    """The three id styles: words, upper-case counter, lower-case counter."""
    assert section.prefixes
    words, upper, lower = section.prefixes
    return f"^(?:{words}_[a-z0-9_]+|{upper}_[0-9]{{3,}}|{lower}_[0-9]{{3,}})$"


def _section(section: PackageSection, extensions: bool) -> Item:
    found = _record(section.fields, extensions)
    if section.prefixes:
        properties = found["properties"]
        assert isinstance(properties, dict)
        properties["id"] = {**_TEXT, "pattern": id_pattern(section)}
    return found if section.kind is SectionKind.OBJECT else {"type": "array", "items": found}


def _record(fields: tuple[PackageField, ...], extensions: bool) -> Item:
    known = [it for it in fields if extensions or not it.extension]
    found: Item = {
        "type": "object",
        "properties": {it.name: _field(it, extensions) for it in known},
    }
    if required := [it.name for it in known if it.required]:
        found["required"] = list[Json](required)
    return found


def _field(field: PackageField, extensions: bool) -> Item:
    match field.shape:
        case FieldShape.TEXT:
            return _text(field)
        case FieldShape.TEXTS:
            return _array(field, _TEXT)
        case FieldShape.NUMBER:
            return {"type": "number", **({"minimum": 0, "maximum": 1} if field.unit_scale else {})}
        case FieldShape.INTEGER:
            return {"type": "integer", **({"minimum": field.minimum} if field.minimum else {})}
        case FieldShape.RECORDS:
            return _array(field, _record(field.parts, extensions))
        case FieldShape.TEXT_OR_TEXTS:
            return {"anyOf": [_TEXT, _array(field, _TEXT)]}
        case FieldShape.TEXTS_OR_RECORDS:
            return _array(field, {"anyOf": [_TEXT, _record(field.parts, extensions)]})
        case FieldShape.INTEGER_OR_TEXT:
            return {"anyOf": [{"type": "integer"}, _TEXT]}
        case _:
            assert_never(field.shape)


def _text(field: PackageField) -> Item:
    if field.role is FieldRole.CHOICE and field.open:
        return {**_TEXT, "examples": list[Json](field.choices)}
    if field.role is FieldRole.CHOICE:
        return {**_TEXT, "enum": list[Json](field.choices)}
    return {**_TEXT, **({"maxLength": field.max_length} if field.max_length else {})}


def _array(field: PackageField, items: Item) -> Item:
    few = {"minItems": 1} if field.required and field.shape is not FieldShape.TEXT_OR_TEXTS else {}
    return {"type": "array", **few, "items": items}
