"""Encodes and decodes packages in three formats. Encoding round-trips, to the last field.

`decode` returns a document as it is; `parse` fills in defaults. Invariant: parse(encode(x)) == x.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from pecia.features.ckf.package.codec.json import decode_json, encode_json
from pecia.features.ckf.package.codec.markdown import (
    TITLE,
    decode_markdown,
    encode_markdown,
    has_blocks,
)
from pecia.features.ckf.package.codec.report import decode_report, is_report
from pecia.features.ckf.package.codec.yaml import encode_yaml
from pecia.features.ckf.package.codec.yaml_reader import DecodedMapping, parse_mapping
from pecia.features.ckf.package.fields import SECTION_BY_KEY
from pecia.features.ckf.package.model import Item, Package
from pecia.features.ckf.package.normalize import normalize
from pecia.kernel.errors import Json, Unprocessable

MAX_DEPTH = 48


class PackageFormat(StrEnum):
    JSON = "json"
    YAML = "yaml"
    MARKDOWN = "markdown"


@dataclass(frozen=True, slots=True)
class DecodedDocument:
    """A decoded document, before defaults are filled in, with warnings."""

    format: PackageFormat
    body: Item
    warnings: tuple[str, ...] = ()


def encode_package(package: Package, format: PackageFormat) -> str:
    match format:
        case PackageFormat.JSON:
            return encode_json(package)
        case PackageFormat.YAML:
            return encode_yaml(package)
        case PackageFormat.MARKDOWN:
            return encode_markdown(package)
        case _:
            assert_never(format)


def parse_package(text: str, format: PackageFormat | None = None, filename: str = "") -> Package:
    return normalize(decode_document(text, format, filename).body)


def decode_document(
    text: str, format: PackageFormat | None = None, filename: str = ""
) -> DecodedDocument:
    """Decode a document; without a format it is detected by file name, then by content."""
    text = text.removeprefix("\ufeff")
    known = format or detect_format(text, filename)
    found = _mapping(text, known)
    if not found.value.keys() & SECTION_BY_KEY.keys():
        raise _unprocessable("no section of a CKF package in it")
    check_values(found.value)
    return DecodedDocument(known, found.value, found.warnings)


def detect_format(text: str, filename: str = "") -> PackageFormat:
    start = text.lstrip()
    if start.startswith(TITLE):
        # `pecia ckf compile handbook.md > handbook.ckf.json` writes Markdown.
        return PackageFormat.MARKDOWN
    if named := format_by_name(filename):
        return named
    if start.startswith("{"):
        return PackageFormat.JSON
    return (
        PackageFormat.MARKDOWN if start.startswith("#") or "```yaml" in text else PackageFormat.YAML
    )


def format_by_name(filename: str) -> PackageFormat | None:
    """The format that a file name stands for; None if it says nothing of it."""
    lowered = filename.lower()
    return next((it for ending, it in _ENDINGS.items() if lowered.endswith(ending)), None)


def check_values(value: Json, depth: int = 0) -> None:
    """Refuses what not every format can represent: huge integers, lone surrogates, deep nesting."""
    if depth > MAX_DEPTH:
        raise _unprocessable(f"nested deeper than {MAX_DEPTH}")
    if isinstance(value, dict):
        for key, it in value.items():
            check_values(key, depth + 1)
            check_values(it, depth + 1)
    elif isinstance(value, list):
        for it in value:
            check_values(it, depth + 1)
    elif isinstance(value, str):
        _check_text(value)
    elif isinstance(value, (int, float)) and not -(2**63) <= value < 2**63:
        _check_number(value)


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _unprocessable("lone surrogate") from error


def _check_number(number: float) -> None:
    if isinstance(number, int):
        raise _unprocessable("an integer beyond 64 bits")
    if not math.isfinite(number):
        raise _unprocessable("NaN or infinity")


def _mapping(text: str, format: PackageFormat) -> DecodedMapping:
    match format:
        case PackageFormat.JSON:
            return decode_json(text)
        case PackageFormat.YAML:
            return parse_mapping(text, "document")
        case PackageFormat.MARKDOWN:
            if not has_blocks(text) and is_report(text):
                return decode_report(text)
            return decode_markdown(text)
        case _:
            assert_never(format)


def _unprocessable(problem: str) -> Unprocessable:
    return Unprocessable(f"document, line 1: {problem}", section="document", line=1)


_ENDINGS = {
    ".json": PackageFormat.JSON,
    ".yaml": PackageFormat.YAML,
    ".yml": PackageFormat.YAML,
    ".md": PackageFormat.MARKDOWN,
    ".markdown": PackageFormat.MARKDOWN,
}
