"""Which language a text is in, by its commonest words. Pure; says `und` rather than guess."""

import re
from collections import Counter

from pecia.kernel.text.language import language_tag
from pecia.rooms.ckf.heuristic.cues.grammar import LANGUAGES, UNKNOWN, grammar_of
from pecia.rooms.ckf.options import SourceText

SAMPLE = 6000
# Below this share of common words the text is in another language, or is no prose.
ENOUGH = 0.12


def detect_language(lowered: str) -> str:
    """`en`, `pt`, `es`, `fr` or `de` where their words are common enough, else `und`."""
    counts = Counter(_WORD.findall(lowered, 0, SAMPLE))
    if not counts:
        return UNKNOWN
    language = max(sorted(LANGUAGES), key=lambda it: _common(counts, it).total())
    found = _common(counts, language)
    # One word alone may be a name or a variable.
    enough = len(found) > 1 and found.total() >= ENOUGH * counts.total()
    return language if enough else UNKNOWN


def language_of(source: SourceText, lowered: str) -> str:
    """What the caller says; else what the words tell; else what the store has it for."""
    if source.language:
        return source.language
    found = detect_language(lowered)
    return language_tag(source.stored_language) or found if found == UNKNOWN else found


def _common(counts: Counter[str], language: str) -> Counter[str]:
    return Counter({it: counts[it] for it in grammar_of(language).stopwords & counts.keys()})


_WORD = re.compile(r"[^\W\d_]+")
