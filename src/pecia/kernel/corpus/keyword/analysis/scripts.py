"""What some scripts need before their words can be told apart. Pure.

The engine cuts words at every character that is no letter or digit. Signs that are written inside
a word and say nothing of their own would cut it: a virama in Hindi, a vowel point in Hebrew, a soft
hyphen, an accent that stands apart from its letter. They are dropped from texts and queries,
and letters that are written in several ways are taken for one (`letters.py`).
Thai, Lao, Burmese and Khmer have no spaces between words: they are found by grams instead.
ASCII needs none of this: callers ask first, which is quicker.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from pecia.kernel.corpus.keyword.analysis.letters import (
    COMPOSED,
    compose_match,
    fold,
    has_composed,
)

_THAI_TO_KHMER = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0eff"
    "\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u17e0-\u17ff"
)
_UNSPACED = re.compile(f"[{_THAI_TO_KHMER}]+")
# Signs for vowels and tones are no letters for Python, but parts of words, here and in the Indic
# scripts. The rest of these blocks is letters and digits; dandas, which end sentences, are not in.
MARKED_SCRIPTS = f"\u0900-\u0963\u0966-\u096f\u0971-\u0df3{_THAI_TO_KHMER}"
# Soft hyphens and joiners; accents; points and cantillation; harakat and tatweel; nuktas, viramas.
_DROPPED = re.compile(
    "[\u00ad\u200c\u200d\u2060\ufeff\u0300-\u036f"
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
    "\u093c\u09bc\u0a3c\u0abc\u0b3c\u0cbc\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca]"
)
# Chinese, Japanese and Korean, and letters and digits that may stand beside them without a space.
CJK = (
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_ANY_CJK = re.compile(f"[{CJK}]")
_BESIDE = f"(?:[^\\W_{CJK}]|[{MARKED_SCRIPTS}])"
_SEAM = re.compile(f"(?<=[{CJK}])(?={_BESIDE})|(?<={_BESIDE})(?=[{CJK}])")
# A text without any of these stays as it is: it has Latin letters and common signs alone. To search
# for the class takes a fifteenth of the time that the patterns above take.
_SPECIAL = re.compile("[^\x00-\xac\xae-\u012f\u0131-\u02af\u2010-\u205f\u2190-\u2bff]")
_REWRITTEN = re.compile(f"{COMPOSED.pattern}|{_DROPPED.pattern}")
GRAM_CHARS = 3


def clean_text(text: str) -> str:
    """The text without the signs that would cut its words, with each letter in one form, and with
    spaces around other scripts in Chinese, Japanese and Korean: `Excelで開く` has Excel."""
    if not _SPECIAL.search(text):
        return text
    cleaned = fold(drop_signs(text))
    return _SEAM.sub(" ", cleaned) if _ANY_CJK.search(cleaned) else cleaned


def drop_signs(text: str) -> str:
    """The text without those signs, and with accents on their letters."""
    if has_composed(text):
        text = COMPOSED.sub(compose_match, text)
    return _DROPPED.sub("", text) if _DROPPED.search(text) else text


def clean_with_offsets(text: str) -> tuple[str, list[int] | None]:
    """The cleaned text, and for each character of it, and for its end, where it stands in the text.

    None in place of the offsets where every character stands where it stood.
    """
    if not _SPECIAL.search(text):
        return text, None
    kept, offsets = _drop_with_offsets(text)
    cleaned = fold(kept)
    seams = [it.start() for it in _SEAM.finditer(cleaned)] if _ANY_CJK.search(cleaned) else []
    if not seams:
        return cleaned, offsets
    parted = _part_offsets([*range(len(text) + 1)] if offsets is None else offsets, seams)
    return _SEAM.sub(" ", cleaned), parted


def _drop_with_offsets(text: str) -> tuple[str, list[int] | None]:
    """The text without the signs, with its letters composed; offsets as above."""
    if not (has_composed(text) or _DROPPED.search(text)):
        return text, None
    kept: list[str] = []
    offsets: list[int] = []
    at = 0
    for found in _REWRITTEN.finditer(text):
        written = _DROPPED.sub("", compose_match(found))
        kept += (text[at : found.start()], written)
        offsets += [*range(at, found.start()), *[found.start()] * len(written)]
        at = found.end()
    kept.append(text[at:])
    return "".join(kept), [*offsets, *range(at, len(text) + 1)]


def _part_offsets(offsets: list[int], seams: list[int]) -> list[int]:
    """With a space at every seam, which stands where the next word begins."""
    slices = (offsets[one:other] for one, other in pairwise([0, *seams, len(offsets)]))
    parted = next(slices)
    for it in slices:
        parted += [it[0], *it]
    return parted


def end_in_text(offsets: list[int], end: int) -> int:
    """Where something that ends there in the cleaned text ends in the text: behind a character that
    became several."""
    while offsets[end] == offsets[end - 1]:
        end += 1
    return offsets[end]


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
