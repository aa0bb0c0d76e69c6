"""What somebody may have meant by a name that does not exist. Pure."""

from collections.abc import Iterable
from difflib import get_close_matches

MAX_NAME_CHARS = 200
"""No name is longer, and comparing takes time that grows with the length."""


def suggest_name(given: str, known: Iterable[str]) -> str:
    """The end of a message: `; did you mean list_files?`, or nothing where no name is near."""
    near = get_close_matches(given, known, n=1) if len(given) <= MAX_NAME_CHARS else []
    return f"; did you mean {near[0]}?" if near else ""
