"""Detects texts in the wrong language. Two signals must agree.

The signals are function words and their share of the text; for other scripts, the letters. A name,
a loan word or an accent is not enough.
"""

import re
import unicodedata
from collections import Counter

from pecia.kernel.text.language import primary_language

MIN_LANGUAGE_CHARS = 50

FUNCTION_WORDS = """
en: the of and to in is that it for was with as be on are this by or from not at have but which they
pt: o a os as de do da dos das e em no na um uma que para com por não se ao são mais como ou seu sua
es: el la los las de del y en un una que para con por no se al es son más como o su lo pero cuando
fr: le la les de des du et en un une que pour avec par ne pas se au est sont plus comme ou son dans
de: der die das und in den von zu mit sich des auf für ist im dem nicht ein eine als auch es werden
"""


def detect_foreign_language(text: str, language: str) -> str:
    """The other language that the text is clearly in, or an empty string."""
    own = primary_language(language)
    if len(text) < MIN_LANGUAGE_CHARS or own not in _SETS:
        return ""
    script = _script(text)
    if script not in ("LATIN", ""):
        return f"a text in {script.capitalize()} letters"
    words = [it.lower() for it in _WORD.findall(text)]
    counts = {key: sum(it in known for it in words) for key, known in _SETS.items()}
    best = max(counts, key=lambda it: counts[it])
    many = counts[best] >= 4 and counts[best] >= 0.2 * len(words)
    few = counts[own] * 3 <= counts[best] and counts[own] <= 0.08 * len(words)
    return best if best != own and many and few else ""


def _script(text: str) -> str:
    letters = [it for it in text if it.isalpha()]
    names = Counter(unicodedata.name(it, "").split(" ")[0] for it in letters)
    if not names:
        return ""
    name, count = names.most_common(1)[0]
    return name if count > 0.6 * len(letters) else ""


_WORD = re.compile(r"[^\W\d_]+")
_SETS = {line[:2]: frozenset(line[4:].split()) for line in FUNCTION_WORDS.strip().splitlines()}
