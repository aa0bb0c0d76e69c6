"""Whether a newer statement tells of a change of an older one that a question is about, in the
languages of `corrections.txt` beside English. Pure.

Only an order comes of it, so less is asked for than for a correction: a word that tells of a
change, something that question and both statements are about, and a value of the same kind on both
sides.
"""

from collections.abc import Sequence
from itertools import pairwise

from pecia.features.memory.core.compare.phrases import (
    CHANGES,
    PhraseLanguage,
    PhraseWord,
    ValueKind,
    drop_light,
    guess_languages,
    has_word,
    read_phrases,
    score_languages,
    split_phrase_words,
)

# Longer statements tell of more than one thing.
MAX_WORDS = 24
# A name, a number or a day; a language without capitals has words in the place of names.
_VALUES = frozenset((ValueKind.NAME, ValueKind.NUMBER, ValueKind.DAY))


def tells_change(question: str, newer: str, older: str) -> bool:
    """Whether the newer statement is to come before the older one."""
    scores = score_languages(newer)
    return any(
        _tells_change(question, newer, older, it)
        for it in guess_languages(newer)
        if scores[it.code] > scores["en"]
    )


def _tells_change(question: str, newer: str, older: str, language: PhraseLanguage) -> bool:
    new, old = (read_phrases(it, language, CHANGES) for it in (newer, older))
    if not new.found or not 0 < len(new.words) <= MAX_WORDS or len(old.words) > MAX_WORDS:
        return False
    # The question may name what only the older one tells of.
    if not _plain(_question_names(question, language)) & _plain(old.words) <= _plain(new.words):
        return False
    mine, theirs = _own(new.words, old.words), _own(old.words, new.words)
    if not _share_kind(mine, theirs, language):
        return False
    speakers = language.words["speaker"]
    asked = _plain([it for it in _question_words(question, language) if it.low not in speakers])
    if _lacks(asked, newer, new.words, old.words, language):
        return False
    is_about_same = bool(_plain(new.words) & _plain(old.words) & asked)
    return is_about_same or _moves_home(question, newer, older, language)


def _lacks(
    asked: frozenset[str],
    newer: str,
    mine: Sequence[PhraseWord],
    theirs: Sequence[PhraseWord],
    language: PhraseLanguage,
) -> bool:
    """Whether the question asks for something of which only the older one tells: who moved may work
    where they did."""
    words = language.words
    told = words["placed"] | words["situated"]
    if has_word(split_phrase_words(newer, language), words["relocated"]):
        told |= words["home"]
    return any(it.plain in asked and it.low not in told for it in _own(theirs, mine))


def _moves_home(question: str, newer: str, older: str, language: PhraseLanguage) -> bool:
    """`Wir wohnen in Kassel`, `wir sind nach Erfurt umgezogen`: nothing that both name, and the
    same people."""
    asked, new, old = (split_phrase_words(it, language) for it in (question, newer, older))
    homes, moves = language.words["home"], language.words["relocated"]
    if not (has_word(asked, homes) and has_word(old, homes) and has_word(new, moves)):
        return False
    return (
        _has_speaker(asked, language)
        and _has_speaker(new, language)
        and _has_speaker(old, language)
    )


def _has_speaker(words: Sequence[PhraseWord], language: PhraseLanguage) -> bool:
    """By a pronoun, or by the form of the verb where that is enough."""
    forms = language.words.get("mine", frozenset[str]())
    speakers = language.words["speaker"]
    if language.code != "zh":
        return has_word(words, speakers | forms)
    # In Chinese `my brother` begins as `I` does.
    verbs = language.light | language.words["home"] | language.words["relocated"] | {"们"}
    return any(a.low in speakers and b.low in verbs for a, b in pairwise(words))


def _question_words(question: str, language: PhraseLanguage) -> list[PhraseWord]:
    return drop_light(split_phrase_words(question, language), language)


def _question_names(question: str, language: PhraseLanguage) -> list[PhraseWord]:
    return [
        it
        for it in _question_words(question, language)[1:]
        if it.is_capital or it.low[:1].isdigit()
    ]


def _plain(words: Sequence[PhraseWord]) -> frozenset[str]:
    return frozenset(it.plain for it in words)


def _own(words: Sequence[PhraseWord], other: Sequence[PhraseWord]) -> list[PhraseWord]:
    """The words that the other statement does not have."""
    known = _plain(other)
    return [it for it in words if it.plain not in known]


def _share_kind(
    mine: Sequence[PhraseWord], theirs: Sequence[PhraseWord], language: PhraseLanguage
) -> bool:
    kinds = [{language.kind_of(it) for it in words} for words in (mine, theirs)]
    if language.code == "zh":
        return bool(mine) and bool(theirs)
    return not kinds[0].isdisjoint(kinds[1] & _VALUES)
