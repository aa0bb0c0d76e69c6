"""Whether who does something in one statement does it in the other too. Pure.

The order of names does not say so: `Ann was given a book` has the words of `Ann gave a book`, and
`Sven's manager is Agnes` those of `Sven manages Agnes`.
"""

from collections.abc import Iterator, Mapping

from pecia.features.memory.core.compare.statement import (
    GUARDS,
    LIGHT,
    NEGATIONS,
    QUANTIFIERS,
    Statement,
    same_word,
    stem,
)
from pecia.features.memory.core.compare.tense import is_doer, is_past_form
from pecia.features.memory.core.compare.vocabulary import LINES, VOCABULARY

_BE = frozenset(
    ("is", "are", "am", "was", "were", "be", "been", "being", "get", "gets", "got", "gotten")
)
_ADVERBS = (QUANTIFIERS | NEGATIONS | GUARDS | {"also", "so"}) - _BE
_PREPOSITIONS = VOCABULARY["prepositions"]
_NOUN_LEADS = frozenset(
    ("the", "a", "an", "my", "our", "your", "his", "her", "its", "their", "this", "that", "of")
)
_DETERMINERS = _NOUN_LEADS - {"of", "that"}
_MOMENTS = VOCABULARY["times"] | VOCABULARY["months"] | {f"{it}s" for it in VOCABULARY["times"]}
_ERGATIVES = frozenset(map(stem, VOCABULARY["ergatives"]))
_SUBJECTS: Mapping[str, str] = {
    **dict.fromkeys(("i", "we"), "speaker"),
    "he": "he",
    "she": "she",
    "they": "they",
    "you": "you",
}
_OWNERS: Mapping[str, str] = {
    **dict.fromkeys(("my", "our"), "speaker"),
    "his": "he",
    "her": "she",
    "their": "they",
    "your": "you",
}
_OBJECTS: Mapping[str, str] = {
    **dict.fromkeys(("me", "us"), "speaker"),
    "him": "he",
    "them": "they",
}
# `The deadline for us` is ours, and what is done by us we do.
_NO_OBJECT = frozenset(("by", "for"))
# What is needed for a recipe the recipe needs.
_NEEDED = frozenset(("needed", "required"))
_TOWARDS = frozenset(("for", "to"))
_CONVERSES = [
    (frozenset(left.split()), frozenset(right.split()))
    for left, _, right in (line.partition(" : ") for line in LINES["converses"])
]
BELONGS = frozenset(("belong", "belongs", "belonged"))
_NO_VERBS = _BE | {"has", "have", "had", "do", "does", "did"}


def keep_agents(one: Statement, other: Statement) -> bool:
    """Whether nobody who does something by one statement has it done to them by the other."""
    return not any(
        differs(a, b)
        for differs in (
            _is_done_to,
            _is_done_for,
            _tells_of_none,
            _has_doer,
            _is_converse,
            _changes_pronoun,
            _drops_preposition,
        )
        for a, b in ((one, other), (other, one))
    )


def _is_done_to(one: Statement, other: Statement) -> bool:
    """`The guest was served` and `the guest served`. Not of what does it by itself: a membership
    renews and is renewed."""
    return any(
        stem(one.words[place]) not in _ERGATIVES
        and not _are_converse(one.words[place], other.words[again])
        and not _find_subject(one, place).isdisjoint(_find_subject(other, again))
        for place in _passives(one)
        for again in _active_verbs(other, stem(one.words[place]))
    )


