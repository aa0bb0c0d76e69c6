"""Light stems of Hebrew: words without the small words that are written with them. Pure.

The, in, to, from, as, that and `and` are letters before a word: `ובמעליות` is and-in-elevators. A
word that begins with such a letter loses it too, in texts and queries alike; the whole word stands
in another field.
"""

PREFIXES = frozenset("הבלמכוש")
# Plurals and the feminine, with the letters as they are within a word.
ENDINGS = ("ימ", "ות", "ה")
MIN_STEM = 3
_FIRST, _LAST = "\u05d0", "\u05ea"


def stem_hebrew(word: str) -> str:
    if not _FIRST <= word[:1] <= _LAST:
        return word
    ending = next((it for it in ENDINGS if word.endswith(it)), "")
    if ending and len(word) - len(ending) >= MIN_STEM:
        word = word[: -len(ending)]
    while len(word) > MIN_STEM and word[0] in PREFIXES:
        word = word[1:]
    return word
