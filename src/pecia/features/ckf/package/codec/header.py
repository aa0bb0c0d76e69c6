"""The header lines of a Markdown package: `key: value`, for people and older parsers."""

import json
import re
from collections.abc import Mapping

from pecia.features.ckf.package.codec.yaml import FENCE
from pecia.features.ckf.package.field import FieldShape
from pecia.features.ckf.package.fields import HEADER_FIELDS, METADATA
from pecia.features.ckf.package.model import Item
from pecia.kernel.errors import Json


def render_header(metadata: Mapping[str, Json]) -> list[str]:
    """The base fields, then every other one that fits on a line and cannot end a block."""
    names = [*HEADER_FIELDS, *(it for it in metadata if it not in HEADER_FIELDS)]
    found = [(name, metadata[name]) for name in names if name in metadata]
    texts = [(name, _value(value)) for name, value in found if _KEY.fullmatch(name)]
    lines = [f"{name}: {text}".rstrip() for name, text in texts if text is not None]
    return [it for it in lines if FENCE not in it]


def parse_header(lines: list[str]) -> Item:
    """Parse the lines; each value has the type of its field."""
    found: Item = {}
    for line in lines:
        if entry := _LINE.fullmatch(line):
            name = _OLD_NAMES.get(entry[1], entry[1])
            found.setdefault(name, _read(name, (entry[2] or "").strip()))
    return found


def _value(value: Json) -> str | None:
    if isinstance(value, str):
        return _SPACE.sub(" ", value)
    if isinstance(value, list):
        return _list(value)
    if value is None or isinstance(value, dict):
        return None
    return json.dumps(value)


def _list(value: list[Json]) -> str | None:
    if any(isinstance(it, (dict, list)) for it in value):
        return None
    if all(isinstance(it, str) and _SIMPLE.fullmatch(it) for it in value):
        return f"[{', '.join(str(it) for it in value)}]"
    return json.dumps(value)


def _read(name: str, text: str) -> Json:
    field = METADATA.find_field(name)
    shape = field.shape if field else FieldShape.TEXT
    if shape is FieldShape.TEXTS:
        return _read_list(text)
    numeric = shape in (FieldShape.NUMBER, FieldShape.INTEGER, FieldShape.INTEGER_OR_TEXT)
    if numeric and _NUMBER.fullmatch(text):
        return json.loads(text)
    return text


def _read_list(text: str) -> Json:
    if not (text.startswith("[") and text.endswith("]")):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return [it.strip().strip("\"'") for it in text[1:-1].split(",")]


_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LINE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*):(?:[ \t]+(.*))?")
_SPACE = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]+")
_SIMPLE = re.compile(r"[^\W\d](?:[^\s,\[\]\"']| (?! |$))*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d+)?(?:[eE][-+]?\d+)?")
# The branch of May 2026 wrote this one.
_OLD_NAMES = {"format_version": "protocol_version"}