def _is_done_for(one: Statement, other: Statement) -> bool:
    """`A table was reserved for us` and `we reserved a table`; `alerts are sent by the gateway` and
    `the gateway is sent alerts`."""
    for place in _passives(one):
        if one.words[place] in _NEEDED:
            continue
        verb = stem(one.words[place])
        agents, others = _find_led(one, place)
        active = (_find_subject(other, again) for again in _active_verbs(other, verb))
        passive = (
            _find_subject(other, again)
            for again in _passives(other)
            if same_word(stem(other.words[again]), verb)
        )
        if any(not others.isdisjoint(it) for it in active):
            return True
        if any(is_doer(it) and same_word(stem(it), verb) for it in other.words):
            return not others.isdisjoint(map(stem, other.words))
        if any(not agents.isdisjoint(it) for it in passive):
            return True
        if any(not others.isdisjoint(_find_led(other, again)[0]) for again in _passives(other)):
            return True
    return False


def _find_led(it: Statement, verb: int) -> tuple[set[str], set[str]]:
    """Who something is done by, and who it is done for or to."""
    agents, others = set[str](), set[str]()
    for place, word in enumerate(it.words[verb:-1], start=verb):
        if word not in _TOWARDS and word != "by":
            continue
        rest = (n for n in range(place + 1, len(it.words)) if it.words[n] not in _DETERMINERS)
        noun = it.words[next(rest, place)]
        found = _OBJECTS.get(noun, stem(noun))
        (agents if word == "by" else others).add(found)
    return agents, others


def _tells_of_none(one: Statement, other: Statement) -> bool:
    """`No guest has paid` and `a guest has not paid`."""
    return one.words[0] == "no" and other.words[0] in ("a", "an", "the")


def _has_doer(one: Statement, other: Statement) -> bool:
    """`Sven's manager is Agnes` and `Sven manages Agnes`, `Agnes is managed by Sven` or `Agnes's
    manager is Sven`."""
    return any(
        _does(other, word, patients) or _has_others(other, stem(word), patients)
        for place, word in enumerate(one.words)
        if is_doer(word) and (patients := _find_patients(one, place))
    )


def _does(it: Statement, doer: str, people: frozenset[str]) -> bool:
    """Whether one of these people does themselves what a noun for who does it says."""
    return any(
        not people.isdisjoint(_find_subject(it, place))
        for place in _active_verbs(it, stem(doer))
        if not is_doer(it.words[place])
        and it.words[place] not in BELONGS
        and not _are_converse(doer, it.words[place])
    )


def _has_others(it: Statement, verb: str, people: frozenset[str]) -> bool:
    """Whether it is done by these people, or only to others."""
    passives = (n for n in _passives(it) if same_word(stem(it.words[n]), verb))
    if any(not people.isdisjoint(_find_led(it, n)[0]) for n in passives):
        return True
    doers = (n for n, word in enumerate(it.words) if is_doer(word) and same_word(stem(word), verb))
    others = [found for found in (_find_patients(it, n) for n in doers) if found]
    return bool(others) and all(people.isdisjoint(found) for found in others)


def _is_converse(one: Statement, other: Statement) -> bool:
    """`Dogs fear cats` and `dogs scare cats`, `Tom employs Ann` and `Tom works for Ann`."""
    for left, right in _CONVERSES:
        mine, theirs = _find_active(one, left), _find_active(other, right)
        if right.isdisjoint(one.words) and any(
            not _find_subject(one, a).isdisjoint(_find_subject(other, b))
            for a in mine
            for b in theirs
        ):
            return True
    return False


def _are_converse(word: str, again: str) -> bool:
    """Who is employed works."""
    return any(word in left and again in right for left, right in _CONVERSES)


def _find_active(it: Statement, words: frozenset[str]) -> list[int]:
    passive = {*_passives(it)}
    return [place for place, word in enumerate(it.words) if word in words and place not in passive]


def _changes_pronoun(one: Statement, other: Statement) -> bool:
    """`I report to Ann` and `Ann reports to me`."""
    does = {_SUBJECTS[it] for it in one.words if it in _SUBJECTS}
    suffers = {_OBJECTS[it] for it in one.words if it in _OBJECTS}
    does_again = {_SUBJECTS[it] for it in other.words if it in _SUBJECTS}
    suffers_again = {
        _OBJECTS[word]
        for place, word in enumerate(other.words)
        if word in _OBJECTS and other.words[max(0, place - 1)] not in _NO_OBJECT
    }
    return bool((does - suffers) & (suffers_again - does_again))


