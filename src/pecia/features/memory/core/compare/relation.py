"""How a new statement stands to an older one: the same, a correction of it, or another fact. Pure.

Whatever is not clearly the same or a correction is another fact, and both are kept. Nothing here
loses words: a second wording and what was corrected stay readable.
"""

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise

from pecia.features.memory.core.compare.condition import differ_in_condition
from pecia.features.memory.core.compare.difference import (
    DETERMINERS,
    LINKS,
    are_different,
    differ_in_person,
    narrowing_words,
)
from pecia.features.memory.core.compare.plain_words import rewrite
from pecia.features.memory.core.compare.roles import keep_roles
from pecia.features.memory.core.compare.statement import (
    LIGHT,
    PLAIN_STEMS,
    Statement,
    read_statement,
    same_word,
    stem,
)
from pecia.features.memory.core.compare.tense import is_auxiliary, past_verbs, tenses_agree
from pecia.features.memory.core.compare.vocabulary import LINES, VOCABULARY
from pecia.features.memory.core.compare.voice import keep_agents
from pecia.features.memory.core.frames.frame import share_frame

# Fewer words that count say too little to be compared.
MIN_WORDS = 2

_ANYBODY = frozenset(map(stem, ("somebody", "someone")))
_PREPOSITIONS = frozenset(("by", "to", "from", "than", "for", "of"))


def says_same(new: str, old: str) -> bool:
    """Whether both say one fact in other words. How alike they are to a model does not count: it
    calls `was born in 1941` and `was married in 1941` alike."""
    pair = _read_pair(new, old)
    if pair is None:
        return False
    one, other = pair
    if len(one.content) + one.anchors.total() + one.guards.total() < MIN_WORDS:
        return False
    if _is_one_frame(new, old, one, other):
        return True
    if not _may_be_one(one, other):
        return False
    left, right = _leftover(one.content, other.content)
    left, right = _without_names(left, other), _without_names(right, one)
    empty = (
        PLAIN_STEMS
        | _ANYBODY
        | _measure_words(one, other)
        | _implied_nouns(one)
        | _implied_nouns(other)
    )
    return empty.issuperset((*left, *right))


def _is_one_frame(new: str, old: str, one: Statement, other: Statement) -> bool:
    """Whether both read as one frame, of the same names, numbers and people."""
    return (
        one.exact <= other.written
        and other.exact <= one.written
        and not differ_in_person(one, other)
        and share_frame(rewrite(new), rewrite(old))
    )


def _tells_otherwise(one: Statement, other: Statement) -> bool:
    """Whether a plain word, which says little where the other statement has none for it, says
    something: beside another of them (`was built in Kiel`, `is kept in Kiel`), of the past, or
    before a noun (`a language test` is not any test)."""
    left, right = _leftover(one.content, other.content)
    if not all(_may_stand_for(a, b) for a in left for b in right):
        return True
    telling = (past_verbs(one) | narrowing_words(one)) & {*left}
    telling |= (past_verbs(other) | narrowing_words(other)) & {*right}
    return not telling.isdisjoint(PLAIN_STEMS)


_PLAIN_GROUPS = [frozenset(map(stem, line.split())) for line in LINES["plain"]]


def _may_stand_for(one: str, other: str) -> bool:
    """Whether these plain words say as little in the place of each other."""
    if one not in PLAIN_STEMS or other not in PLAIN_STEMS:
        return True
    return any(one in group and other in group for group in _PLAIN_GROUPS)


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


def _implied_nouns(it: Statement) -> frozenset[str]:
    """Stems of nouns that say no more than a verb of the statement: the instrument one plays."""
    return frozenset(noun for word in it.words for noun in _IMPLIED_NOUNS.get(word, ()))


_IMPLIED_NOUNS = {
    verb: frozenset(map(stem, nouns.split()))
    for verbs, _, nouns in (line.partition(":") for line in LINES["implied_nouns"])
    for verb in verbs.split()
}


def may_say_same(new: str, old: str) -> bool:
    """Whether nothing that tells facts apart differs: then a model may call them one fact."""
    pair = _read_pair(new, old)
    return pair is not None and _may_be_one(*pair)


def _read_pair(new: str, old: str) -> tuple[Statement, Statement] | None:
    """Both in plain words; None where they are not to be compared."""
    one, other = read_statement(new), read_statement(old)
    # The same words, and yet not the same text: a sign or the case of a letter differs.
    if not (one.is_short and other.is_short) or one.words == other.words:
        return None
    return read_statement(rewrite(new)), read_statement(rewrite(old))


def _may_be_one(one: Statement, other: Statement) -> bool:
    return (
        _agrees(one, other)
        and tenses_agree(one, other)
        and _keeps_roles(one, other)
        and keep_agents(one, other)
        and not are_different(one, other)
        and not _tells_otherwise(one, other)
    )


