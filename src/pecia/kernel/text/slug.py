"""Names for headings and documents that fit in an address. Pure."""

import re
import unicodedata


def github_slug(heading: str) -> str:
    """The anchor that GitHub gives a heading: lower case, no punctuation, hyphens for spaces."""
    words = heading.strip().lower()
    if words.isascii():
        return _PUNCTUATION.sub("", words).replace(" ", "-")
    return "".join(it for it in words if it in "-_ " or _is_word(it)).replace(" ", "-")


def name_slug(text: str) -> str:
    """Letters and digits without their accents, in lower case, joined by single hyphens."""
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text)
        # Most marks are of one block, and a pattern removes them in a tenth of the time.
        bare = _COMMON_MARKS.sub("", decomposed)
        if not bare.isascii():
            bare = "".join(it for it in bare if not _is_mark(it))
        text = unicodedata.normalize("NFC", bare)
    return _NOT_WORD.sub("-", text.lower()).strip("-")


class SlugCounter:
    """Makes repeated names differ: the second `setup` is `setup-1`, the third `setup-2`."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}

    def deduplicate(self, name: str) -> str:
        found, number = name, self._used.get(name, 0)
        while found in self._used:
            number += 1
            found = f"{name}-{number}"
        self._used[name] = number
        self._used.setdefault(found, 0)
        return found


def _is_word(char: str) -> bool:
    return char.isalnum() or _is_mark(char)


def _is_mark(char: str) -> bool:
    return unicodedata.category(char).startswith("M")


_PUNCTUATION = re.compile(r"[^a-z0-9_ -]+")
_COMMON_MARKS = re.compile("[\u0300-\u036f]+")
_NOT_WORD = re.compile(r"[\W_]+")
