"""Globs of a source: which relative paths they mean. Pure: no file system.

They are their tenant's, and one worker serves all tenants: matching takes linear time.
"""

import re
from collections.abc import Iterable

from pecia.kernel.errors import InvalidFormat
from pecia.kernel.text.glob import CharacterSet, compile_any, parse_glob


def compile_globs(patterns: Iterable[str], *, field: str) -> re.Pattern[str]:
    """One expression that fits what any of the patterns fits; none of them fits nothing."""
    return compile_any(_require_relative(it, field) for it in patterns)


def _require_relative(pattern: str, field: str) -> str:
    fault = None
    if any(segment in ("", ".", "..") for segment in pattern.split("/")):
        fault = "is not a pattern of relative paths"
    tokens = (token for segment in parse_glob(pattern) for token in segment or ())
    if any(isinstance(it, CharacterSet) and it.is_backwards for it in tokens):
        fault = "has a range of letters that ends before it begins"
    if fault is None:
        return pattern
    raise InvalidFormat(f"{pattern!r} {fault}", field=field, pattern=pattern)
