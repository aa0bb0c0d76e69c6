"""Whether a statement says by its own words that it corrects another, in many languages. Pure.

No grammar is known here: a correction repeats what the other is about and changes one value, or
says of the whole of it that it no longer holds. Where anything else differs it is another fact.
A correction that names nothing (`Actually it is Tuesdays now`) is stored with what was said before
it, see `with_context`; that is then what it corrects, if it has one value of that kind.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise, takewhile

from pecia.features.memory.core.compare.condition import differ_in_condition
from pecia.features.memory.core.compare.denial import denies_in_words
from pecia.features.memory.core.compare.phrases import (
    CHANGES,
    CLAUSE,
    COUNTED,
    WORD,
    PhraseLanguage,
    PhraseReading,
    PhraseWord,
    ValueKind,
    drop_light,
    drop_phrases,
    find_phrases,
    guess_languages,
    has_word,
    phrase_places,
    read_phrases,
    split_phrase_words,
)
from pecia.features.memory.core.compare.relation import corrects
from pecia.features.memory.core.frames.succession import SUCCESSIONS, succeeds

MAX_WORDS = 30
MAX_CHARS = 400
# The words of a value, and those behind a number that measure it or belong to its date.
MAX_VALUE_WORDS = 5
# `Requests per minute`.
MAX_UNIT_WORDS = 3
MAX_ELLIPTIC_WORDS = 3
MAX_TITLE_WORDS = 2
MAX_TARGET_WORDS = 3
MAX_CONTEXT_CHARS = 300

_DATE_JOINERS = frozenset(("de", "del", "of", "di", "do", "da", "to", "bis", "till", "tot", "до"))
"""Between the parts of a date or a range."""
_NAME_JOINERS = {
    **dict.fromkeys(("fr", "es", "pt", "it"), frozenset(("de", "del", "di", "do", "da"))),
    "en": frozenset(("of", "and")),
    "de": frozenset(("und",)),
    "nl": frozenset(("van", "en")),
    "sv": frozenset(("och",)),
}
"""Within one name or list, by language."""
_AND = frozenset(("et", "y", "e"))
_YEAR = re.compile(r"(?:19|20)\d\d")
_GROUPS = re.compile(r"(?<=\d)[,.](?=\d{3}(?!\d))")
_QUESTION = re.compile(r"[?？\u037e؟]\s*$")
_NAMES = frozenset({ValueKind.NAME})
CONTEXT_MARK = "(Re: "
"""Begins what a text is about, behind it."""
_CONTEXT = re.compile(r"^(?P<said>.*\S) \(Re: (?P<context>.+)\)$", re.DOTALL)


def is_correction(new: str, old: str) -> bool:
    """By the rules for English or by those for many languages."""
    return corrects(new, old) or corrects_in_words(new, old)


def corrects_in_words(new: str, old: str) -> bool:
    """Whether the newer statement corrects the other."""
    said = _CONTEXT.match(new)
    if said is not None:
        is_context = said["context"] == flatten_context(old)
        return is_context and any(
            _corrects_value(said["said"], old, it) for it in guess_languages(said["said"])
        )
    return len(old) <= MAX_CHARS and any(
        _ends(new, old, it)
        or _contrasts(new, old, it)
        or _denies_for_another(new, old, it)
        or _replaces(new, old, it)
        or _succeeds(new, old, it)
        for it in _changed_in(new)
    )


def needs_context(text: str) -> bool:
    """Whether a text corrects something that it does not name."""
    if _CONTEXT.match(text):
        return False
    return any(_is_elliptic(text, it) for it in _changed_in(text))


def with_context(text: str, before: str) -> str:
    """The text with what was said before it, which it is about."""
    context = flatten_context(before)
    if len(context) > MAX_CONTEXT_CHARS:
        context = f"{context[:MAX_CONTEXT_CHARS].rstrip()}…"
    return f"{text} {CONTEXT_MARK}{context})"


def flatten_context(text: str) -> str:
    """In the order in which it was said, on one line."""
    found = _CONTEXT.match(text)
    plain = f"{found['context']} {found['said']}" if found else text
    return " ".join(plain.split())


def _ends(new: str, old: str, language: PhraseLanguage) -> bool:
    """`Nadia no longer works in Leeds`: a clause that says the whole of the other, ended."""
    was = Counter(it.plain for it in read_phrases(old, language, CHANGES).words)
    if len(was) < 2:
        return False
    for clause in CLAUSE.split(new):
        read = read_phrases(clause, language, ("ended", *CHANGES))
        if "ended" in read.found and Counter(it.plain for it in read.words) == was:
            return not _is_unsure(clause, language, ("ended", *CHANGES))
    return False


def _contrasts(new: str, old: str, language: PhraseLanguage) -> bool:
    """`The fair is in May, not in June`: what no longer holds is named."""
    clauses = CLAUSE.split(new)
    for place, clause in enumerate(clauses):
        words = split_phrase_words(clause, language)
        for start, end, last in _find_denied(words, language):
            denied = drop_light(words[end:last], language)
            kept = _text((*words[:start], *words[last:]))
            rest = " , ".join((*clauses[:place], kept, *clauses[place + 1 :]))
            if denied and _denies(rest, old, denied, language):
                return True
    return False


def _denies_for_another(new: str, old: str, language: PhraseLanguage) -> bool:
    """`The router is not a Fritzbox but a Turris`."""
    return not _is_unsure(new, language, CHANGES) and denies_in_words(new, old, language)


def _succeeds(new: str, old: str, language: PhraseLanguage) -> bool:
    return "roles" in language.words and succeeds(new, old, language)


def _find_denied(
    words: Sequence[PhraseWord], language: PhraseLanguage
) -> Iterator[tuple[int, int, int]]:
    """Where a contrast begins, and where what it denies begins and may end."""
    for start, end in find_phrases(words, language, "contrast"):
        # `Must not export`: a negation in the middle may be of anything.
        if not start or end - start > 1:
            yield start, end, len(words)
    for start, end in find_phrases(words, language, "instead"):
        for last in range(end + 1, min(end + MAX_VALUE_WORDS, len(words)) + 1):
            yield start, end, last


def _denies(main: str, old: str, denied: Sequence[PhraseWord], language: PhraseLanguage) -> bool:
    read, was = read_phrases(main, language, CHANGES), read_phrases(old, language, ()).words
    not_so = {it.plain for it in denied}
    said = {it.plain for it in read.words}
    left = [it for it in was if it.plain not in said]
    if not not_so <= {it.plain for it in was} or not left:
        return False
    if len(left) == len(was) or not {it.plain for it in left} <= not_so:
        return False
    return bool(_value(read.words, was)) and not _is_unsure(main, language, CHANGES)


def _replaces(new: str, old: str, language: PhraseLanguage) -> bool:
    """`Since May we buy bread at Lang's`: the same with another value at its end, and words that
    say that this is so now, or that what was said before was wrong."""
    words = split_phrase_words(new, language)
    if _is_unsure(new, language, CHANGES) and not _is_past_of(words, old, language):
        return False
    if any(find_phrases(words, language, it) for it in ("contrast", "instead")):
        return False
    # What is corrected may have been a correction itself.
    older = read_phrases(old, language, CHANGES)
    was, placed = older.words, language.words["placed"]
    for read in _read_parts(new, language):
        if "moved" in read.found and not _has_target(words, older, language):
            continue
        if read.found and _changes_value(read, was, language):
            return not differ_in_condition(new, old)
        # A time may be told without them: `Takes place on Monday`, `is on Monday`.
        bare = replace(read, words=tuple(it for it in read.words if it.low not in placed))
        mine = [it for it in was if it.low not in placed]
        if read.found and _changes_value(bare, mine, language, only_counted=True):
            return True
    return False


def _has_target(words: Sequence[PhraseWord], was: PhraseReading, language: PhraseLanguage) -> bool:
    """Whether a number is what something changed to. `Was raised by 50 euros`, `subió 50 euros` do
    not say to what; `rose to 900` and `rose to 950` are two events."""
    toward = language.words.get("toward")
    known = {it.plain for it in was.words}
    numbers = (
        place
        for place, it in enumerate(words)
        if it.plain not in known and language.kind_of(it) is ValueKind.NUMBER
    )
    first = next(numbers, None)
    if toward is None or first is None or _is_date(words[first : first + 3], language):
        return True
    if "moved" in was.found:
        return False
    before = [it.low for it in words[max(0, first - MAX_TARGET_WORDS) : first]]
    return before[-1:] != [*language.words["delta"]] and not toward.isdisjoint(before)


def _is_date(words: Sequence[PhraseWord], language: PhraseLanguage) -> bool:
    return ":" in words[0].low or has_word(words, language.words["months"])


def _is_past_of(words: Sequence[PhraseWord], old: str, language: PhraseLanguage) -> bool:
    """Whether what was said of the past was wrong: `I was wrong, it was built in 1931`."""
    left, found = drop_phrases(words, language, ("wrong",))
    if not found or any(find_phrases(left, language, it) for it in ("also", "now", "since")):
        return False
    unsure = {left[it].low for it in phrase_places(left, language, "unsure")}
    return unsure <= {it.low for it in split_phrase_words(old, language)}


def _read_parts(text: str, language: PhraseLanguage) -> list[PhraseReading]:
    """The whole text, and each of its clauses. `No, …` says that something was wrong."""
    clauses = [it for it in CLAUSE.split(text) if WORD.search(it)]
    whole = " , ".join(clauses)
    is_reply = {it.low for it in split_phrase_words(clauses[0], language)} <= language.words[
        "reply"
    ]
    if is_reply and len(clauses) > 1:
        clauses, whole = clauses[1:], " , ".join(clauses[1:])
    parts = [read_phrases(it, language, CHANGES) for it in (whole, *clauses[len(clauses) == 1 :])]
    added = {"weak"} if is_reply else set[str]()
    if find_phrases(split_phrase_words(text, language), language, "firm"):
        added.add("firm")
    return [replace(it, found=it.found | added) for it in parts]


def _changes_value(
    read: PhraseReading,
    theirs: Sequence[PhraseWord],
    language: PhraseLanguage,
    *,
    only_counted: bool = False,
) -> bool:
    """Whether both are the same but for one value of one kind, at the end of the older."""
    mine = read.words
    value, was = _value(mine, theirs), _value(theirs, mine)
    if not value or not was or len(was) == len(theirs):
        return False
    if _frame(mine, value, language) != _frame(theirs, was, language):
        return False
    if not _keeps_names_in_order(mine, theirs):
        return False
    kinds = _kinds(mine, value, language), _kinds(theirs, was, language)
    behind = len(theirs) - 1 - was[-1]
    if kinds[0] == kinds[1] and kinds[0] <= {*COUNTED}:
        is_one = _is_one(mine, value) and _is_one(theirs, was)
        is_sure = "wrong" in read.found
        ends = _ends_statement(theirs, was, language, is_sure=is_sure)
        is_other = _digits(mine, value) != _digits(theirs, was)
        return len(kinds[0]) == 1 and is_one and ends and is_other
    # What is behind a value that is no number may be the verb of another subject.
    if behind or only_counted or not {*COUNTED}.isdisjoint(kinds[0] | kinds[1]):
        return False
    if "wrong" in read.found:
        return True
    if not _REPLACING.isdisjoint(read.found):
        return _replaces_led(read, value, theirs, was, language)
    return _is_single_valued(read, value, theirs, was, language)


def _digits(words: Sequence[PhraseWord], value: Sequence[int]) -> list[str]:
    """`1,180` and `1180` are one number."""
    return [_GROUPS.sub("", words[it].low) for it in value]


_REPLACING = frozenset({"moved", "replaced"})


def _replaces_led(
    read: PhraseReading,
    value: Sequence[int],
    theirs: Sequence[PhraseWord],
    was: Sequence[int],
    language: PhraseLanguage,
) -> bool:
    """Whether one value took the place of another: that is over, whatever it is."""
    mine = read.words
    new, old = mine[value[0]], theirs[was[0]]
    if _has_joint(mine, value, language) and _has_joint(theirs, was, language):
        return False
    if "replaced" in read.found:
        return new.lead == old.lead or old.lead not in language.words["be"]
    copulas = language.words["be"]
    # `The office is in Bonn`, `moved to Ulm`.
    is_described = _is_described(theirs, language) and old.lead_before in copulas
    return (new.lead == old.lead and old.lead not in copulas) or (
        is_described and old.lead in language.light
    )


def _is_single_valued(
    read: PhraseReading,
    value: Sequence[int],
    theirs: Sequence[PhraseWord],
    was: Sequence[int],
    language: PhraseLanguage,
) -> bool:
    """Whether there is one such value at a time, so that one that holds now ends the other: `lives
    in`, `the supplier is`, `is kept in`. Who is allergic to latex now is allergic to nuts still."""
    mine = read.words
    if _has_joint(mine, value, language) or _has_joint(theirs, was, language):
        return False
    new, old = mine[value[0]], theirs[was[0]]
    leads = _single_lead(new, language), _single_lead(old, language)
    if leads[0] is not None and leads[0] == leads[1]:
        return True
    if "firm" in read.found and _is_described(theirs, language):
        served = _served_lead(new, language)
        if served is not None and served == _served_lead(old, language):
            return True
    are_names = _kinds(mine, value, language) | _kinds(theirs, was, language) == _NAMES
    return are_names and _is_named(new, old, theirs, language)


def _is_named(
    new: PhraseWord, old: PhraseWord, theirs: Sequence[PhraseWord], language: PhraseLanguage
) -> bool:
    """`The supplier is Lang`, `the office is in Bonn`. A name behind a copula is what somebody or
    something is; in English and German also an adjective or a noun: `Ana is Dutch`."""
    copulas, is_described = language.words["be"], _is_described(theirs, language)
    if old.lead_before in copulas and old.lead in language.words["conditions"]:
        return is_described and new.lead == old.lead
    if language.code in ("en", "de") and not is_described:
        return False
    # An article and a title may stand between.
    titles = (language.light | {it.low for it in theirs}) - language.words["conditions"]
    between = [*takewhile(lambda it: it not in copulas, reversed(old.before))]
    is_told = len(between) < len(old.before) and len(between) <= MAX_TITLE_WORDS
    return is_told and titles.issuperset(between) and (not between or old.lead in new.before)


def _single_lead(word: PhraseWord, language: PhraseLanguage) -> tuple[str, ...] | None:
    """The words before a value that have one value at a time; an article may follow them."""
    for before in (word.before, word.before[:-1] if word.lead in language.light else word.before):
        for ways in language.phrases["single"].values():
            for way in ways:
                if before[-len(way) :] == way:
                    return way
        if not language.words["situated"].isdisjoint(before[-2:-1]):
            return before[-2:]
    return None


def _served_lead(word: PhraseWord, language: PhraseLanguage) -> tuple[str, ...] | None:
    """`Our chat runs on`: other things may run on several, so that only words such as `from now on`
    end the older one. In German the subject may stand between (`läuft unser Chat auf`)."""
    for ways in language.phrases.get("serves", {}).values():
        for way in ways:
            if word.lead == way[-1] and {*way} <= {*word.before}:
                return way
    return None


def _has_joint(words: Sequence[PhraseWord], value: Sequence[int], language: PhraseLanguage) -> bool:
    """Whether something stands between the parts of a value, as `to` in `a Volvo to Turku`."""
    joiners = _NAME_JOINERS.get(language.code, frozenset()) | _AND
    parts = pairwise(words[it] for it in value)
    return any(here.lead != before.low and here.lead not in joiners for before, here in parts)


def _keeps_names_in_order(one: Sequence[PhraseWord], other: Sequence[PhraseWord]) -> bool:
    """`Rosa calls Mum` is not `Mum calls Rosa`."""
    mine, theirs = ([it.plain for it in words if it.is_capital] for words in (one, other))
    return [it for it in mine if it in theirs] == [it for it in theirs if it in mine]


def _is_one(words: Sequence[PhraseWord], value: Sequence[int]) -> bool:
    """Whether numbers are of one value, as `3 de mayo`: not with a verb between them, as in `hall 4
    has 20 seats`."""
    for before, here in pairwise(words[it] for it in value):
        is_joined = here.lead_before == before.low and here.lead in _DATE_JOINERS
        if here.lead != before.low and not is_joined:
            return False
    return True


def _ends_statement(
    words: Sequence[PhraseWord],
    value: Sequence[int],
    language: PhraseLanguage,
    *,
    is_sure: bool = False,
) -> bool:
    """Whether nothing is behind a number or a day but its unit or the rest of the date. `Room 101
    is closed` and `Backup of db1 runs daily` say more of it: there it names what they are about.
    `is_sure`: the text says that what was said before was wrong, so that any word may be a unit."""
    last, behind = words[value[-1]], words[value[-1] + 1 :]
    copulas = language.words["be"]
    if last.follow in copulas:
        return False
    # `Jeden Montag geschlossen`: the day of a state that recurs.
    every, states = (language.words.get(it, frozenset[str]()) for it in ("every", "states"))
    if last.lead in every and {it.low for it in behind} <= states:
        return True
    # An identifier such as `db1` has no unit.
    is_name = last.low[0].isalpha() and any(it.isdigit() for it in last.low)
    if behind and (len(behind) > MAX_UNIT_WORDS or is_name):
        return False
    # `Module 3 on Fridays` is not `at 9 on Fridays`.
    names_it = last.lead not in language.light and language.kind_of(last) is ValueKind.NUMBER
    if names_it and behind and language.kind_of(behind[0]) is ValueKind.DAY:
        return False
    # `90 dagen bewaard`: a verb at the end of German and Dutch sentences.
    verbs = language.words.get("verb_last", ())
    if len(behind) > 1 and behind[-1].low in verbs and _is_unit(behind[0], language):
        behind = behind[:-1]
    units = [
        _is_unit(it, language) or (is_sure and language.kind_of(it) not in COUNTED) for it in behind
    ]
    return all(units) and all(it.lead not in copulas for it in behind)


def _is_unit(word: PhraseWord, language: PhraseLanguage) -> bool:
    if word.low in language.words["units"] or word.low in language.words["months"]:
        return True
    # `At 9 on Saturdays`; the year of a date.
    is_led = language.kind_of(word) is ValueKind.DAY and word.lead in language.light
    return is_led or _YEAR.fullmatch(word.low) is not None


def _is_described(words: Sequence[PhraseWord], language: PhraseLanguage) -> bool:
    """`Our supplier`, not `Jonas`, who may be several things, and not `we`."""
    lead = words[0].lead
    return lead in language.light and lead not in language.words["speaker"]


def _kinds(
    words: Sequence[PhraseWord], value: Sequence[int], language: PhraseLanguage
) -> frozenset[ValueKind]:
    return frozenset(language.kind_of(words[it]) for it in value)


def _corrects_value(said: str, old: str, language: PhraseLanguage) -> bool:
    """Whether an elliptic correction has a value of a kind that the other has once."""
    elliptic = _CONTEXT.match(old)
    was = read_phrases(elliptic["said"] if elliptic else old, language, ()).words
    known = {it.plain for it in read_phrases(old, language, ()).words}
    new = [it for it in read_phrases(said, language, CHANGES).words if it.plain not in known]
    if len(new) != 1:
        return False
    kind = language.kind_of(new[0])
    return kind in COUNTED and sum(language.kind_of(it) is kind for it in was) == 1


def _is_elliptic(text: str, language: PhraseLanguage) -> bool:
    words = split_phrase_words(text, language)
    if len(words) > MAX_WORDS or _is_unsure(text, language, CHANGES) or len(words) < 2:
        return False
    read = _read_parts(text, language)[0]
    if not 0 < len(read.words) <= MAX_ELLIPTIC_WORDS:
        return False
    # A statement about the speaker has its subject.
    if has_word(drop_phrases(words, language, CHANGES)[0], language.words["speaker"]):
        return False
    counted = [*takewhile(lambda it: language.kind_of(it) in COUNTED, read.words)]
    # `#772 is closed now` names what it is about.
    if counted and counted[-1].follow in language.words["be"]:
        return False
    # A value, perhaps with its unit behind it.
    if counted:
        return not read.found.isdisjoint(("wrong", "weak", "now"))
    return not read.found.isdisjoint(("wrong", "weak")) and len(read.words) == 1


def _value(words: Sequence[PhraseWord], other: Sequence[PhraseWord]) -> list[int]:
    """The places of the words that the other does not have; none where they are not together, or
    too many."""
    left = Counter(it.plain for it in other)
    places: list[int] = []
    for place, it in enumerate(words):
        if left[it.plain]:
            left[it.plain] -= 1
        else:
            places.append(place)
    if not 0 < len(places) <= MAX_VALUE_WORDS or places[-1] - places[0] >= len(places):
        return []
    return places


def _frame(words: Sequence[PhraseWord], value: Sequence[int], language: PhraseLanguage) -> object:
    kept = [it.plain for place, it in enumerate(words) if place not in value]
    # Characters mean little out of their order.
    return kept if language.code == "zh" else Counter(kept)


def _is_unsure(text: str, language: PhraseLanguage, known: Sequence[str]) -> bool:
    """Whether a text is no plain statement of what holds, or adds to another."""
    words = split_phrase_words(text, language)
    left, _ = drop_phrases(words, language, known)
    if any(find_phrases(left, language, it) for it in ("unsure", "also")):
        return True
    # `Until now` has a word of those that tell of a change.
    return any(end - start > 1 for start, end in find_phrases(words, language, "unsure"))


def _text(words: Sequence[PhraseWord]) -> str:
    return " ".join(it.low for it in words)


@lru_cache(256)
def _changed_in(text: str) -> tuple[PhraseLanguage, ...]:
    """The languages in which a text may tell of a change. Most texts do in none."""
    if _QUESTION.search(text) or len(text) > MAX_CHARS:
        return ()
    kinds = ("ended", "contrast", "instead", "but", "reply", *CHANGES, *SUCCESSIONS)
    return tuple(
        language
        for language in guess_languages(text)
        if any(phrase_places(split_phrase_words(text, language), language, it) for it in kinds)
    )
