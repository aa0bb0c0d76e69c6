"""Whether two statements put what they tell in the same time. Pure.

A verb that both have must have the same tense in both: `the backup finished` is not `the backup
finishes`. A noun made of a verb has none: `the founder` founded.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal, TypeAlias

from pecia.features.memory.core.compare.statement import (
    GUARDS,
    LIGHT,
    NEGATIONS,
    QUANTIFIERS,
    Statement,
    same_word,
    stem,
)
from pecia.features.memory.core.compare.vocabulary import VOCABULARY

Tense: TypeAlias = Literal["past", "present", "future"]

_PASTS = VOCABULARY["pasts"]
_SKILLS = VOCABULARY["skills"]
_IS = frozenset(("is", "are", "am", "be", "being", "get", "gets"))
_HAS = frozenset(("has", "have"))
_WILL = frozenset(("will", "shall"))
_BETWEEN = frozenset(("not", "never", "always", "also", "usually", "just", "already", "be"))
_NOUN_LEADS = frozenset(
    ("the", "a", "an", "my", "our", "your", "his", "her", "its", "their", "of", "this", "that")
)
_WAS = frozenset(("was", "were", "been"))
_DOERS, _DONE = VOCABULARY["doers"], VOCABULARY["done_by"]
_NO_DOERS = GUARDS | QUANTIFIERS | NEGATIONS | VOCABULARY["prepositions"] | VOCABULARY["times"]
_NOUN_ENDS = ("er", "or", "ion", "ment", "ing", "al", "age")
AUXILIARIES = frozenset(("was", "were", "had", "will"))


def tenses_agree(one: Statement, other: Statement) -> bool:
    mine, theirs = _tenses(one), _tenses(other)
    for verb, tense in mine.items():
        for again, then in theirs.items():
            if tense != then and same_word(verb, again):
                return False
    if _is_over(one) is not _is_over(other):
        return False
    if _was_named(one) is not _was_named(other):
        return False
    if _is_unmarked_past(one, other) or _is_unmarked_past(other, one):
        return False
    if _has_german_past(one, other) or _has_german_past(other, one):
        return False
    return _can_agrees(one, other, theirs) and _can_agrees(other, one, mine)


def _is_over(it: Statement) -> bool:
    """`Ann used to live in Rome`; not what is used to do something."""
    return any(
        (word, behind) == ("used", "to") and before not in _IS | AUXILIARIES
        for before, word, behind in zip(it.words, it.words[1:], it.words[2:], strict=False)
    )


def _was_named(it: Statement) -> bool:
    """Whether it tells a name of the past; what somebody was named they are called."""
    return any(pair in _PAST_NAMES for pair in pairwise(it.words))


_PAST_NAMES = frozenset((a, b) for a in ("was", "were") for b in ("named", "called", "name"))


# Their past is their base form.
_UNMARKED = frozenset(
    ("cost", "cut", "hit", "let", "put", "quit", "set", "shut", "split", "spread", "hurt", "beat")
)


def _is_unmarked_past(one: Statement, other: Statement) -> bool:
    """`Ann cut the hedge` and `Ann cuts the hedge`; not `tickets cost 5`."""
    present = {(before, word) for before, word in pairwise(other.words)}
    return any(
        word in _UNMARKED and not before.endswith("s") and (before, f"{word}s") in present
        for before, word in pairwise(one.words)
    )


def _has_german_past(one: Statement, other: Statement) -> bool:
    """`Wohnte` is the past of `wohnt`, `wohnten` that of `wohnen`."""
    past = {f"{it}e" for it in one.words if it.endswith("t")}
    past |= {f"{it[:-2]}ten" for it in one.words if it.endswith("en")}
    return not past.isdisjoint(other.words)


def _can_agrees(one: Statement, other: Statement, verbs: Mapping[str, Tense]) -> bool:
    """Whether `can` is said of a verb in both or in neither: what can hold 400 need not."""
    if "can" not in one.words or "can" in other.words:
        return True
    place = one.words.index("can")
    verb = next((it for it in one.words[place + 1 :] if it not in _BETWEEN), "")
    return verb in _SKILLS or not any(same_word(stem(verb), it) for it in verbs)


def _tenses(it: Statement) -> dict[str, Tense]:
    """Of each word that may be a verb, by its stem."""
    found: dict[str, Tense] = {}
    for place, word in enumerate(it.words):
        if word in it.anchors or not word.isalpha() or len(word) < 3:
            continue
        tense = _tense(it.words, place)
        if tense is not None:
            found[stem(word)] = tense
    return found


def past_verbs(it: Statement) -> frozenset[str]:
    """The stems of words that tell of the past."""
    return frozenset(word for word, tense in _tenses(it).items() if tense == "past")


def _tense(words: Sequence[str], place: int) -> Tense | None:
    word = words[place]
    if is_doer(word) and (tense := _tense_of_doer(words, place)) is not None:
        return tense
    lead = place - 1
    while lead >= 0 and words[lead] in _BETWEEN:
        lead -= 1
    before = words[lead] if lead >= 0 else ""
    if before in _WILL:
        return "future"
    if is_past_form(word):
        # `Is written`, `was written`, `has written`, `wrote`.
        return "present" if before in _IS else "past"
    if before == "did":
        return "past"
    if before in _IS and word.endswith("ing"):
        return "present"
    if before in _NOUN_LEADS or before in _HAS or word.endswith(_NOUN_ENDS):
        return None
    return "present"


def is_doer(word: str) -> bool:
    """Whether a word may be a noun for who does something."""
    ends = len(word) > 4 and word.endswith(("er", "or"))
    return word in _DOERS or (ends and word not in _NO_DOERS)


def _tense_of_doer(words: Sequence[str], place: int) -> Tense | None:
    """Of a noun for who does something: that of `is the manager`; who is the author has written."""
    if words[place] in _DONE:
        return "past"
    if not _WILL.isdisjoint(words):
        return "future"
    if not _WAS.isdisjoint(words):
        return "past"
    return None if _IS.isdisjoint(words) else "present"


def is_auxiliary(words: Sequence[str], place: int) -> bool:
    """Whether the word there only gives its tense to the verb that follows."""
    if words[place] not in AUXILIARIES:
        return False
    behind = next((it for it in words[place + 1 :] if it not in _BETWEEN), "")
    if words[place] == "will":
        return behind.isalpha() and len(behind) > 2 and behind not in LIGHT
    return is_past_form(behind)


def is_past_form(word: str) -> bool:
    return word in _PASTS or (len(word) > 4 and word.endswith("ed") and not word.endswith("eed"))
