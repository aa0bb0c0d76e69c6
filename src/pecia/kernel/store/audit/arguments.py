"""The arguments of a call as its audit row keeps them: bounded, storable, without secrets. Pure."""

import json
from collections.abc import Mapping

import orjson

from pecia.kernel.errors import Json
from pecia.kernel.redaction import redact, redact_value
from pecia.kernel.redaction.values import measure_depth

MAX_TEXT = 500
MAX_BYTES = 2_000
MAX_DEPTH = 128
"""Containers in each other. Every encoder and validator on the way takes more than this."""
MAX_SCANNED_CHARS = 8_000
"""Signs of a text: what is cut off must leave no half of a secret that no rule knows any more."""


def bound_arguments(arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Each argument as it came, long ones cut and marked, secrets replaced."""
    # As one object: a name may say that a value is a secret, or which program gets the flags.
    found = redact_value({name: _bounded(it) for name, it in arguments.items()})
    assert isinstance(found, dict)
    return found


def is_too_deep(value: Json) -> bool:
    """Whether it is nested deeper than any argument may be."""
    return isinstance(value, dict | list) and measure_depth(value, MAX_DEPTH) > MAX_DEPTH


def _bounded(value: Json) -> Json:
    if isinstance(value, str):
        if len(value) <= MAX_TEXT:
            return value
        return f"{redact(value[:MAX_SCANNED_CHARS])[:MAX_TEXT]}… ({len(value)} characters)"
    if not isinstance(value, dict | list):
        return value
    if is_too_deep(value):
        return f"(JSON nested deeper than {MAX_DEPTH} levels)"
    size = _size(value)
    return value if size <= MAX_BYTES else f"({size} bytes of JSON)"


def _size(value: Json) -> int:
    try:
        return len(orjson.dumps(value))
    except TypeError:
        # Larger than 64 bits, or half of a surrogate pair: the slower one writes both.
        return len(json.dumps(value, default=str, ensure_ascii=False))
