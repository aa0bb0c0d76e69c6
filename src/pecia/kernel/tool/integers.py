"""Integers as JSON has them: `5.0` is one, and one may be larger than any machine's. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from pydantic import ValidationError

from pecia.kernel.errors import Json

# From here on, a number with a fraction does not say which integer is meant.
MAX_EXACT_FLOAT = 2**53

# What 64 bits hold, with a sign or without.
MIN_INT, MAX_INT = -(2**63), 2**64 - 1


def coerce_integers(arguments: Mapping[str, Json], error: ValidationError) -> bytes | None:
    """The arguments as JSON, with integers where they were missed; None where there is none.

    Other numbers stay as they came: in a document, `5.0` is what somebody wrote.
    """
    missed = [it["loc"] for it in error.errors(include_url=False) if it["type"] == "int_type"]
    if not missed:
        return None
    given = orjson.loads(orjson.dumps(arguments))
    mended = [_coerce_at(given, it) for it in missed]
    return orjson.dumps(given) if any(mended) else None


def is_beyond_64_bits(value: object) -> bool:
    """Whether it is a whole number that 64 bits do not hold."""
    if isinstance(value, float) and not value.is_integer():
        return False
    return isinstance(value, int | float) and not MIN_INT <= value <= MAX_INT


def find_beyond_64_bits(arguments: Mapping[str, Json]) -> tuple[int | str, ...] | None:
    """Where the first integer stands that 64 bits do not hold."""
    waiting: list[tuple[tuple[int | str, ...], Json]] = [((), dict(arguments))]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, int) and is_beyond_64_bits(value):
            return place
        inside = value.items() if isinstance(value, dict) else ()
        inside = enumerate(value) if isinstance(value, list) else inside
        waiting += reversed([((*place, step), it) for step, it in inside])
    return None


def _coerce_at(given: Any, place: Sequence[int | str]) -> bool:
    """Put the integer that the number there says; whether there is one."""
    within, found = None, given
    last: int | str = ""
    for step in place:
        # A step that only names one of several shapes leads nowhere.
        if _leads(found, step):
            within, last, found = found, step, found[step]
    if within is None or not isinstance(found, float):
        return False
    if not found.is_integer() or abs(found) >= MAX_EXACT_FLOAT:
        return False
    within[last] = int(found)
    return True


def _leads(value: Any, step: int | str) -> bool:
    return (isinstance(value, dict) and step in value) or (
        isinstance(value, list) and isinstance(step, int)
    )
