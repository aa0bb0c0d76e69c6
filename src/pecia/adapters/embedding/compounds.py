"""Compounds of German, Dutch, the Nordic languages, Finnish and Hungarian. Pure.

`krankenversicherungsbeitrag` is in no table, and its parts are: they are looked for, with the
letters that join them.
"""

from collections.abc import Callable

# What may stand between two parts. Letters that are the end of a part are part of its stem mostly.
JOINTS = {
    "de": ("", "s", "es", "n", "en", "er", "e"),
    "nl": ("", "s", "en", "e"),
    "sv": ("", "s", "e"),
    "da": ("", "s", "e"),
    "nb": ("", "s", "e"),
    "fi": ("", "n"),
    "hu": ("",),
}
# Shorter ones are endings and prefixes mostly.
MIN_PART = 4
MAX_PARTS = 3


def split_compound(
    word: str, language: str, stem: Callable[[str], str], is_known: Callable[[str], bool]
) -> list[str]:
    """The stems of the parts of a word, in order; nothing where not all of it is in known ones.

    The fewest parts, and of these the longest last one: it says what the thing is.
    """
    if language not in JOINTS or not word.isalpha():
        return []
    return _split(word, JOINTS[language], stem, is_known, MAX_PARTS)


def _split(
    word: str,
    joints: tuple[str, ...],
    stem: Callable[[str], str],
    is_known: Callable[[str], bool],
    most: int,
) -> list[str]:
    best: list[str] = []
    for at in range(MIN_PART, len(word) - MIN_PART + 1):
        first = _find_part(word[:at], joints, stem, is_known)
        if not first:
            continue
        last = _find_part(word[at:], ("",), stem, is_known)
        if last:
            return [first, last]
        most_left = (len(best) or most + 1) - 2
        if most_left >= 2 and (rest := _split(word[at:], joints, stem, is_known, most_left)):
            best = [first, *rest]
    return best


def _find_part(
    part: str,
    joints: tuple[str, ...],
    stem: Callable[[str], str],
    is_known: Callable[[str], bool],
) -> str:
    forms = (part.removesuffix(it) for it in joints if part.endswith(it))
    candidates = (key for form in forms if len(form) >= MIN_PART for key in (form, stem(form)))
    return next(filter(is_known, candidates), "")
