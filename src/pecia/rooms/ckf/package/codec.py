"""Packages in and out of text, in three formats. What was written is read back, to the last field.

`decode` gives what a document holds; `parse` completes it. The law: parse(encode(x)) == x.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from pecia.kernel.errors import Json, Unprocessable
from pecia.rooms.ckf.package.fields import SECTION_BY_KEY
from pecia.rooms.ckf.package.json import decode_json, encode_json
from pecia.rooms.ckf.package.markdown import decode_markdown, encode_markdown, has_blocks
from pecia.rooms.ckf.package.model import Item, Package
from pecia.rooms.ckf.package.normal import normalize
from pecia.rooms.ckf.package.report import decode_report, is_report
from pecia.rooms.ckf.package.yaml import encode_yaml
from pecia.rooms.ckf.package.yaml_read import Mapping, read_mapping

DEPTH = 48


class Format(StrEnum):
    JSON = "json"
    YAML = "yaml"
    MARKDOWN = "markdown"


@dataclass(frozen=True, slots=True)
class Document:
    """What a text held, before anything is filled in, and what was odd about it."""

    format: Format
    body: Item
    warnings: tuple[str, ...] = ()


def encode(package: Package, format: Format) -> str:
    match format:
        case Format.JSON:
            return encode_json(package)
        case Format.YAML:
            return encode_yaml(package)
        case Format.MARKDOWN:
            return encode_markdown(package)
        case _:
            assert_never(format)


def parse(text: str, format: Format | None = None, filename: str = "") -> Package:
    return normalize(decode(text, format, filename).body)


def decode(text: str, format: Format | None = None, filename: str = "") -> Document:
    """The document; without a format, the file's name and then the text tell it."""
    text = text.removeprefix("\ufeff")
    known = format or detect(text, filename)
    found = _mapping(text, known)
    if not found.value.keys() & SECTION_BY_KEY.keys():
        raise _refused("no section of a CKF package in it")
    check_values(found.value)
    return Document(known, found.value, found.warnings)


def detect(text: str, filename: str = "") -> Format:
    for ending, format in _ENDINGS.items():
        if filename.lower().endswith(ending):
            return format
    start = text.lstrip()
    if start.startswith("{"):
        return Format.JSON
    return Format.MARKDOWN if start.startswith("#") or "```yaml" in text else Format.YAML


def check_values(value: Json, depth: int = 0) -> None:
    """Refuses what not every format can say: huge integers, half characters, endless nesting."""
    if depth > DEPTH:
        raise _refused(f"nested deeper than {DEPTH}")
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
        raise _refused("half of a surrogate pair") from error


def _check_number(number: float) -> None:
    if isinstance(number, int):
        raise _refused("an integer beyond 64 bits")
    if not math.isfinite(number):
        raise _refused("a number that is none")


def _mapping(text: str, format: Format) -> Mapping:
    match format:
        case Format.JSON:
            return decode_json(text)
        case Format.YAML:
            return read_mapping(text, "document")
        case Format.MARKDOWN:
            if not has_blocks(text) and is_report(text):
                return decode_report(text)
            return decode_markdown(text)
        case _:
            assert_never(format)


def _refused(problem: str) -> Unprocessable:
    return Unprocessable(f"document, line 1: {problem}", section="document", line=1)


_ENDINGS = {
    ".json": Format.JSON,
    ".yaml": Format.YAML,
    ".yml": Format.YAML,
    ".md": Format.MARKDOWN,
    ".markdown": Format.MARKDOWN,
}
