"""Text without control characters, as the type of an argument that becomes a file. Pure."""

import re
from typing import Annotated, Any, TypeAlias, cast

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from pecia.kernel.text.span import find_position

CONTROL_CHARACTER = "control_character"
"""The type of the error that pydantic reports."""


def require_plain_text(text: str, where: str = "") -> str:
    """Tab, line feed, form feed and carriage return are text, every other C0 character and DEL is
    not. `where` names the value inside of the argument."""
    found = _REFUSED.search(text)
    if found is None:
        return text
    at, sign = found.start(), f"U+{ord(found[0]):04X}"
    place = find_position(text, at)
    raise PydanticCustomError(
        CONTROL_CHARACTER,
        "{where}a control character, {sign}, at position {position} (line {line}, column {column})",
        {
            "where": f"{where}: " if where else "",
            "sign": f"{sign} (NUL)" if found[0] == "\0" else sign,
            "position": at,
            "line": place.line,
            "column": place.column,
        },
    )


def require_plain_values(value: dict[str, Any]) -> dict[str, Any]:
    """The same for every text in a JSON object, keys included."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        where, it = waiting.pop()
        if isinstance(it, str):
            require_plain_text(it, where)
        elif isinstance(it, list):
            items = cast(list[Any], it)
            waiting += [
                (f"{where}.{at}" if where else str(at), one) for at, one in enumerate(items)
            ]
        elif isinstance(it, dict):
            for key, one in cast(dict[str, Any], it).items():
                inner = f"{where}.{key}" if where else key
                require_plain_text(key, ascii(inner))
                waiting.append((inner, one))
    return value


PlainText: TypeAlias = Annotated[str, AfterValidator(require_plain_text)]
PlainValues: TypeAlias = Annotated[dict[str, Any], AfterValidator(require_plain_values)]

_REFUSED = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