def _agrees(one: Statement, other: Statement) -> bool:
    """Whether nothing that tells facts apart differs."""
    return (
        one.negations == other.negations
        and _count_quantifiers(one, other) == _count_quantifiers(other, one)
        and _guards(one) == _guards(other)
        and one.exact <= other.written
        and other.exact <= one.written
        and abs(one.anchors.total() - other.anchors.total()) <= 1
    )


def _guards(it: Statement) -> Counter[str]:
    """Without the auxiliaries of a verb: its tense is compared."""
    spent = (word for place, word in enumerate(it.words) if is_auxiliary(it.words, place))
    return it.guards - Counter(spent)


def _count_quantifiers(it: Statement, other: Statement) -> dict[str, int]:
    """Without the `any` of `I do not eat any meat`, which says no more than `I eat no meat`."""
    found = _unify(it.quantifiers)
    behind = next((b for a, b in pairwise(it.words) if a == "any"), None)
    is_led = any(b == behind and a in DETERMINERS for a, b in pairwise(other.words))
    if it.negations and found.get("any") == 1 and not is_led:
        del found["any"]
    return found


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


def _keeps_roles(one: Statement, other: Statement) -> bool:
    """Whether everybody keeps their role: `A calls B` is not `B calls A`."""
    if one.owners and other.owners and one.owners != other.owners:
        return False
    if _is_in_or_on(one, other) or _is_in_or_on(other, one):
        return False
    for word in _PREPOSITIONS:
        mine, theirs = _object(one, word), _object(other, word)
        if mine and theirs and not same_word(mine, theirs):
            return False
    return keep_roles(one, other)


def _is_in_or_on(one: Statement, other: Statement) -> bool:
    """Whether something is in what the other has it on."""
    place = _object(one, "in")
    return place is not None and place.isalpha() and place == _object(other, "on")


def _object(it: Statement, word: str) -> str | None:
    """The first word that counts behind a preposition, as its stem."""
    for place, found in enumerate(it.words[:-1]):
        if found == word:
            rest = (word for word in it.words[place + 1 :] if word not in LIGHT)
            return next(map(stem, rest), None)
    return None


# They say from when something holds, not that anything else is over.
_BEGINNING_MARKS = re.compile(
    r"(?:^since\b|\b(?:now|from now on|as of|actually)(?!\w))", re.IGNORECASE
)
_ENDING_MARKS = re.compile(
    r"\b(?:no longer|any ?more|instead|correction:|update:|"
    r"changed? (?:to|from)|moved? (?:to|from|back)|renamed? (?:to|from)|replaced? (?:by|with)|"
    r"switched (?:to|from)|postponed|delayed|extended|raised|increased|lowered|reduced|migrated|"
    r"slips? to|sold|quit|gave up|left|used to|stopped|changed our|changed my)(?!\w)",
    re.IGNORECASE,
)
# `Extended by 5 minutes` does not say to what.
_BY_HOW_MUCH = re.compile(
    r"\b(?:moved|postponed|delayed|extended|raised|increased|lowered|reduced|shortened|slipped|cut)"
    r"\b[^.!?]*?\bby (?:(?:about|roughly|another|up to|an?) )*"
    r"(?:\d|(?:one|two|three|four|five|six|ten|half|hour|day|week|month|year)\b)"
    r"(?![^.!?]*\bto\b)",
    re.IGNORECASE,
)
# `correction.py` knows what they say of other statements.
_FOREIGN_MARKS = re.compile(
    r"\b(?:jetzt|nicht mehr|stattdessen|ab sofort|désormais|maintenant|ahora|ya no)(?!\w)",
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
    marks = (_BEGINNING_MARKS, _ENDING_MARKS, _FOREIGN_MARKS, _CHANGES)
    return any(it.search(text) is not None for it in marks)


_SEVERAL = VOCABULARY["several"]
_MOMENTS = VOCABULARY["times"] | VOCABULARY["months"] | {f"{it}s" for it in VOCABULARY["times"]}
_RECURRING = frozenset(
    f"{it}{ending}"
    for it in (
        *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "weekend"),
        *("morning", "afternoon", "evening", "night", "spring", "summer", "autumn", "winter"),
    )
    for ending in ("", "s")
)
_CASES = _RECURRING | {"if", "when", "whenever", "unless"}
# A change begins then: `from Monday`.
_BEGINNINGS = frozenset(("from", "since", "starting", "effective", "as", "until"))
_IMPLIED = {line.split()[0]: line.split()[1:] for line in LINES["implied"]}
_LIGHT_STEMS = frozenset(
    stem(it) for it in (*LIGHT, *VOCABULARY["guards"], *VOCABULARY["negations"])
)
_PERSONS = frozenset(("i", "my", "we", "our", "me", "us"))


