"""What some scripts need before their words can be told apart. Pure.

The engine cuts words at every character that is no letter or digit. Signs that are written inside
a word and say nothing of their own would cut it: a virama in Hindi, a vowel point in Hebrew, a soft
hyphen, an accent that stands apart from its letter. They are dropped from texts and from queries.
Thai, Lao, Burmese and Khmer have no spaces between words: they are found by grams instead.
ASCII needs none of this: callers ask first, which is quicker.
"""

import re
import unicodedata
from collections.abc import Iterator

_THAI_TO_KHMER = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0eff"
    "\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u17e0-\u17ff"
)
_UNSPACED = re.compile(f"[{_THAI_TO_KHMER}]+")
# Signs for vowels and tones are no letters for Python, but parts of words, here and in the Indic
# scripts. The rest of these blocks is letters and digits; dandas, which end sentences, are not in.
MARKED_SCRIPTS = f"\u0900-\u0963\u0966-\u096f\u0971-\u0df3{_THAI_TO_KHMER}"
_ACCENTED = re.compile("[^\u0300-\u036f][\u0300-\u036f]+")
# Soft hyphens and joiners; accents; points and cantillation; harakat and tatweel; nuktas, viramas.
_DROPPED = re.compile(
    "[\u00ad\u200c\u200d\u2060\ufeff\u0300-\u036f"
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
    "\u093c\u09bc\u0a3c\u0abc\u0b3c\u0cbc\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca]"
)
GRAM_CHARS = 3


def clean_text(text: str) -> str:
    """The text without the signs that would cut its words, and with accents on their letters."""
    if not _DROPPED.search(text):
        return text
    return _DROPPED.sub("", _ACCENTED.sub(_compose, text))


def clean_with_offsets(text: str) -> tuple[str, list[int] | None]:
    """The same, and for each character of it, and for its end, where it stands in the text.

    None in place of the offsets where nothing was dropped.
    """
    if not _DROPPED.search(text):
        return text, None
    kept: list[str] = []
    offsets: list[int] = []
    at = 0
    while at < len(text):
        found = _ACCENTED.match(text, at)
        end = found.end() if found else at + 1
        piece = _DROPPED.sub("", _compose(found) if found else text[at])
        kept.append(piece)
        offsets += [at] * len(piece)
        at = end
    return "".join(kept), [*offsets, len(text)]


def blank_unspaced(text: str) -> str:
    """The text with spaces for the scripts that are found by grams: the engine would cut them
    anywhere."""
    return _UNSPACED.sub(lambda it: " " * len(it.group()), text)


def find_unspaced(text: str) -> Iterator[tuple[int, str]]:
    """The runs of those scripts, and where each begins."""
    return ((it.start(), it.group()) for it in _UNSPACED.finditer(text))


def has_unspaced(text: str) -> bool:
    return _UNSPACED.search(text) is not None


def cut_grams(run: str, size: int = GRAM_CHARS) -> list[str]:
    """Overlapping grams; the whole run where it is shorter."""
    return [run[at : at + size] for at in range(max(1, len(run) - size + 1))]


def _compose(found: re.Match[str]) -> str:
    return unicodedata.normalize("NFC", found.group())
