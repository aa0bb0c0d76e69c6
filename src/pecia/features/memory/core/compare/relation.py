"""How a new statement stands to an older one: the same, a correction of it, or another fact. Pure.

Whatever is not clearly the same or a correction is another fact, and both are kept. Nothing here
loses words: a second wording and what was corrected stay readable.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from pecia.features.memory.core.compare.roles import COPULAS, keep_roles
from pecia.features.memory.core.compare.statement import (
    LIGHT,
    PLAIN_STEMS,
    Statement,
    are_synonyms,
    read_statement,
    same_word,
    stem,
)
from pecia.features.memory.core.compare.vocabulary import LINES, VOCABULARY

# Names and numbers that must agree before one word on each side may differ.
MIN_ANCHORS = 2
SURE_COSINE = 0.86
# Fewer words that count say too little to be compared.
MIN_WORDS = 2

_PREPOSITIONS = frozenset(("by", "to", "from", "than", "for", "of"))
_DETERMINERS = frozenset(("the", "a", "an", "our", "my"))


def says_same(new: str, old: str, cosine: float | None) -> bool:
    """Whether both say one fact in other words."""
    one, other = read_statement(new), read_statement(old)
    # The same words, and yet not the same text: a sign or the case of a letter differs.
    if not (one.is_short and other.is_short) or one.words == other.words:
        return False
    if len(one.content) + one.anchors.total() < MIN_WORDS:
        return False
    if not _agrees(one, other) or not _keeps_roles(one, other):
        return False
    left, right = _leftover(one.content, other.content)
    left, right = _without_names(left, other), _without_names(right, one)
    if _swaps_word(one, other):
        return False
    empty = PLAIN_STEMS | _measure_words(one, other)
    left, right = ([it for it in side if it not in empty] for side in (left, right))
    if not left and not right:
        return True
    shared = sum((one.anchors & other.anchors).values())
    is_sure = cosine is not None and cosine >= SURE_COSINE and shared >= MIN_ANCHORS
    return is_sure and len(left) == len(right) == 1


def _measure_words(one: Statement, other: Statement) -> frozenset[str]:
    """Stems that say no more than a number and its unit do, where both have the same: what lasts 45
    minutes is 45 minutes long."""
    pairs = {*pairwise(one.words)} & {*pairwise(other.words)}
    units = {unit for number, unit in pairs if number[:1].isdigit() and unit in _MEASURES}
    return frozenset(it for unit in units for it in _MEASURES[unit])


_MEASURES = {
    unit: frozenset(map(stem, words.split()))
    for units, _, words in (line.partition(":") for line in LINES["measures"])
    for unit in units.split()
}


def may_say_same(new: str, old: str) -> bool:
    """Whether nothing that tells facts apart differs: then a model may call them one fact."""
    one, other = read_statement(new), read_statement(old)
    if not (one.is_short and other.is_short) or one.words == other.words:
        return False
    return _agrees(one, other) and _keeps_roles(one, other) and not _swaps_word(one, other)


def _agrees(one: Statement, other: Statement) -> bool:
    """Whether nothing that tells facts apart differs."""
    return (
        one.negations == other.negations
        and _unify(one.quantifiers) == _unify(other.quantifiers)
        and _guards(one, other) == _guards(other, one)
        and one.exact <= other.written
        and other.exact <= one.written
        and abs(one.anchors.total() - other.anchors.total()) <= 1
    )


def _guards(it: Statement, other: Statement) -> Counter[str]:
    """Without the `was` of a passive whose verb the other statement has in the active."""
    found = Counter(it.guards)
    if COPULAS & {*other.words} or "by" not in it.words:
        return found
    for word, verb in pairwise(it.words):
        if word in ("was", "were") and verb.endswith("ed") and verb in other.words:
            found[word] -= 1
    return +found


def _unify(found: dict[str, int]) -> dict[str, int]:
    same = {"each": "every", "everybody": "everyone"}
    return {same.get(word, word): count for word, count in found.items()}


def _leftover(one: Sequence[str], other: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words of each that the other has no word for."""
    right = [*other]
    left: list[str] = []
    for word in sorted(one, key=lambda it: it not in other):
        match = next((it for it in right if it == word), None)
        match = match or next((it for it in right if same_word(word, it)), None)
        if match is None:
            left.append(word)
        else:
            right.remove(match)
    return left, right


def _without_names(left: Sequence[str], other: Statement) -> list[str]:
    """Without first words that are names in the other statement."""
    return [
        it for it in left if not any(it == name or name.startswith(it) for name in other.anchors)
    ]


