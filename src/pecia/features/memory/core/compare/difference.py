"""What makes two statements two facts although their other words agree: the number of a noun, whose
something is, another word in the place of one. Pure.

A language model calls such pairs alike, so nothing here asks how similar two texts are.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from pecia.features.memory.core.compare.statement import (
    GUARDS,
    LIGHT,
    NEGATIONS,
    PLAIN_STEMS,
    QUANTIFIERS,
    Statement,
    are_synonyms,
    stem,
)
from pecia.features.memory.core.compare.vocabulary import LINES, VOCABULARY

DETERMINERS = frozenset(("the", "a", "an", "our", "my"))
# `Mila born in 2019` and `Mila's birth year is 2019`.
LINKS = frozenset(("is", "are"))
_PLACING = frozenset(("in", "on", "at"))
# A noun stands behind them, and no verb.
_NOUN_LEADS = frozenset(
    (
        *("the", "a", "an", "my", "our", "your", "his", "her", "its", "their", "this", "that"),
        *("der", "die", "das", "unser", "unsere", "mein", "meine", "le", "la", "les", "un", "une"),
        *("el", "los", "las", "notre", "nos"),
    )
)
_EVERY = frozenset(("each", "every"))
_ARTICLES = frozenset(("a", "an", "un", "une"))
# I and we may be one, as in `our house`; he and she are not.
_PERSONS: Mapping[str, str] = {
    **dict.fromkeys(("i", "me", "my", "mine", "we", "us", "our", "ours"), "speaker"),
    **dict.fromkeys(("you", "your", "yours"), "you"),
    **dict.fromkeys(("he", "him", "his"), "he"),
    **dict.fromkeys(("she", "her", "hers"), "she"),
    **dict.fromkeys(("they", "them", "their", "theirs"), "they"),
}
_PLURALS = {
    plural: single
    for single, plural in (
        ("child", "children"),
        ("man", "men"),
        ("woman", "women"),
        ("person", "people"),
        ("foot", "feet"),
        ("tooth", "teeth"),
        ("mouse", "mice"),
        ("goose", "geese"),
        ("wife", "wives"),
        ("knife", "knives"),
        ("life", "lives"),
        ("shelf", "shelves"),
        ("leaf", "leaves"),
        ("half", "halves"),
    )
}
_NO_NOUNS = VOCABULARY["verbs"] | VOCABULARY["prepositions"] | GUARDS | QUANTIFIERS | NEGATIONS
_APART = [
    (frozenset(left.split()), frozenset(right.split()))
    for left, _, right in (line.partition(" : ") for line in LINES["apart"])
]
_WEEKDAYS = {word: day for day, line in enumerate(LINES["weekdays"]) for word in line.split()}
# What is left of two forms of one word behind what they share.
_INFLECTION = re.compile(r"|e|s|es|y|ies|ied|d|en|n|[a-z]?ed|[a-z]?ing")


def are_different(one: Statement, other: Statement) -> bool:
    """Whether one of these says that they are two facts."""
    return (
        _differ_in_number(one, other)
        or _differ_in_number(other, one)
        or differ_in_person(one, other)
        or _swaps_word(one, other)
        or _differ_in_day(one, other)
        or _differ_in_bound(one, other)
        or _calls(one) is not _calls(other)
        or _says_apart(one, other)
        or _says_apart(other, one)
    )


def _differ_in_day(one: Statement, other: Statement) -> bool:
    """Whether each has a day of the week that the other has not."""
    mine, theirs = (
        {_WEEKDAYS[word] for word in it.words if word in _WEEKDAYS} for it in (one, other)
    )
    return bool(mine - theirs) and bool(theirs - mine)


_BOUNDS = frozenset(("to", "by", "from"))


def _differ_in_bound(one: Statement, other: Statement) -> bool:
    """`Raised to 900`, `raised by 900`."""
    mine, theirs = (
        {b: a for a, b in pairwise(it.words) if a in _BOUNDS and b[:1].isdigit()}
        for it in (one, other)
    )
    return any(mine[it] != theirs[it] for it in mine.keys() & theirs.keys())


_NAMING = frozenset(("called", "named"))
_NAMED_BEHIND = frozenset(("is", "are", "am", "was", "were", "be", "has", "have", "had", "with"))


def _calls(it: Statement) -> bool:
    """Whether somebody calls or called: `our landlord called Mr Okafor` says no name."""
    at = next((n for n, word in enumerate(it.words) if word in _NAMING), 0)
    return at > 0 and _NAMED_BEHIND.isdisjoint(it.words[:at]) and it.words[at - 1] not in LIGHT


def _says_apart(one: Statement, other: Statement) -> bool:
    """Whether they have related words that say two things: what is limited is not allowed."""
    return any(
        not left.isdisjoint(one.words)
        and not right.isdisjoint(other.words)
        and right.isdisjoint(one.words)
        for left, right in _APART
    )


def _differ_in_number(one: Statement, other: Statement) -> bool:
    """`My son` is not `my sons`; `has a house` is not `has houses`. `Tickets cost 5`, `a ticket
    costs 5` are of any ticket."""
    theirs = [*_nouns(other)]
    return any(
        _is_noun_again(noun, it) and _is_plural(noun) is not _is_plural(it)
        for noun in _nouns(one)
        for it in theirs
        if noun not in theirs and it not in one.words
    ) or any(
        _is_noun_again(noun, it) and _is_plural(it)
        for noun in _single_objects(one)
        for it in other.words[1:]
        if noun not in other.words
    )


def _nouns(it: Statement) -> Iterator[str]:
    """The words behind a determiner or a possessive."""
    for before, word in pairwise(it.words):
        if before in _NOUN_LEADS or before in it.owners:
            yield word


def _single_objects(it: Statement) -> Iterator[str]:
    """The nouns behind an article of one thing, and not before another noun: `a house in Bonn`."""
    for place, word in enumerate(it.words[1:], start=1):
        behind = it.words[place + 1 :]
        if it.words[place - 1] in _ARTICLES and (not behind or behind[0] in LIGHT):
            yield word


def narrowing_words(it: Statement) -> frozenset[str]:
    """The stems of the words that stand between a determiner and a noun, and say which one:
    `the language test`."""
    found: set[str] = set()
    for before, word, behind in zip(it.words, it.words[1:], it.words[2:], strict=False):
        is_led = before in _NOUN_LEADS or before in it.owners
        is_noun = behind.isalpha() and behind not in LIGHT | _NO_NOUNS | it.anchors.keys()
        if is_led and is_noun:
            found.add(stem(word))
    return frozenset(found)


def _is_noun_again(one: str, other: str) -> bool:
    """Whether both are of one noun, in whatever number."""
    return _singular(one) == _singular(other)


def _is_plural(word: str) -> bool:
    return _singular(word) != word


def _singular(word: str) -> str:
    if word in _PLURALS:
        return _PLURALS[word]
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def differ_in_person(one: Statement, other: Statement) -> bool:
    """Whether each has somebody whom the other has not: `his car`, `her car`."""
    mine, theirs = (
        {_PERSONS[word] for word in it.words if word in _PERSONS} for it in (one, other)
    )
    return bool(mine - theirs) and bool(theirs - mine)


def _swaps_word(one: Statement, other: Statement) -> bool:
    """Whether one is the other with another word in one place, and not a form of the same word or
    one that means the same. Words that sentences can be said without do not move the others."""
    if _swaps_one(one.words, other.words):
        return True
    mine, theirs = _content_words(one), _content_words(other)
    differ = {a for a, b in zip(mine, theirs, strict=False) if a != b}
    return PLAIN_STEMS.isdisjoint(map(stem, differ)) and _swaps_one(mine, theirs)


def _swaps_one(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    if len(mine) != len(theirs):
        return False
    differ = [place for place, it in enumerate(mine) if it != theirs[place]]
    if len(differ) != 1:
        return False
    a, b = mine[differ[0]], theirs[differ[0]]
    if any(a in words and b in words for words in (DETERMINERS, NEGATIONS, _EVERY)):
        return False
    if (a in LINKS and b in _PLACING) or (a in _PLACING and b in LINKS):
        return False
    if are_synonyms(stem(a), stem(b)):
        return False
    # A first word may be a name, whose endings count.
    return not (differ[0] and _is_inflected(a, b))


def _content_words(it: Statement) -> list[str]:
    """The words that say something."""
    return [word for word in it.words if word not in LIGHT or word in it.anchors]


def _is_inflected(one: str, other: str) -> bool:
    """Whether both are forms of one word: `runs`, `running`; not `university`, `universe`."""
    if stem(one) != stem(other):
        return False
    shared = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        shared += 1
    return all(_INFLECTION.fullmatch(it[shared:]) for it in (one, other))