def corrects(new: str, old: str) -> bool:
    """Whether a statement says by its own words that it replaces the other: the same is told of
    the same, with a word such as `instead` or `no longer`; with `now`, of what has one value at a
    time."""
    one, other = read_statement(new), read_statement(old)
    is_over = _ENDING_MARKS.search(new) is not None
    if not (is_over or _BEGINNING_MARKS.search(new)) or not (one.is_short and other.is_short):
        return False
    if _ENDING_MARKS.search(old) or _BEGINNING_MARKS.search(old):
        return False
    if _BY_HOW_MUCH.search(new) or not (is_over or _is_single_valued(one, other)):
        return False
    mine, theirs = _subject(one), _subject(other)
    if mine is None or mine != theirs or _overlap(one, other) < 0.5:
        return False
    if not _keeps_order(one, other):
        return False
    # Who speaks Italian now may speak French still.
    if not _SEVERAL.isdisjoint(one.words) and not one.negations and "no longer" not in new.lower():
        return False
    if not (_changes_one_value(one, other) and _tells_same(one, other)):
        return False
    return not differ_in_condition(new, old)


def _keeps_order(one: Statement, other: Statement) -> bool:
    """`From Oban to Mull` is not `from Mull to Oban`."""
    shared = one.anchors & other.anchors
    return [it for it in one.words if it in shared] == [it for it in other.words if it in shared]


def _is_single_valued(one: Statement, other: Statement) -> bool:
    """Whether nothing differs but numbers and times, or who or what something is: `my dentist is
    Dr Brandt`."""
    replaced = _find_replaced(one, other)
    words = [it for a, b, mine in replaced for it in (*other.words[a:b], *mine)]
    told = [it for it in words if it not in LIGHT and it not in _JOINTS]
    if not told or all(it[:1].isdigit() or it in _MOMENTS for it in told):
        return bool(told)
    before = other.words[: replaced[0][0]]
    is_named = before[:1] and before[0] in DETERMINERS and not LINKS.isdisjoint(before[-2:])
    return bool(is_named) and all(it in one.anchors or it in other.anchors for it in told)


def _changes_one_value(one: Statement, other: Statement) -> bool:
    """Whether the values that a newer statement does not repeat stand together: who pays 40 in
    winter and 25 in summer pays both."""
    gone = [
        place
        for place, word in enumerate(other.words)
        if (word[:1].isdigit() or word in _MOMENTS) and word not in one.words
    ]
    is_together = not gone or gone[-1] - gone[0] < len(gone)
    if not is_together or _changes_object(one, other) or _narrows(one, other):
        return False
    return _count_replaced(one, other) < 2


def _narrows(one: Statement, other: Statement) -> bool:
    """Whether only one of them has a condition, beside a value that differs: who takes the bike,
    and now the train in winter, may take the bike in summer."""
    mine, theirs = _without_former(one, other), [*other.words]
    changes = SequenceMatcher(None, theirs, mine, autojunk=False).get_opcodes()
    replaced, beside = 0, list[Sequence[str]]()
    for kind, a, b, c, d in changes:
        was, is_now = _split_parts(theirs[a:b]), _split_parts(mine[c:d])
        if kind == "replace":
            common = min(len(was), len(is_now))
            replaced += common
            beside += [*was[common:], *is_now[common:]]
        elif kind != "equal":
            beside += [*was, *is_now]
    return replaced > 0 and any(map(_is_condition, beside))


def _is_condition(words: Sequence[str]) -> bool:
    if words[0] in _BEGINNINGS:
        return False
    return words[0] == "for" or not _CASES.isdisjoint(words)


def _changes_object(one: Statement, other: Statement) -> bool:
    """Whether another thing is told of, at the same time: who deploys module X on Fridays may
    deploy module Y then too."""
    theirs = other.words
    for start, end, _ in _find_replaced(one, other):
        rest, word = theirs[end:], theirs[end - 1]
        times = [it for it in (*theirs[:start], *rest) if it in _RECURRING and it in one.words]
        if not times or word in _MOMENTS:
            continue
        before = theirs[start - 1] if start else ""
        is_counted = word[:1].isdigit() and (before in _JOINTS or before in _VERBS)
        has_unit = word[:1].isdigit() and rest and rest[0] not in _JOINTS
        if not is_counted and not has_unit:
            return True
    return False


