"""The JSON Schema of a package, made from the table of fields. Never checks anything itself."""

from functools import cache
from typing import assert_never

from pecia.kernel.errors import Json
from pecia.rooms.ckf.package.field import Field, Kind, Role, Section, Shape
from pecia.rooms.ckf.package.fields import ALL
from pecia.rooms.ckf.package.model import Item

ADDRESS = "ckf://schema/v0.2"
_TEXT: Item = {"type": "string"}


@cache
def package_schema(*, extensions: bool = True) -> Item:
    """Draft 2020-12. Without extensions it is the published format and nothing more."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ADDRESS,
        "title": "CKF package (spec v0.2, wire ckf-1.0)",
        "description": "Knowledge compiled from a source: a header and 22 sections.",
        "type": "object",
        "properties": {it.key: _section(it, extensions) for it in ALL},
        "required": [it.key for it in ALL],
    }


def id_pattern(section: Section) -> str:
    """The three styles of ids: by words, by upper-case counter, by lower-case counter."""
    assert section.prefixes
    words, upper, lower = section.prefixes
    return f"^(?:{words}_[a-z0-9_]+|{upper}_[0-9]{{3,}}|{lower}_[0-9]{{3,}})$"


def _section(section: Section, extensions: bool) -> Item:
    found = _record(section.fields, extensions)
    if section.prefixes:
        properties = found["properties"]
        assert isinstance(properties, dict)
        properties["id"] = {**_TEXT, "pattern": id_pattern(section)}
    return found if section.kind is Kind.OBJECT else {"type": "array", "items": found}


def _record(fields: tuple[Field, ...], extensions: bool) -> Item:
    known = [it for it in fields if extensions or not it.extension]
    found: Item = {
        "type": "object",
        "properties": {it.name: _field(it, extensions) for it in known},
    }
    if required := [it.name for it in known if it.required]:
        found["required"] = list[Json](required)
    return found


def _field(field: Field, extensions: bool) -> Item:
    match field.shape:
        case Shape.TEXT:
            return _text(field)
        case Shape.TEXTS:
            return _array(field, _TEXT)
        case Shape.NUMBER:
            return {"type": "number", **({"minimum": 0, "maximum": 1} if field.unit_scale else {})}
        case Shape.INTEGER:
            return {"type": "integer", **({"minimum": field.minimum} if field.minimum else {})}
        case Shape.RECORDS:
            return _array(field, _record(field.parts, extensions))
        case Shape.TEXT_OR_TEXTS:
            return {"anyOf": [_TEXT, _array(field, _TEXT)]}
        case Shape.TEXTS_OR_RECORDS:
            return _array(field, {"anyOf": [_TEXT, _record(field.parts, extensions)]})
        case Shape.INTEGER_OR_TEXT:
            return {"anyOf": [{"type": "integer"}, _TEXT]}
        case _:
            assert_never(field.shape)


def _text(field: Field) -> Item:
    if field.role is Role.CHOICE and field.open:
        return {**_TEXT, "examples": list[Json](field.choices)}
    if field.role is Role.CHOICE:
        return {**_TEXT, "enum": list[Json](field.choices)}
    return {**_TEXT, **({"maxLength": field.max_length} if field.max_length else {})}


def _array(field: Field, items: Item) -> Item:
    few = {"minItems": 1} if field.required and field.shape is not Shape.TEXT_OR_TEXTS else {}
    return {"type": "array", **few, "items": items}
