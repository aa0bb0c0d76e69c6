"""JSON without secrets: by the name of a field, by its neighbour in a list, by shape. Pure."""

import math
import re
from functools import lru_cache
from itertools import chain
from typing import Any, TypeAlias, cast

from pecia.kernel.redaction.names import is_plural_secret_name, is_secret_name
from pecia.kernel.redaction.programs import (
    find_secret_flags,
    has_other_use,
    is_port,
    merge_flags,
    redact_flag_value,
    split_glued_flag,
)
from pecia.kernel.redaction.text import REDACTED, looks_random, redact

Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value] | None"

_HEADERS = frozenset(("authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key"))
_USER_FLAGS = frozenset(("-u", "--user", "--userpwd"))
_PROGRAMS = ("command", "cmd", "program", "executable", "exe", "file", "binary", "bin")
_ARGUMENTS = frozenset(("args", "arguments", "argv", "params", "parameters", "options", "flags"))
_ENVIRONMENTS = frozenset(("env", "environ", "environment"))
_VARIABLE = re.compile(r"\A([A-Za-z_]\w*=).+\Z", re.DOTALL)
_FLAG = re.compile(r"--?[A-Za-z][\w-]*")
MAX_PROGRAM_CHARS = 300
_MIN_INT, _MAX_INT = -(2**63), 2**64 - 1


