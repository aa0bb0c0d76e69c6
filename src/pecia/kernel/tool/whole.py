"""Numbers such as `5.0`: integers to JSON Schema, and to us where an integer is asked for. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from pydantic import ValidationError

from pecia.kernel.errors import Json

# From here on, a number with a fraction does not say which integer is meant.
NOT_EXACT = 2**53


def with_integers(arguments: Mapping[str, Json], error: ValidationError) -> bytes | None:
    """The arguments as JSON, with integers where they were missed; None where there is none.

    Other numbers stay as they came: in a document, `5.0` is what somebody wrote.
    """
    missed = [it["loc"] for it in error.errors(include_url=False) if it["type"] == "int_type"]
    if not missed:
        return None
    given = orjson.loads(orjson.dumps(arguments))
    mended = [_mend(given, it) for it in missed]
    return orjson.dumps(given) if any(mended) else None


def _mend(given: Any, place: Sequence[int | str]) -> bool:
    """Put the integer that the number there says; whether there is one."""
    within, found = None, given
    last: int | str = ""
    for step in place:
        # A step that only names one of several shapes leads nowhere.
        if _leads(found, step):
            within, last, found = found, step, found[step]
    if within is None or not isinstance(found, float):
        return False
    if not found.is_integer() or abs(found) >= NOT_EXACT:
        return False
    within[last] = int(found)
    return True


def _leads(value: Any, step: int | str) -> bool:
    return (isinstance(value, dict) and step in value) or (
        isinstance(value, list) and isinstance(step, int)
    )
