"""What somebody may have meant by a name that does not exist. Pure."""

from collections.abc import Iterable
from difflib import get_close_matches

MAX_NEAREST = 5
MAX_NAME_CHARS = 200
"""No name is longer, and comparing takes time that grows with the length."""


def nearest_names(given: str, known: Iterable[str]) -> list[str]:
    """The few known names that are most like it, the nearest first, however far they are."""
    return get_close_matches(given[:MAX_NAME_CHARS], [*known], n=MAX_NEAREST, cutoff=0.0)


def suggest_name(given: str, known: Iterable[str]) -> str:
    """The end of a message: `; did you mean list_files?`, or nothing where no name is near."""
    near = get_close_matches(given, known, n=1) if len(given) <= MAX_NAME_CHARS else []
    return f"; did you mean {near[0]}?" if near else ""