def redact_value(value: Any) -> Value:
    """The value as JSON that any database holds, its secrets replaced. Not for deep nesting."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return replace_unstorable(redact(value))
    if isinstance(value, int):
        return (
            value if _MIN_INT <= value <= _MAX_INT else f"(an integer of {value.bit_length()} bits)"
        )
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return _object(cast(dict[str, Any], value))
    if isinstance(value, list | tuple):
        return _array([*cast(list[Any], value)], [])
    return replace_unstorable(redact(str(value)))


@lru_cache(maxsize=4096)
def redact_name(name: str) -> str:
    """The name of a tool or a field. The same few come with every call."""
    return replace_unstorable(redact(name))


def measure_depth(value: Any, most: int) -> int:
    """How deep containers stand in each other, counted up to `most` and one more."""
    level: list[Any] = [value]
    depth = 0
    while level and depth <= most:
        level = [
            it
            for it in chain.from_iterable(_children(holder) for holder in level)
            if isinstance(it, dict | list)
        ]
        depth += 1
    return depth


def replace_unstorable(text: str) -> str:
    """The text as PostgreSQL takes it: no lone surrogate, no NUL."""
    if text.isascii():
        return text.replace("\x00", "�") if "\x00" in text else text
    return text.encode("utf-8", "replace").decode().replace("\x00", "�")


def _children(holder: Any) -> Any:
    if isinstance(holder, dict):
        return cast(dict[str, Any], holder).values()
    return cast(list[Any], holder) if isinstance(holder, list) else ()


def _object(found: dict[str, Any]) -> dict[str, Value]:
    """An object, each value by its name; `{"name": "Authorization", "value": …}` is a pair."""
    label = found.get("name", found.get("key"))
    is_pair = isinstance(label, str) and is_secret_name(label)
    program = next((it for it in map(found.get, _PROGRAMS) if isinstance(it, str)), "")
    named = program.split()[:3]
    return {
        redact_name(str(name)): REDACTED
        if _hides(str(name), it) or (is_pair and name == "value")
        else _field(str(name), it, named)
        for name, it in found.items()
    }


def _field(name: str, value: Any, program: list[str]) -> Value:
    """A value that its name does not hide. Of an environment only the names are kept: a variable of
    any name may hold a secret."""
    kept = _array(cast(list[Any], value), program) if isinstance(value, list) else None
    if program and isinstance(value, str) and name.lower() in _ARGUMENTS:
        # In one text the program stands before its flags.
        before = f"{' '.join(program)} "
        kept = replace_unstorable(redact(f"{before}{value}")).removeprefix(before)
    kept = redact_value(value) if kept is None else kept
    if name.lower() not in _ENVIRONMENTS:
        return kept
    if isinstance(kept, dict):
        return {key: REDACTED if isinstance(it, str) and it else it for key, it in kept.items()}
    if isinstance(kept, list):
        return [_VARIABLE.sub(rf"\1{REDACTED}", it) if isinstance(it, str) else it for it in kept]
    return kept


def _hides(name: str, value: Any) -> bool:
    """Whether a field of this name holds a secret. A yes or no never is one."""
    if value is None or isinstance(value, bool):
        return False
    return is_secret_name(name) or (
        is_plural_secret_name(name) and not isinstance(value, int | float)
    )


def _array(items: list[Any], program: list[str]) -> list[Value]:
    """A list. What follows a flag or a header of a secret's name is the secret.

    `program` is what the list is given to; words of the list name others: `sudo mysql -p…`.
    """
    words = [it for it in items[:3] if isinstance(it, str)]
    letters = find_secret_flags(program)
    takes_password = not has_other_use([*program, *words[:2]])
    kept: list[Value] = []
    opened = "-" if len(items) == 2 and words and _names_pair(words[0]) else None
    in_key = False
    for place, it in enumerate(items):
        if in_key:
            kept.append(REDACTED)
        elif place and opened is not None and not isinstance(it, bool | list | dict | None):
            kept.append(_after(opened, str(it)))
            opened = None
        else:
            kept.append(_word(it, letters))
            letters = merge_flags(letters, _secret_flags_at(items, place))
            opened = opened if place == 0 and opened else _opens(it, letters)
            if opened is None and it == "-p" and takes_password:
                opened = "p"
        in_key = isinstance(it, str) and _is_in_key(it, before=in_key)
    return kept


def _secret_flags_at(items: list[Any], place: int) -> str:
    """The flags of a program that this word names, with the next two if need be."""
    word = items[place]
    if not isinstance(word, str) or word.startswith("-") or len(word) > MAX_PROGRAM_CHARS:
        return ""
    return find_secret_flags([it for it in items[place : place + 3] if isinstance(it, str)])


def _after(flag: str, value: str) -> Value:
    """What follows a flag. Behind the `-p` of a program that is not known, a number is a port."""
    if flag == "p" and is_port(value):
        return value
    if flag == "--key" and not looks_random(value):
        return redact_value(value)
    hidden = redact_flag_value(flag, value, REDACTED)
    return hidden if hidden != value else redact_value(value)


def _is_in_key(line: str, *, before: bool) -> bool:
    """Whether the next line of a list still belongs to a private key."""
    return "-----END" not in line and (before or ("PRIVATE KEY" in line and "-----BEGIN" in line))


def _opens(word: Any, letters: str) -> str | None:
    """The flag whose value is the next word; None where the next word stands for itself."""
    if not isinstance(word, str):
        return None
    if len(word) == 2 and word[0] == "-" and word[1] in letters:
        return "-" if word[1] == "p" else word[1]
    if word in _USER_FLAGS:
        return "u"
    if word == "--key":
        return word
    if _FLAG.fullmatch(word) and is_secret_name(word) and not word.startswith("--no-"):
        return "-"
    return "-" if word.endswith(":") and word[:-1].lower() in _HEADERS else None


def _word(it: Any, letters: str) -> Value:
    """One item; a short flag may carry its value itself, as in `-psecret`."""
    if isinstance(it, str) and (glued := split_glued_flag(it, letters)):
        return f"{glued[0]}{redact_flag_value(glued[0][-1], glued[1], REDACTED)}"
    flag, equals, value = it.partition("=") if isinstance(it, str) else ("", "", "")
    if equals and flag in _USER_FLAGS:
        return f"{flag}={_after('u', value)}"
    return redact_value(it)


def _names_pair(name: str) -> bool:
    """Whether the first of two names the second as a header or a variable does."""
    return name.lower() in _HEADERS or (name.isupper() and "_" in name and is_secret_name(name))
