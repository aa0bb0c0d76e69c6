"""Whether two statements hold under different conditions, so that neither corrects the other:
`Parking is free on weekdays`, `Parking is free on weekends now`. Pure.

A condition is what stands behind a preposition such as `on` or `for`, where something else is told:
a state before it (`is free on …`) or a value beside it (`20 euros for …`). Where nothing else is
told, the same words are the value: `The office is in Bonn`.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from pecia.features.memory.core.compare.phrases import (
    CHANGES,
    PhraseLanguage,
    PhraseWord,
    drop_light,
    drop_phrases,
    guess_languages,
    split_phrase_words,
)

# They say of the older statement that it does not hold, under whatever condition.
_REPLACING = ("wrong", "weak", "moved", "ended", "contrast", "replaced")


class _Phrase(NamedTuple):
    """A preposition, and the words behind it that say something."""

    lead: str
    words: tuple[str, ...]


def differ_in_condition(new: str, old: str) -> bool:
    """Whether the newer statement tells of another condition, and does not say that what was said
    before is wrong or over."""
    return any(_differ(new, old, it) for it in guess_languages(new))


def _differ(new: str, old: str, language: PhraseLanguage) -> bool:
    words = split_phrase_words(new, language)
    if drop_phrases(words, language, _REPLACING)[1]:
        return False
    mine, _ = drop_phrases(words, language, CHANGES)
    theirs, _ = drop_phrases(split_phrase_words(old, language), language, CHANGES)
    return _differ_behind_state(mine, theirs, language) or _differ_beside_value(
        mine, theirs, language
    )


def _differ_behind_state(
    mine: Sequence[PhraseWord], theirs: Sequence[PhraseWord], language: PhraseLanguage
) -> bool:
    """`Is free on weekdays`, `is free on weekends`. `Is open at 9` tells of a limit, and `is due on
    Friday` of a time."""
    one, other = _state(mine, language), _state(theirs, language)
    if one is None or other is None or mine[one].plain != theirs[other].plain:
        return False
    here, there = (_phrase_at(it, n + 1, language) for it, n in ((mine, one), (theirs, other)))
    if here is None or there is None or here.words == there.words:
        return False
    are_limits = here.lead == there.lead and all(
        _is_number(it.words[0], language) for it in (here, there)
    )
    return not are_limits


def _state(words: Sequence[PhraseWord], language: PhraseLanguage) -> int | None:
    """The place of the word behind the copula that is told of the subject: `free`. What only says
    that something is somewhere is none, and a noun has an article before it."""
    placed = language.words["placed"] | language.words["situated"] | language.light
    for place, (before, it) in enumerate(pairwise(words), start=1):
        if before.low in language.words["be"] and it.low not in placed:
            return None if _is_number(it.low, language) else place
    return None


def _differ_beside_value(
    mine: Sequence[PhraseWord], theirs: Sequence[PhraseWord], language: PhraseLanguage
) -> bool:
    """`20 euros for welders`, `30 euros for painters`: behind the same preposition stands something
    else, and elsewhere a value differs too."""
    said = [it.plain for it in drop_light(mine, language)]
    was = [it.plain for it in drop_light(theirs, language)]
    for here in _phrases(mine, language):
        for there in _phrases(theirs, language):
            if here.lead != there.lead or here.words == there.words:
                continue
            rest = [it for it in said if it not in here.words and it not in was]
            gone = [it for it in was if it not in there.words and it not in said]
            if rest and gone and {*here.words}.isdisjoint(there.words):
                return True
    return False


def _phrases(words: Sequence[PhraseWord], language: PhraseLanguage) -> list[_Phrase]:
    found = (_phrase_at(words, place, language) for place in range(len(words)))
    return [it for it in found if it is not None]


def _phrase_at(words: Sequence[PhraseWord], start: int, language: PhraseLanguage) -> _Phrase | None:
    """The phrase whose preposition is there, up to the next one or a copula."""
    leads = language.words["conditions"]
    if start >= len(words) or words[start].low not in leads:
        return None
    behind: list[PhraseWord] = []
    for it in words[start + 1 :]:
        if behind and (it.low in leads or it.low in language.words["be"]):
            break
        behind.append(it)
    kept = tuple(it.plain for it in drop_light(behind, language))
    return _Phrase(words[start].low, kept) if kept else None


def _is_number(word: str, language: PhraseLanguage) -> bool:
    return any(it.isdigit() for it in word) or word in language.words["numbers"]
