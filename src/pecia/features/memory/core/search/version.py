"""Whether a newer statement answers a question in the place of an older one. Pure.

Nothing is hidden by it: a search shows the newer one before the older one. The question says what
is asked of whom. A newer statement comes first if it tells of the same with a value of the kind
that is asked for, in the words of the question or in others; never if the question names what only
the older one has, or asks for something that the newer one says nothing about.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pecia.features.memory.core.compare.relation import says_change
from pecia.features.memory.core.compare.restatement import restates
from pecia.features.memory.core.compare.statement import (
    LIGHT,
    NUMBERS,
    PLAIN_STEMS,
    read_statement,
    stem,
    synonym_groups,
)
from pecia.features.memory.core.compare.tense import past_verbs
from pecia.features.memory.core.compare.vocabulary import LINES, VOCABULARY
from pecia.features.memory.core.search.change import tells_change
from pecia.features.memory.core.search.conversation import read_speaker

# Longer texts tell of many things: no one value is theirs.
MAX_WORDS = 40
# The share of words that two statements have in common, where a verb is all that is asked for.
MIN_OVERLAP = 0.5

_PREPOSITIONS = VOCABULARY["prepositions"] | {"of"}
_PLACES = frozenset(("in", "at", "on", "to", "into", "near", "under", "behind", "by", "beside"))
_VERBS = VOCABULARY["verbs"] - {"a"}
_SPANS = frozenset(("second", "minute", "hour", "day", "night", "week", "month", "quarter", "year"))
_TIMES = (VOCABULARY["times"] | VOCABULARY["months"]) - _SPANS - {f"{it}s" for it in _SPANS}
# Verbs that much is said with: alone they do not tell what is talked of.
_GENERAL = frozenset(map(stem, VOCABULARY["verbs"])) | PLAIN_STEMS
# Words that a question is put with, and that say nothing of what is asked.
_EMPTY = frozenset(map(stem, ("take", "place", "happen", "occur", "located", "find", "get", "one")))
_REPLACED = re.compile(
    r"\b(?:replac\w+|swapp\w+|switch\w+|migrat\w+|dropp\w+|instead of|rather than|moved from)\b",
    re.IGNORECASE,
)
_TIME_LEADS = frozenset(("at", "from", "until", "till", "by", "since", "before", "after"))
_QUESTION = frozenset(
    (
        *("what", "which", "who", "whom", "whose", "where", "when", "how", "why", "did", "do"),
        *("does", "many", "much", "long", "often", "must", "may", "should", "could", "would"),
    )
)
_SELVES = frozenset(("i", "my", "me", "we", "our", "us", "mine"))
_UNCOUNTED = LIGHT | _SELVES | _PREPOSITIONS | {""}
_SUBJECTS = frozenset(("i", "we", "you", "they", "he", "she", "it"))
_OWNERS = frozenset(("my", "our", "your", "his", "her", "its", "their"))
_SKIPPED = frozenset(("now", "just", "again", "only", "also", "still", "already", "new", "current"))
_ENDED = re.compile(r"\b(?:no longer|any ?more|stopped|quit|not)\b|n['’]t\b", re.IGNORECASE)
_OFTEN = frozenset(("hourly", "daily", "nightly", "weekly", "monthly", "yearly", "once", "twice"))
_AMOUNT = re.compile(
    r"\bhow (?:many|much|old|big|large|tall|high|warm|cold|hot|fast|heavy)\b", re.IGNORECASE
)
_MOMENT = re.compile(
    r"\b(?:when|what time|(?:what|which) (?:day|date|week|month|year|weekday))\b", re.IGNORECASE
)
_PERIOD = re.compile(r"\bhow (?:often|long)\b|\buntil when\b", re.IGNORECASE)
_PLACE = re.compile(r"\bwhere\b", re.IGNORECASE)
_CONTRACTED_VERB = re.compile(r"['’](?:ve|d|m|re|ll|s)$")
_HYPHENATED = re.compile(r"[a-z]+(?:-[a-z]+)+")
_DAY = re.compile(r"\d{1,2}(?:st|nd|rd|th)?[.,]?")
_DATE = re.compile(r"(?:19|20)\d\d(?:-\d\d){0,2}")
_CLOCK = re.compile(r"\d{1,2}[:.h]\d\d|\d{1,2}(?:am|pm)|\d+(?:st|nd|rd|th)|(?:19|20)\d\d|q[1-4]")


@dataclass(frozen=True, slots=True)
class _Reading:
    """A text as it is compared. `keys` are those of all words that count: equal keys, the same
    word or one that means the same. `times`, `amounts` and `names` are its values."""

    text: str
    words: tuple[str, ...]
    keys: tuple[frozenset[str], ...]
    all_keys: frozenset[str]
    subject: frozenset[str]
    anchors: frozenset[str]
    owners: frozenset[str]
    times: frozenset[str]
    amounts: frozenset[str]
    units: frozenset[str]
    names: frozenset[str]
    stems: frozenset[str]
    implied: frozenset[str]
    is_self: bool
    has_place: bool
    replaces: bool
    is_event: bool

    @property
    def ends(self) -> bool:
        return _ENDED.search(self.text) is not None

    @property
    def changes(self) -> bool:
        # Asked of few: it takes as long as all the rest.
        return says_change(self.text)


@dataclass(frozen=True, slots=True)
class VersionQuery:
    """A question, to be held against many pairs of statements."""

    text: str

    def puts_first(self, newer: str, older: str, *, is_near: bool = False) -> bool:
        """Whether the newer statement is to come before the older one. `is_near`: to a model it is
        about as close to the question."""
        return tells_change(self.text, newer, older) or self._is_answered_by(newer, older, is_near)

    def _is_answered_by(self, newer: str, older: str, is_near: bool) -> bool:
        new, old = _read(newer), _read(older)
        if new is None or old is None or new.words == old.words or restates(self.text, older):
            return False
        asked = _read_question(self.text)
        shared = [it for it in asked.terms if it & new.all_keys and it & old.all_keys]
        missing = [
            it
            for it in asked.terms
            if it & old.all_keys and not it & new.all_keys and not it & _EMPTY
        ]
        if new.replaces and _names_value(asked, new, old) and (shared or asked.is_self):
            return True
        if _is_of_another(asked, missing, new, old):
            return False
        if is_near and (shared or (asked.is_self and new.is_self and old.is_self)):
            return True
        if not _answers(asked, shared, missing) and not _names_former(asked, new, old):
            return False
        if not _is_about_same(asked, shared, new, old):
            return False
        if not missing and (len(shared) > 1 or not _tells_other(asked, (), new)):
            return True
        return _tells_same(asked, missing, new, old)

    def names_only(self, older: str, newer: str) -> bool:
        """Whether the question has a name or number that only the older statement has."""
        asked = _read_question(self.text).anchors
        words = {*read_statement(newer).words}
        return bool(asked & ({*read_statement(older).anchors} - words))


@dataclass(frozen=True, slots=True)
class _Asked:
    terms: tuple[frozenset[str], ...]
    attribute: frozenset[str]
    anchors: frozenset[str]
    is_self: bool
    kind: str


@lru_cache(64)
def _read_question(text: str) -> _Asked:
    words = _without_dates(_split(text))
    anchors = frozenset(read_statement(text).anchors)
    terms = [_keys(it) for it in words if it not in _QUESTION and (_counts(it) or it in anchors)]
    return _Asked(
        tuple(terms),
        _attribute(words),
        anchors,
        not _SELVES.isdisjoint(words),
        _asked_kind(text),
    )


def _without_dates(words: Sequence[str]) -> list[str]:
    """The day or month that a question names says of when is asked, and not of what."""
    months = VOCABULARY["months"]
    found: list[str] = []
    for place, word in enumerate(words):
        beside = {*words[max(0, place - 1) : place], *words[place + 1 : place + 2]}
        is_day = _DAY.fullmatch(word) is not None and not months.isdisjoint(beside)
        if not (is_day or word in months or _DATE.fullmatch(word)):
            found.append(word)
    return found


def _asked_kind(text: str) -> str:
    for kind, pattern in (
        ("amount", _AMOUNT),
        ("period", _PERIOD),
        ("time", _MOMENT),
        ("place", _PLACE),
    ):
        if pattern.search(text):
            return kind
    return ""


def _attribute(words: Sequence[str]) -> frozenset[str]:
    """The keys of the noun behind `which` or `what`."""
    for place, word in enumerate(words[:-1]):
        if word in ("which", "what") and _counts(words[place + 1]):
            return _keys(words[place + 1])
    return frozenset()


@lru_cache(4096)
def _read(text: str) -> _Reading | None:
    if len(text) > MAX_WORDS * 12:
        return None
    words = _split(text)
    if not 0 < len(words) <= MAX_WORDS:
        return None
    told = read_statement(text)
    # A turn of a conversation says little without those around it.
    if not told.is_short or read_speaker(text) is not None:
        return None
    kept = [it for it in words if _counts(it) or it in told.anchors]
    keys = tuple(map(_keys, kept))
    times, amounts, units = _values(words)
    stems = frozenset(map(stem, words))
    implied = frozenset(key for it in stems for key in _IMPLIED.get(it, ()))
    return _Reading(
        text,
        tuple(words),
        keys,
        frozenset(key for it in keys for key in it).union(implied),
        _subject(words),
        frozenset(told.anchors),
        frozenset(told.owners),
        times,
        amounts,
        units,
        frozenset(it for it in told.anchors if not any(sign.isdigit() for sign in it)),
        stems,
        implied,
        not _SELVES.isdisjoint(words),
        _has_place(words),
        _REPLACED.search(text) is not None,
        bool(past_verbs(told)),
    )


def _split(text: str) -> list[str]:
    """The words in lower case, without the verb of a contraction: `i` of `I've`."""
    found: list[str] = []
    for word in read_statement(text).words:
        word = word.strip("\"'“”()")
        if not word.isalnum():
            word = _CONTRACTED_VERB.sub("", word)
        # `on-call` is asked for as `on call`.
        parts = word.split("-") if "-" in word and _HYPHENATED.fullmatch(word) else [word]
        found += [it for it in parts if it]
    return found


def _subject(words: Sequence[str]) -> frozenset[str]:
    """The keys of what stands before the verb; empty for somebody who speaks of themselves, and
    where no verb is known."""
    if words[0] in ("i", "we"):
        return frozenset()
    verb = next((n for n, it in enumerate(words) if it in _VERBS and n), 0)
    before = words[:verb]
    return frozenset(key for it in before if _counts(it) for key in _keys(it))


def _overlap(one: _Reading, other: _Reading) -> float:
    """The share of the smaller one's words that the other has too."""
    least = min(len(one.keys), len(other.keys))
    left, right = (one, other) if len(one.keys) <= len(other.keys) else (other, one)
    return sum(bool(it & right.all_keys) for it in left.keys) / least if least else 0.0


