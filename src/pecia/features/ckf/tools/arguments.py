"""A package as a tool argument: an object, JSON, or a document in any format. Pure."""

from typing import cast

from pecia.features.ckf.package.codec.codec import (
    DecodedDocument,
    PackageFormat,
    check_values,
    decode_document,
)
from pecia.features.ckf.package.fields import SECTION_BY_KEY
from pecia.features.ckf.package.model import Item, Package
from pecia.features.ckf.package.normalize import normalize
from pecia.kernel.errors import Json, MissingField, Unprocessable

PACKAGE_HINT = "Compile a text with ckf.compile, or see ckf://schema/v0.2."


def parse_package_argument(value: Json) -> Package:
    return normalize(parse_document_argument(value).body)


def parse_document_argument(
    value: Json, format: PackageFormat | None = None, filename: str = ""
) -> DecodedDocument:
    """The decoded argument, before defaults are filled in."""
    if isinstance(value, str):
        return _decode(value, format, filename)
    # Validation has admitted only strings and objects.
    body = cast(Item, value)
    if not body.keys() & SECTION_BY_KEY.keys():
        raise Unprocessable(
            "no section of a CKF package in the object",
            section="package",
            line=1,
            hint=PACKAGE_HINT,
        )
    check_values(body)
    return DecodedDocument(PackageFormat.JSON, body)


def require_one_of(first: Json, second: Json, names: tuple[str, str]) -> Json:
    """Exactly one of two arguments, or an error that names one."""
    if (first is None) == (second is None):
        both = first is not None
        raise MissingField(
            f'Field "{names[0]}" or "{names[1]}" is required{", not both" if both else ""}',
            field=names[0],
            hint=f"Give {names[0]} or {names[1]}.",
        )
    return second if first is None else first


def _decode(text: str, format: PackageFormat | None, filename: str) -> DecodedDocument:
    try:
        return decode_document(text, format, filename)
    except Unprocessable as error:
        raise Unprocessable(error.message, **{**error.fields, "hint": PACKAGE_HINT}) from error
