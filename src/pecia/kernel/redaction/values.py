"""JSON without secrets: by the name of a field, by its neighbour in a list, by shape. Pure."""

import math
import re
from functools import lru_cache
from itertools import chain
from typing import Any, TypeAlias, cast

from pecia.kernel.redaction.names import names_secret, names_secrets
from pecia.kernel.redaction.programs import program_flags, redact_value_of
from pecia.kernel.redaction.text import REDACTED, redact

Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value] | None"

_HEADERS = frozenset(("authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key"))
_FLAG = re.compile(r"--?[A-Za-z][\w-]*")
_LEAST, _MOST = -(2**63), 2**64 - 1


def redact_value(value: Any) -> Value:
    """The value as JSON that any database holds, its secrets replaced. Not for deep nesting."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return storable(redact(value))
    if isinstance(value, int):
        return value if _LEAST <= value <= _MOST else f"(an integer of {value.bit_length()} bits)"
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return _object(cast(dict[str, Any], value))
    if isinstance(value, list | tuple):
        return _array([*cast(list[Any], value)], "")
    return storable(redact(str(value)))


@lru_cache(maxsize=4096)
def redact_name(name: str) -> str:
    """The name of a tool or a field. The same few come with every call."""
    return storable(redact(name))


def depth_of(value: Any, most: int) -> int:
    """How deep containers stand in each other, counted up to `most` and one more."""
    level: list[Any] = [value]
    depth = 0
    while level and depth <= most:
        level = [
            it
            for it in chain.from_iterable(_inside(holder) for holder in level)
            if isinstance(it, dict | list)
        ]
        depth += 1
    return depth


def storable(text: str) -> str:
    """The text as PostgreSQL takes it: no lone surrogate, no NUL."""
    if text.isascii():
        return text.replace("\x00", "�") if "\x00" in text else text
    return text.encode("utf-8", "replace").decode().replace("\x00", "�")


def _inside(holder: Any) -> Any:
    if isinstance(holder, dict):
        return cast(dict[str, Any], holder).values()
    return cast(list[Any], holder) if isinstance(holder, list) else ()


def _object(found: dict[str, Any]) -> dict[str, Value]:
    """An object, each value by its name; `{"name": "Authorization", "value": …}` is a pair."""
    label = found.get("name", found.get("key"))
    is_pair = isinstance(label, str) and names_secret(label)
    program = found.get("command")
    flags = program_flags(program.split()[:3]) if isinstance(program, str) else None
    return {
        redact_name(str(name)): REDACTED
        if _hides(str(name), it) or (is_pair and name == "value")
        else _array(cast(list[Any], it), flags)
        if isinstance(it, list)
        else redact_value(it)
        for name, it in found.items()
    }


def _hides(name: str, value: Any) -> bool:
    """Whether a field of this name holds a secret. A yes or no never is one."""
    if value is None or isinstance(value, bool):
        return False
    return names_secret(name) or (names_secrets(name) and not isinstance(value, int | float))


def _array(items: list[Any], flags: str | None) -> list[Value]:
    """A list. What follows a flag or a header of a secret's name is the secret.

    `flags` are the secret ones of the program that the list belongs to; None: look for yourself.
    """
    words = [it for it in items[:3] if isinstance(it, str)]
    letters = (flags or program_flags(words)) if words else ""
    is_anyones = flags is None and bool(words) and words[0].startswith("-")
    kept: list[Value] = []
    opened = "-" if len(items) == 2 and words and _names_pair(words[0]) else None
    in_key = False
    for place, it in enumerate(items):
        if in_key:
            kept.append(REDACTED)
        elif place and opened is not None and not isinstance(it, bool | list | dict | None):
            kept.append(redact_value_of(opened, str(it), REDACTED))
            opened = None
        else:
            kept.append(_word(it, letters))
            opened = opened if place == 0 and opened else _opens(it, letters)
            if is_anyones and it == "-p" and not str(items[place + 1 : place + 2])[2:-2].isdigit():
                opened = "-"
        in_key = isinstance(it, str) and _is_in_key(it, before=in_key)
    return kept


def _is_in_key(line: str, *, before: bool) -> bool:
    """Whether the next line of a list still belongs to a private key."""
    return "-----END" not in line and (before or ("PRIVATE KEY" in line and "-----BEGIN" in line))


def _opens(word: Any, letters: str) -> str | None:
    """The flag whose value is the next word; None where the next word stands for itself."""
    if not isinstance(word, str):
        return None
    if len(word) == 2 and word[0] == "-" and word[1] in letters:
        return word[1]
    if _FLAG.fullmatch(word) and names_secret(word) and not word.startswith("--no-"):
        return "-"
    return "-" if word.endswith(":") and word[:-1].lower() in _HEADERS else None


def _word(it: Any, letters: str) -> Value:
    """One item; a short flag may carry its value itself, as in `-psecret`."""
    if isinstance(it, str) and len(it) > 2 and it[0] == "-" and it[1] in letters:
        return f"{it[:2]}{redact_value_of(it[1], it[2:].lstrip('='), REDACTED)}"
    return redact_value(it)


def _names_pair(name: str) -> bool:
    """Whether the first of two names the second as a header or a variable does."""
    return name.lower() in _HEADERS or (name.isupper() and "_" in name and names_secret(name))
