"""Detects the language of a text by its function words. Pure; `und` if uncertain."""

import re
from collections import Counter

from pecia.features.ckf.heuristic.cues.grammar import LANGUAGES, UNKNOWN_LANGUAGE, load_grammar
from pecia.features.ckf.model import SourceText
from pecia.kernel.text.language import normalize_language_tag

SAMPLE_CHARS = 4000
# Below this share of function words it is another language, or not prose.
MIN_STOPWORD_SHARE = 0.12


def detect_language(lowered: str) -> str:
    """`en`, `pt`, `es`, `fr`, `de`, or `und` below the threshold."""
    counts = Counter(word for at in _samples(lowered) for word in _WORD.findall(lowered, *at))
    if not counts:
        return UNKNOWN_LANGUAGE
    language = max(sorted(LANGUAGES), key=lambda it: _common(counts, it).total())
    found = _common(counts, language)
    # A single word may be a name or a variable.
    enough = len(found) > 1 and found.total() >= MIN_STOPWORD_SHARE * counts.total()
    return language if enough else UNKNOWN_LANGUAGE


def resolve_language(source: SourceText, lowered: str) -> str:
    """The caller's language, else the detected one, else the stored one."""
    if source.language:
        return source.language
    found = detect_language(lowered)
    return (
        normalize_language_tag(source.stored_language) or found
        if found == UNKNOWN_LANGUAGE
        else found
    )


def _samples(lowered: str) -> list[tuple[int, int]]:
    """Start, middle and end: a text in one language may begin with a page of another."""
    rest = max(0, len(lowered) - SAMPLE_CHARS)
    return [(at, at + SAMPLE_CHARS) for at in sorted({0, rest // 2, rest})]


def _common(counts: Counter[str], language: str) -> Counter[str]:
    return Counter({it: counts[it] for it in load_grammar(language).stopwords & counts.keys()})


_WORD = re.compile(r"[^\W\d_]+")
