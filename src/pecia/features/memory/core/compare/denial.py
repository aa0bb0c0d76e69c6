"""Whether a statement denies another word for word and says what holds instead: `The router is not
a Fritzbox but a Turris`. Pure.

Without the negation and what stands behind `but` it must say what the other says, in its order. A
condition that only the new value has may hold for the denial too, so that the other still holds.
"""

import re
from collections.abc import Iterator, Sequence

from pecia.features.memory.core.compare.phrases import (
    CHANGES,
    PhraseLanguage,
    PhraseWord,
    ValueKind,
    drop_light,
    drop_phrases,
    find_phrases,
    has_word,
    phrase_places,
    split_phrase_words,
)
from pecia.features.memory.core.compare.statement import stem

MAX_VALUE_WORDS = 5

# A negation that is one word with another.
_JOINED = {
    "en": (re.compile(r"(?<=[a-z])n['’]t\b", re.IGNORECASE), " not"),
    "de": (re.compile(r"\bkein(e[mnrs]?)?\b", re.IGNORECASE), r"nicht ein\1"),
}
_SUPPORTS = frozenset(("do", "does"))
_PARTICLES = {"fr": frozenset(("n", "ne"))}
_LIMITS = frozenset(
    (
        *("when", "whenever", "while", "only", "except", "nur", "außer", "solange", "quand"),
        *("seulement", "sauf", "cuando", "solo", "quando", "als", "wanneer", "alleen", "когда"),
        *("только", "коли", "тільки", "kiedy", "när", "bara", "når", "kun", "bare"),
    )
)


def denies_in_words(new: str, old: str, language: PhraseLanguage) -> bool:
    if language.code in _JOINED:
        joined, apart = _JOINED[language.code]
        new = joined.sub(apart, new)
    words = split_phrase_words(new, language)
    was = _plain(split_phrase_words(old, language), language)
    for start, end, within in _find_denials(words, language):
        for at, behind in find_phrases(words[end:], language, "but"):
            denied, after = words[end : end + at], words[end + behind :]
            if not drop_light(denied, language):
                continue
            for value, rest in _split_value(after):
                is_bare = not _limits(value, denied, language)
                before = (*words[:start], *within)
                if is_bare and was in _undo_denial(before, (*denied, *rest), language):
                    return True
    return False


def _find_denials(
    words: Sequence[PhraseWord], language: PhraseLanguage
) -> Iterator[tuple[int, int, Sequence[PhraseWord]]]:
    """Where a negation begins and ends, and what stands within: the verb of `non è più`."""
    for start, end in find_phrases(words, language, "denied"):
        places = phrase_places(words[start:end], language, "denied")
        within = [it for n, it in enumerate(words[start:end]) if n not in places]
        yield start, end, within


def _split_value(
    words: Sequence[PhraseWord],
) -> Iterator[tuple[Sequence[PhraseWord], Sequence[PhraseWord]]]:
    """The value behind `but`, and what both statements have behind theirs."""
    for size in range(1, min(MAX_VALUE_WORDS, len(words)) + 1):
        yield words[:size], words[size:]


def _undo_denial(
    before: Sequence[PhraseWord], behind: Sequence[PhraseWord], language: PhraseLanguage
) -> list[list[str]]:
    """What is denied, as it was said: `does not open` is of `opens`."""
    found = [_plain((*before, *behind), language)]
    if language.code == "en" and before and before[-1].low in _SUPPORTS:
        verb, rest = behind[0].plain, _plain(behind[1:], language)
        subject = _plain(before[:-1], language)
        found += [[*subject, it, *rest] for it in _third_person(verb)]
    return found


def _third_person(verb: str) -> list[str]:
    return [
        it for it in (verb, f"{verb}s", f"{verb}es", f"{verb[:-1]}ies") if stem(it) == stem(verb)
    ]


def _plain(words: Sequence[PhraseWord], language: PhraseLanguage) -> list[str]:
    left, _ = drop_phrases(words, language, CHANGES)
    return [it.plain for it in left if it.low not in _PARTICLES.get(language.code, ())]


def _limits(
    value: Sequence[PhraseWord], denied: Sequence[PhraseWord], language: PhraseLanguage
) -> bool:
    """Whether a value has a condition that the denied one has not, or says nothing."""
    if has_word(value, _LIMITS) or not drop_light(value, language):
        return True
    conditions = language.words["conditions"]
    mine, theirs = (sum(it.low in conditions for it in side[1:]) for side in (value, denied))
    if mine > theirs:
        return True
    mine, theirs = (
        sum(language.kind_of(it) is ValueKind.DAY for it in side) for side in (value, denied)
    )
    return mine > theirs