def _drops_preposition(one: Statement, other: Statement) -> bool:
    """`Ann leaves Rome` and `Ann leaves for Rome`."""
    led = {(verb, noun) for verb, lead, noun in _objects(one) if lead}
    free = {(verb, noun) for verb, lead, noun in _objects(other) if not lead}
    return not led.isdisjoint(free)


def _objects(it: Statement) -> Iterator[tuple[str, str, str]]:
    """Each word that may be a verb with what stands behind it, and the preposition between them.
    Times and amounts are said with one or without."""
    for place, word in enumerate(it.words[:-1]):
        if word in it.anchors or word in _NO_VERBS or word in LIGHT | _PREPOSITIONS:
            continue
        if place and (it.words[place - 1] in _NOUN_LEADS or it.words[place - 1] in it.owners):
            continue
        behind = place + 1
        lead = it.words[behind] if it.words[behind] in _PREPOSITIONS else ""
        behind += 1 if lead else 0
        while behind < len(it.words) and it.words[behind] in _DETERMINERS:
            behind += 1
        noun = it.words[behind] if behind < len(it.words) else ""
        is_named = noun not in LIGHT or noun in it.anchors
        if noun and is_named and not noun[:1].isdigit() and noun not in _MOMENTS:
            yield word, lead, stem(noun)


def _passives(it: Statement) -> Iterator[int]:
    """The places of verbs of which something is told that it is done to."""
    for place, word in enumerate(it.words):
        if is_past_form(word) and _is_behind_be(it, place):
            yield place


def _is_behind_be(it: Statement, place: int) -> bool:
    before = place - 1
    while before >= 0 and (it.words[before] in _ADVERBS or it.words[before].endswith("ly")):
        before -= 1
    return before >= 0 and it.words[before] in _BE


def _active_verbs(it: Statement, verb: str) -> Iterator[int]:
    for place, word in enumerate(it.words):
        if not place or word in it.anchors or not same_word(stem(word), verb):
            continue
        is_noun = it.words[place - 1] in _NOUN_LEADS or it.words[place - 1] in it.owners
        if not is_noun and not (is_past_form(word) and _is_behind_be(it, place)):
            yield place


def _find_subject(it: Statement, verb: int) -> frozenset[str]:
    """The stems of what stands before a verb, without owners and what is behind a preposition; a
    pronoun as its person."""
    found: set[str] = set()
    is_led, before = False, ""
    for word in it.words[:verb]:
        # Behind a phrase with a preposition another begins: `in Rome the firm`, `for tea we pay`.
        if before not in _PREPOSITIONS and (
            word in _DETERMINERS
            or word in _SUBJECTS
            or (word in it.anchors and before not in _DETERMINERS)
        ):
            is_led = False
        is_led = is_led or word in _PREPOSITIONS
        is_named = word in it.anchors or not (word in LIGHT | _PREPOSITIONS or word in _ADVERBS)
        if word in _SUBJECTS:
            found.add(_SUBJECTS[word])
        elif is_named and not is_led and word not in it.owners and word not in _MOMENTS:
            found.add(stem(word))
        before = word
    return frozenset(found)


def _find_patients(it: Statement, doer: int) -> frozenset[str]:
    """Whose teacher somebody is."""
    before = it.words[max(0, doer - 2) : doer]
    found = {stem(word) for word in before if word in it.owners}
    found |= {_OWNERS[word] for word in before if word in _OWNERS}
    if it.words[doer + 1 : doer + 2] == ("of",):
        rest = (word for word in it.words[doer + 2 :] if word not in LIGHT or word in it.anchors)
        found |= {stem(word) for word in (next(rest, None),) if word}
    return frozenset(found)