def _counts(word: str) -> bool:
    return word not in _UNCOUNTED


def _words(it: _Reading) -> frozenset[str]:
    return frozenset(it.words)


@lru_cache(20_000)
def _keys(word: str) -> frozenset[str]:
    """What a word is compared by: its stem, its synonyms, the beginning of a long one; of `rebuilt`
    also `built`."""
    forms = [word]
    if word.startswith("re") and len(word) > 5:
        forms.append(word[2:])
    found: set[str] = set()
    for it in forms:
        root = stem(it)
        found |= {root, *(f"#{group}" for group in synonym_groups(root))}
        if len(root) > 5:
            found.add(f"{root[:5]}*")
    return frozenset(found)


def _values(words: Sequence[str]) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Times, amounts, and what the amounts are of."""
    times: set[str] = set()
    amounts: set[str] = set()
    units: set[str] = set()
    for place, word in enumerate(words):
        low = NUMBERS.get(word, word)
        before = words[place - 1] if place else ""
        behind = words[place + 1] if place + 1 < len(words) else ""
        is_number = low[:1].isdigit() or word == "one"
        if is_number and before == "to" and not _counts(behind):
            # `Was moved to 10`: only the older one tells of what.
            times.add(low)
            amounts.add(low)
        elif word in _TIMES or word.rstrip("s") in _TIMES or word in ("noon", "midnight"):
            times.add(word.rstrip("s"))
        elif _CLOCK.fullmatch(word) or (is_number and _is_moment(before, behind)):
            times.add(low)
        elif is_number or word in _OFTEN:
            amounts.add(low)
            units.add(stem(behind))
    return frozenset(times), frozenset(amounts), frozenset(units - {""})


def _is_moment(before: str, behind: str) -> bool:
    """Whether a number between these words is a time: `at six`, `9 May`."""
    return behind in _TIMES or (before in _TIME_LEADS and not _counts(behind))


def _has_place(words: Sequence[str]) -> bool:
    """Whether something is said to be somewhere: a preposition of place with a noun."""
    for place, word in enumerate(words[:-1]):
        if word in _PLACES:
            noun = next((it for it in words[place + 1 :] if it not in LIGHT), "")
            if noun and not noun[0].isdigit() and noun.rstrip("s") not in _TIMES:
                return True
    return False


def _is_of_another(
    asked: _Asked, missing: Sequence[frozenset[str]], new: _Reading, old: _Reading
) -> bool:
    """Whether the question is about something, or a kind of value, that only the older one has."""
    if asked.anchors & old.anchors - new.anchors - _words(new):
        return True
    if _lacks_kind(asked, new, old) or _ends_another(asked, new, old):
        return True
    replaced = [it for it in missing if _is_replaced(it, new, old)]
    if _names_value(asked, new, old):
        # In other words, of the same: `I use vim`, `I ditched vim for Helix`.
        replaced = [it for it in replaced if it.isdisjoint(PLAIN_STEMS)]
    return bool(replaced)


def _answers(
    asked: _Asked, shared: Sequence[frozenset[str]], missing: Sequence[frozenset[str]]
) -> bool:
    """Whether the older one has most of what is asked for, and the newer one most of that."""
    known = len(shared) + len(missing)
    return known * 2 >= len(asked.terms) and len(shared) >= len(missing)


def _is_about_same(
    asked: _Asked, shared: Sequence[frozenset[str]], new: _Reading, old: _Reading
) -> bool:
    """Whether question and statements have something in common that is not of another subject."""
    is_other = bool(old.subject) and not old.subject & new.all_keys
    if is_other and any(it & old.subject for it in asked.terms):
        return False
    both = old.stems & new.stems
    if any(it & both and not it & _GENERAL for it in shared):
        return True
    if shared and _overlap(new, old) >= MIN_OVERLAP:
        return True
    is_self = asked.is_self and new.is_self and old.is_self
    return is_self and _changes_self(asked, shared, new, old)


def _changes_self(
    asked: _Asked, shared: Sequence[frozenset[str]], new: _Reading, old: _Reading
) -> bool:
    """Whether somebody who speaks of themselves tells of a change of what they said before, though
    question and statements have no noun in common: `I live in Utrecht`, `I moved to Antwerp`."""
    if _names_former(asked, new, old):
        return True
    speaks = not _SELVES.isdisjoint(new.words[:2]) and not _SELVES.isdisjoint(old.words[:2])
    return speaks and bool(shared) and new.changes


def _lacks_kind(asked: _Asked, new: _Reading, old: _Reading) -> bool:
    """Whether the older one has a value of the kind that is asked for and the newer has none of its
    own."""
    if asked.kind == "time":
        return bool(old.times) and not new.times - old.times
    if asked.kind == "amount":
        return bool(old.amounts) and not new.amounts - old.amounts
    if asked.kind == "period":
        mine = (old.times | old.amounts, new.times | new.amounts)
        return bool(mine[0]) and not mine[1] - mine[0]
    return asked.kind == "place" and old.has_place and not new.has_place


def _ends_another(asked: _Asked, new: _Reading, old: _Reading) -> bool:
    """Whether the newer one says that something is not so any more, and not of what was said."""
    if not new.ends:
        return False
    values = [it for it in old.keys if not any(it & term for term in asked.terms)]
    ended = [it for it in values if it & new.all_keys]
    return len(ended) * 2 < len(values)


def _is_replaced(term: frozenset[str], new: _Reading, old: _Reading) -> bool:
    """Whether the newer one has another word in the place of one that the question names: it is
    about another: `the staging cluster`, `the production cluster`; `her birthday`, `her car`."""
    place = next((n for n, it in enumerate(old.words) if _keys(it) & term), None)
    if place is None:
        return False
    left, right = _around(old.words, place)
    for n, word in enumerate(new.words):
        if not _counts(word) or word in _SKIPPED or _keys(word) & old.all_keys:
            continue
        before, behind = _around(new.words, n)
        # `We support Node` has a verb before the noun.
        is_noun = left not in _SUBJECTS and stem(word) not in _GENERAL
        is_modifier = right and _counts(right) and right == behind and is_noun
        is_owned = left and left == before and left in old.owners | _OWNERS
        is_same_place = left and right and (left, right) == (before, behind)
        if is_modifier or (is_owned and left in new.owners | _OWNERS) or is_same_place:
            return True
    return False


def _around(words: Sequence[str], place: int) -> tuple[str, str]:
    """The words on both sides, as stems, without articles and words such as `now`."""
    passed = _SKIPPED | {"the", "a", "an"}
    left = next((it for it in reversed(words[:place]) if it not in passed), "")
    right = next((it for it in words[place + 1 :] if it not in passed), "")
    return left, right


def _tells_other(asked: _Asked, missing: Iterable[frozenset[str]], new: _Reading) -> bool:
    """Whether its verb of change is known to tell of something else than what is asked for: who
    moved has another home, and not another colour."""
    if not new.implied or asked.kind or (asked.attribute and asked.attribute & new.all_keys):
        return False
    wanted = [it for it in (*missing, asked.attribute) if it and not it & new.implied]
    return bool(wanted) and any(it for it in wanted if not it & new.all_keys)


def _tells_same(
    asked: _Asked, missing: Sequence[frozenset[str]], new: _Reading, old: _Reading
) -> bool:
    """Whether the newer one says in other words what is asked for."""
    # What has happened since is a change of what was so: `was ported to`, of `we use`.
    changes = (
        new.changes
        or (new.is_event and not old.is_event)
        or any(it.startswith("re") and len(it) > 5 for it in new.words)
    )
    if _names_former(asked, new, old):
        return True
    has_unit = not new.units.isdisjoint(old.units) and bool(new.amounts - old.amounts)
    if asked.kind == "time" or has_unit:
        return True
    if asked.kind in ("amount", "period"):
        return changes or bool(new.times & old.times)
    if asked.kind == "place":
        return not _tells_elsewhere(missing, new)
    has_attribute = bool(asked.attribute & new.all_keys & old.all_keys)
    if _tells_other(asked, missing, new) or not (changes or has_attribute):
        return False
    kinds = [
        (bool(it.names - at.names - _words(at)), not it.amounts | it.times <= at.amounts | at.times)
        for it, at in ((new, old), (old, new))
    ]
    return kinds[0] == kinds[1] and any(kinds[0])


def _tells_elsewhere(missing: Sequence[frozenset[str]], new: _Reading) -> bool:
    """Whether a verb of change says where something else is: who moved lives elsewhere, and may
    work where they did."""
    if not new.implied:
        return False
    return any(it & _ATTRIBUTES and not it & new.implied for it in missing)


def _names_former(asked: _Asked, new: _Reading, old: _Reading) -> bool:
    """Whether the newer one names what was so before, and something else."""
    if _names_value(asked, new, old):
        return True
    rest = [it for it in old.keys if not any(it & term for term in asked.terms)]
    return bool(rest) and len(new.keys) > len(rest) and all(it & new.all_keys for it in rest)


def _names_value(asked: _Asked, new: _Reading, old: _Reading) -> bool:
    """Whether the newer one has a name or number of the older that the question has not, and one of
    its own."""
    values = old.anchors - asked.anchors - old.owners
    return bool(values & _words(new) and new.anchors - old.anchors)


_IMPLIED: dict[str, frozenset[str]] = {}
for _line in LINES["implied"]:
    _verb, *_rest = _line.split()
    _IMPLIED[stem(_verb)] = frozenset(key for it in _rest for key in _keys(it))
# Words of which a verb of change may tell.
_ATTRIBUTES = frozenset(key for it in _IMPLIED.values() for key in it)
