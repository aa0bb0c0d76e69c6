"""Path patterns: which relative paths they mean. Pure: no file system.

`*` and `?` stay within one folder, `**` is any number of folders, `[ab]` and `[!ab]` are one of, or
none of, these letters. A pattern is held against the whole path, so `*.md` means the top folder
only and `**/*.md` every folder.

Patterns are their tenant's, and one worker serves all tenants: the time that one takes grows with
the length of pattern and path, never with the number of stars.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from pecia.kernel.errors import InvalidFormat


def compile_globs(patterns: Iterable[str], *, field: str) -> re.Pattern[str]:
    """One expression that fits what any of the patterns fits; none of them fits nothing."""
    return re.compile("|".join(_expression(pattern, field) for pattern in patterns) or r"(?!)")


@lru_cache(maxsize=1024)
def _expression(pattern: str, field: str) -> str:
    segments = pattern.split("/")
    if any(segment in ("", ".", "..") for segment in segments):
        raise InvalidFormat(
            f"{pattern!r} is not a pattern of relative paths", field=field, pattern=pattern
        )
    return _require_valid(rf"(?:{_path(segments)}\Z)", pattern, field)


def _path(segments: list[str]) -> str:
    """Each run of segments between two `**` is taken where it first fits, and stays there.

    A later place could only leave less of the path to what follows, so there is nothing to come
    back for; the last run stands at the end.
    """
    first, *others = _runs(segments)
    if not others:
        return "/".join(map(_segment, first))
    *between, last = others
    head = _folders(first) + "".join(f"(?>(?:[^/]+/)*?{_folders(run)})" for run in between)
    if not last:
        return f"{head}(?s:.+)"
    return f"{head}(?:[^/]+/)*{'/'.join(map(_segment, last))}"


def _runs(segments: list[str]) -> list[list[str]]:
    """The segments, cut at each `**`. Several in a row are one."""
    runs: list[list[str]] = [[]]
    for at, segment in enumerate(segments):
        if segment != "**":
            runs[-1].append(segment)
        elif at == 0 or segments[at - 1] != "**":
            runs.append([])
    return runs


def _folders(run: list[str]) -> str:
    return "".join(f"{_segment(it)}/" for it in run)


def _require_valid(expression: str, pattern: str, field: str) -> str:
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
    """What stands between two stars is taken where it first fits, as `fnmatch` does it."""
    first, *others = _between_stars(segment)
    if not others:
        return first
    *between, last = others
    return f"{first}{''.join(f'(?>[^/]*?{it})' for it in between)}[^/]*{last}"


def _between_stars(segment: str) -> list[str]:
    parts = [""]
    for token in _TOKENS.findall(segment):
        if token.startswith("*"):
            parts.append("")
        else:
            parts[-1] += _token(token)
    return parts


def _token(token: str) -> str:
    if token == "?":
        return "[^/]"
    if len(token) > 1:
        letters = re.escape(token[2:-1] if token[1] == "!" else token[1:-1]).replace(r"\-", "-")
        return f"(?!/)[{'^' if token[1] == '!' else ''}{letters}]"
    return re.escape(token)


_TOKENS = re.compile(r"\[!?[^\]]+\]|\*+|\?|.", re.DOTALL)