def _find_replaced(one: Statement, other: Statement) -> list[tuple[int, int, list[str]]]:
    """Where words of the older statement begin and end that the newer one has others for, and
    those."""
    mine, theirs = _without_former(one, other), [*other.words]
    changes = SequenceMatcher(None, theirs, mine, autojunk=False).get_opcodes()
    return [(a, b, mine[c:d]) for kind, a, b, c, d in changes if kind == "replace"]


def _count_replaced(one: Statement, other: Statement) -> int:
    """In how many places the newer statement has something else. Who owns a share of one firm and
    another share of another firm owns both."""
    replaced = [(other.words[a:b], mine) for a, b, mine in _find_replaced(one, other)]
    count = sum(min(_count_parts(was), _count_parts(mine)) for was, mine in replaced)
    # `Behind the proxy` and `without the proxy` are two conditions of one value.
    joints = [[_OPPOSED.intersection(it) for it in pair] for pair in replaced]
    is_opposed = any(was and mine and was.isdisjoint(mine) for was, mine in joints)
    return count + (is_opposed and count == 1)


def _count_parts(words: Sequence[str]) -> int:
    """How many values there are: `aspirin in the morning` has two."""
    return len(_split_parts(words))


def _split_parts(words: Sequence[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for it in words:
        if it in _JOINTS:
            parts.append([])
        parts[-1].append(it)
    return [it for it in parts if _says_something(it)]


def _without_former(one: Statement, other: Statement) -> list[str]:
    """The words without those that only tell of the change: `now`, and what it was before, as in
    `from vim to Helix`."""
    words, former = [*one.words], {*other.words} - _PREPOSITIONS
    start = words.index("from") if "from" in words else len(words)
    if "to" in words[start:]:
        end = words.index("to", start)
        was = words[start + 1 : end]
        if was and {it for it in was if it not in LIGHT} <= former:
            del words[start:end]
    return [it for it in words if stem(it) not in _CORRECTING]


_JOINTS = _PREPOSITIONS | {
    *("in", "at", "on", "before", "after", "during", "with", "without", "as", "into", "under"),
    *("over", "behind", "between", "within", "inside", "outside", "near", "via", "through"),
    *("against", "among", "if", "when", "whenever", "while", "unless", "until", "because"),
}


_OPPOSED = frozenset(
    (
        *("with", "without", "before", "after", "inside", "outside", "under", "over", "behind"),
        *("if", "when", "unless", "until", "while"),
    )
)


def _says_something(words: Sequence[str]) -> bool:
    return any(it not in LIGHT and it not in _VERBS and it not in _JOINTS for it in words)


def _tells_same(one: Statement, other: Statement) -> bool:
    """Whether a newer statement tells of what the older one tells: with a word of its predicate, or
    with a verb of change that implies one; where it has only a value, with a value of that kind.
    `The workshop was moved to the big hall` says nothing of `The workshop is in March`."""
    mine, theirs = _predicate(one), _predicate(other)
    said = {stem(it) for it in theirs if it not in other.anchors} - _CORRECTING
    said = {it for it in said if it not in _LIGHT_STEMS}
    meant = {stem(it) for it in mine} | {stem(it) for word in mine for it in _IMPLIED.get(word, ())}
    if any(same_word(a, b) for a in said for b in meant):
        return _value_kinds(theirs, other) <= {"word"} or _shares_kind(mine, one, theirs, other)
    return not said and _shares_kind(mine, one, theirs, other)


def _shares_kind(
    mine: Sequence[str], one: Statement, theirs: Sequence[str], other: Statement
) -> bool:
    if one.negations:
        return True
    return not _value_kinds(mine, one).isdisjoint(_value_kinds(theirs, other))


def _predicate(it: Statement) -> tuple[str, ...]:
    """The words from the verb on."""
    place = next((n for n, word in enumerate(it.words) if word in _VERBS), 0)
    return it.words[place:]


def _value_kinds(words: Sequence[str], it: Statement) -> frozenset[str]:
    """What kinds of values these words have: times, amounts, names; words where there are none."""
    found: set[str] = set()
    for place, word in enumerate(words):
        behind = words[place + 1] if place + 1 < len(words) else ""
        if word in _MOMENTS or (word[:1].isdigit() and (":" in word or behind in _MOMENTS)):
            found.add("time")
        elif word[:1].isdigit():
            found.add("amount")
        elif word in it.anchors:
            found.add("name")
    return frozenset(found or {"word"})


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


# They say that something is corrected, and nothing of what.
_CORRECTING = frozenset(map(stem, ("actually", "now", "instead", "correction", "update")))


def _overlap(one: Statement, other: Statement) -> float:
    """The share of the smaller statement's words that the other has too."""
    mine = {*one.content, *one.anchors} - _CORRECTING
    theirs = {*other.content, *other.anchors}
    least = min(len(mine), len(theirs))
    return len(mine & theirs) / least if least else 0.0
