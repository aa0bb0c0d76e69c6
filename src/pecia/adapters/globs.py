"""Path patterns: which relative paths they mean. Pure: no file system.

`*` and `?` stay within one folder, `**` is any number of folders, `[ab]` and `[!ab]` are one of, or
none of, these letters. A pattern is held against the whole path, so `*.md` means the top folder
only and `**/*.md` every folder.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from pecia.kernel.errors import InvalidFormat


def compiled(patterns: Iterable[str], *, field: str) -> re.Pattern[str]:
    """One expression that fits what any of the patterns fits; none of them fits nothing."""
    return re.compile("|".join(_expression(pattern, field) for pattern in patterns) or r"(?!)")


@lru_cache(maxsize=1024)
def _expression(pattern: str, field: str) -> str:
    segments = pattern.split("/")
    if any(segment in ("", ".", "..") for segment in segments):
        raise InvalidFormat(
            f"{pattern!r} is not a pattern of relative paths", field=field, pattern=pattern
        )
    *folders, last = segments
    head = "".join("(?:[^/]+/)*" if it == "**" else f"{_segment(it)}/" for it in folders)
    return _sound(f"(?:{head}{'.+' if last == '**' else _segment(last)})", pattern, field)


def _sound(expression: str, pattern: str, field: str) -> str:
    try:
        re.compile(expression)
    except re.error:
        raise InvalidFormat(
            f"{pattern!r} has a range of letters that ends before it begins",
            field=field,
            pattern=pattern,
        ) from None
    return expression


def _segment(segment: str) -> str:
    return "".join(_token(token) for token in _TOKENS.findall(segment))


def _token(token: str) -> str:
    if token == "?":
        return "[^/]"
    if token.startswith("*"):
        return "[^/]*"
    if len(token) > 1:
        letters = re.escape(token[2:-1] if token[1] == "!" else token[1:-1]).replace(r"\-", "-")
        return f"(?!/)[{'^' if token[1] == '!' else ''}{letters}]"
    return re.escape(token)


_TOKENS = re.compile(r"\[!?[^\]]+\]|\*+|\?|.", re.DOTALL)
