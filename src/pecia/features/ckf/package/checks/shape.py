"""Checks that every section and field is present, of its type, and within its enum. Pure."""

import re
from collections.abc import Iterator
from typing import assert_never

from pecia.features.ckf.package.checks.findings import DocumentPath, PackageFinding
from pecia.features.ckf.package.field import (
    FieldRole,
    FieldShape,
    PackageField,
    PackageSection,
    SectionKind,
)
from pecia.features.ckf.package.fields import ALL_SECTIONS, PROTOCOLS
from pecia.features.ckf.package.model import Item
from pecia.kernel.errors import Json


def check_shape(body: Item) -> Iterator[PackageFinding]:
    for section in ALL_SECTIONS:
        place = DocumentPath(f"/{section.key}", section.key)
        if section.key not in body:
            yield place.make_finding("SECTION_MISSING", f"no {section.key}", expected=section.kind)
        else:
            yield from _section(section, body[section.key], place)
    metadata = body.get("metadata")
    if isinstance(metadata, dict):
        yield from _metadata(metadata)


def _section(section: PackageSection, value: Json, place: DocumentPath) -> Iterator[PackageFinding]:
    if section.kind is SectionKind.OBJECT:
        if isinstance(value, dict):
            # An empty purpose means that none was found; an empty title is an error.
            yield from _record(section.fields, value, place, filled=section.key == "metadata")
        else:
            yield _type_finding("SECTION_TYPE", place, "object", value)
    elif isinstance(value, list):
        for number, it in enumerate(value):
            yield from _item(section, it, place.child(number))
    else:
        yield _type_finding("SECTION_TYPE", place, "array", value)


def _item(section: PackageSection, value: Json, place: DocumentPath) -> Iterator[PackageFinding]:
    if not isinstance(value, dict):
        yield _type_finding("FIELD_TYPE", place, "object", value)
        return
    name = value.get("id", value.get("extracted_item_id"))
    here = DocumentPath(place.path, section.key, name if isinstance(name, str) else "")
    yield from _record(section.fields, value, here, filled=True)


def _record(
    fields: tuple[PackageField, ...], value: Item, place: DocumentPath, *, filled: bool
) -> Iterator[PackageFinding]:
    for field in fields:
        found = value.get(field.name)
        missing = field.name not in value or (filled and found in ("", []))
        if field.required and missing:
            message = f"{field.name} is required and {_state(value, field)}"
            yield place.child(field.name).make_finding(
                "FIELD_MISSING", message, expected=field.shape
            )
        elif field.name in value:
            yield from _field(field, found, place.child(field.name))


def _state(value: Item, field: PackageField) -> str:
    return "empty" if field.name in value else "absent"


def _field(field: PackageField, value: Json, place: DocumentPath) -> Iterator[PackageFinding]:
    match field.shape:
        case FieldShape.TEXT:
            yield from _text(field, value, place)
        case FieldShape.TEXTS | FieldShape.RECORDS | FieldShape.TEXTS_OR_RECORDS:
            yield from _list(field, value, place)
        case FieldShape.NUMBER:
            yield from _number(field, value, place)
        case FieldShape.INTEGER:
            if not _is_integer(value):
                yield _type_finding("FIELD_TYPE", place, "integer", value)
        case FieldShape.TEXT_OR_TEXTS:
            if not isinstance(value, str):
                yield from _list(field, value, place)
        case FieldShape.INTEGER_OR_TEXT:
            if not isinstance(value, str) and not _is_integer(value):
                yield _type_finding("FIELD_TYPE", place, "integer or text", value)
        case _:
            assert_never(field.shape)


def _text(field: PackageField, value: Json, place: DocumentPath) -> Iterator[PackageFinding]:
    if not isinstance(value, str):
        yield _type_finding("FIELD_TYPE", place, "text", value)
    elif field.role is FieldRole.CHOICE and value not in field.choices and value:
        code = "DOMAIN_OPEN" if field.open else "ENUM"
        message = f"{value!r} is not one of the values of {field.name}"
        yield place.make_finding(code, message, expected=list[Json](field.choices), got=value)


def _list(field: PackageField, value: Json, place: DocumentPath) -> Iterator[PackageFinding]:
    if not isinstance(value, list):
        yield _type_finding("FIELD_TYPE", place, "list", value)
        return
    for number, it in enumerate(value):
        if isinstance(it, dict) and field.parts:
            yield from _record(field.parts, it, place.child(number), filled=True)
        elif not isinstance(it, str) or field.shape is FieldShape.RECORDS:
            expected = "object" if field.shape is FieldShape.RECORDS else "text"
            yield _type_finding("FIELD_TYPE", place.child(number), expected, it)


def _number(field: PackageField, value: Json, place: DocumentPath) -> Iterator[PackageFinding]:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        yield _type_finding("FIELD_TYPE", place, "number", value)
    elif field.unit_scale and not 0 <= value <= 1:
        message = f"{field.name} is {value}, outside 0 to 1"
        yield place.make_finding("CONFIDENCE_RANGE", message, expected="0.00 to 1.00", got=value)
    elif field.unit_scale and round(value, 2) != value:
        message = f"{field.name} has more than two decimals"
        yield place.make_finding(
            "CONFIDENCE_PRECISION", message, expected=round(value, 2), got=value
        )


def _metadata(metadata: Item) -> Iterator[PackageFinding]:
    place = DocumentPath("/metadata", "metadata")
    language = metadata.get("language")
    if isinstance(language, str) and language and not _TAG.fullmatch(language):
        message = f"{language!r} is no language tag"
        yield place.child("language").make_finding(
            "LANGUAGE_TAG", message, expected="BCP 47", got=language
        )
    version = metadata.get("protocol_version")
    if isinstance(version, str) and version and version not in PROTOCOLS:
        message = f"{version!r} is no protocol version known here"
        yield place.child("protocol_version").make_finding(
            "PROTOCOL_UNKNOWN", message, expected=list[Json](PROTOCOLS), got=version
        )


def _type_finding(code: str, place: DocumentPath, expected: str, value: Json) -> PackageFinding:
    got = _KINDS.get(type(value), "null")
    return place.make_finding(
        code, f"{expected} was expected, {got} came", expected=expected, got=got
    )


def _is_integer(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_KINDS: dict[type, str] = {
    dict: "object",
    list: "list",
    str: "text",
    bool: "boolean",
    int: "number",
    float: "number",
}
_TAG = re.compile(
    r"(?:[a-zA-Z]{2,3}(?:-[a-zA-Z]{3}){0,3}|[a-zA-Z]{4,8})(?:-[a-zA-Z]{4})?(?:-(?:[a-zA-Z]{2}|\d{3}))?"
    r"(?:-(?:[a-zA-Z0-9]{5,8}|\d[a-zA-Z0-9]{3}))*(?:-[a-wyzA-WYZ0-9](?:-[a-zA-Z0-9]{2,8})+)*"
    r"(?:-[xX](?:-[a-zA-Z0-9]{1,8})+)?|[xX](?:-[a-zA-Z0-9]{1,8})+"
)
