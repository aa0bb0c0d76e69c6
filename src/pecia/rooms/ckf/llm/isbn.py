"""ISBNs whose check digit holds. Pure."""

import re


def isbn_in(line: str) -> str:
    """The first good ISBN of a line, without its hyphens, or nothing."""
    for it in _PRINTED.finditer(line):
        digits = re.sub(r"[ -]", "", it[1]).upper()
        if _holds(digits):
            return digits
    return ""


def _holds(digits: str) -> bool:
    if len(digits) == 13 and digits.isdigit():
        return sum(int(it) * (3 if at % 2 else 1) for at, it in enumerate(digits)) % 10 == 0
    if len(digits) == 10 and digits[:9].isdigit():
        values = [10 if it == "X" else int(it) for it in digits]
        return sum(value * (10 - at) for at, value in enumerate(values)) % 11 == 0
    return False


_PRINTED = re.compile(
    r"(?i)isbn(?:-1[03])?(?:\s*\([^)]{1,20}\))?\s*:?\s*([0-9][0-9 -]{8,16}[0-9xX])"
)