def _swaps_word(one: Statement, other: Statement) -> bool:
    """Whether one is the other with another word in one place, and not one that means the same."""
    if len(one.words) != len(other.words):
        return False
    differ = [n for n, it in enumerate(one.words) if it != other.words[n]]
    if len(differ) != 1:
        return False
    [place] = differ
    a, b = one.words[place], other.words[place]
    if a in _DETERMINERS and b in _DETERMINERS:
        return False
    # A first word may be a name, whose endings count.
    return not (same_word if place else are_synonyms)(stem(a), stem(b))


def _keeps_roles(one: Statement, other: Statement) -> bool:
    """Whether everybody keeps their role: `A calls B` is not `B calls A`."""
    if one.owners and other.owners and one.owners != other.owners:
        return False
    for word in _PREPOSITIONS:
        mine, theirs = _object(one, word), _object(other, word)
        if mine and theirs and not same_word(mine, theirs):
            return False
    return keep_roles(one, other)


def _object(it: Statement, word: str) -> str | None:
    """The first word that counts behind a preposition, as its stem."""
    for place, found in enumerate(it.words[:-1]):
        if found == word:
            rest = (word for word in it.words[place + 1 :] if word not in LIGHT)
            return next(map(stem, rest), None)
    return None


_MARKS = re.compile(
    r"(?:^since\b|\b(?:now|no longer|any ?more|instead|from now on|as of|correction:|update:|"
    r"changed? (?:to|from)|moved? (?:to|from|back)|renamed? (?:to|from)|replaced? (?:by|with)|"
    r"switched (?:to|from)|postponed|delayed|extended|raised|increased|lowered|reduced|migrated|"
    r"slips? to|sold|quit|gave up|left|actually|used to|stopped|changed our|changed my|"
    r"jetzt|nicht mehr|stattdessen|ab sofort|désormais|maintenant|ahora|ya no)(?!\w))",
    re.IGNORECASE,
)
# What tells of a change without saying of what.
_CHANGES = re.compile(
    r"\b(?:moved|moving|relocat\w+|replac\w+|switch\w+|swapp\w+|renam\w+|reschedul\w+|slipped|"
    r"brought forward|shortened|went (?:up|down)|cut (?:to|from)|doubled|halved|upgrad\w+|"
    r"downgrad\w+|resigned|retired|cancel(?:l)?ed|dropped|took (?:over|up)|taken over|promoted|"
    r"(?:is|are|has|have|gone|come|came|went|got) (?:gone )?(?:up|down|back) to|"
    r"(?:starting|beginning|effective|as of|from) (?:now|today|tomorrow|this|next)|for good|"
    r"going forward|currently|at present|"
    r"joined|became|become|turned|changed|changing|married|engaged|divorced|these days|meanwhile|"
    r"(?:a|an|our|my|the|his|her|their|has|have|got) new|inzwischen|neue[rsn]?)\b",
    re.IGNORECASE,
)
_VERBS = VOCABULARY["verbs"]


@lru_cache(4096)
def says_change(text: str) -> bool:
    return _MARKS.search(text) is not None or _CHANGES.search(text) is not None


_PERSONS = frozenset(("i", "my", "we", "our", "me", "us"))


def corrects(new: str, old: str) -> bool:
    """Whether a statement says by its own words that it replaces the other: the same is told of
    the same, with a word such as `now`, `instead` or `no longer`."""
    one, other = read_statement(new), read_statement(old)
    if not (one.is_short and other.is_short and _MARKS.search(new)) or _MARKS.search(old):
        return False
    mine, theirs = _subject(one), _subject(other)
    return mine is not None and mine == theirs and _overlap(one, other) >= 0.5


def _subject(it: Statement) -> frozenset[str] | None:
    """What the statement is about: names and nouns before its verb; None where there is no verb."""
    place = next((n for n, word in enumerate(it.words) if word in _VERBS), None)
    if not place:
        return None
    words = (word for word in it.words[:place] if word not in _SKIPPED)
    return frozenset("i" if word in _PERSONS else word for word in words)


_SKIPPED = frozenset(
    ("the", "a", "an", "since", "new", "current", "correction", "update", "now", "actually", "that")
)


def _overlap(one: Statement, other: Statement) -> float:
    """The share of the smaller statement's words that the other has too."""
    mine, theirs = {*one.content, *one.anchors}, {*other.content, *other.anchors}
    least = min(len(mine), len(theirs))
    return len(mine & theirs) / least if least else 0.0
