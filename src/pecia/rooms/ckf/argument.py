"""A package as a tool is handed it: an object, JSON, or a document in any format. Pure."""

from typing import cast

from pecia.kernel.errors import Json, MissingField, Unprocessable
from pecia.rooms.ckf.package.codec import Document, Format, check_values, decode
from pecia.rooms.ckf.package.fields import SECTION_BY_KEY
from pecia.rooms.ckf.package.model import Item, Package
from pecia.rooms.ckf.package.normal import normalize

HINT = "Compile a text with ckf.compile, or see ckf://schema/v0.2."


def given_package(value: Json) -> Package:
    return normalize(given_document(value).body)


def given_document(value: Json, format: Format | None = None, filename: str = "") -> Document:
    """What was given, before anything is filled in."""
    if isinstance(value, str):
        return _decoded(value, format, filename)
    # The door has let through nothing but texts and objects.
    body = cast(Item, value)
    if not body.keys() & SECTION_BY_KEY.keys():
        raise Unprocessable(
            "no section of a CKF package in the object", section="package", line=1, hint=HINT
        )
    check_values(body)
    return Document(Format.JSON, body)


def one_of(first: Json, second: Json, names: tuple[str, str]) -> Json:
    """Exactly one of two arguments, or an error that names one."""
    if (first is None) == (second is None):
        both = first is not None
        raise MissingField(
            f'Field "{names[0]}" or "{names[1]}" is required{", not both" if both else ""}',
            field=names[0],
            hint=f"Give {names[0]} or {names[1]}.",
        )
    return second if first is None else first


def _decoded(text: str, format: Format | None, filename: str) -> Document:
    try:
        return decode(text, format, filename)
    except Unprocessable as error:
        raise Unprocessable(error.message, **{**error.fields, "hint": HINT}) from error
