"""A short statement as the words that make its fact: names, numbers, negations, the rest. Pure.

Two statements are compared by what tells facts apart before anything else is: a number, a name, a
date, a version, a unit, a negation or a quantifier. Only then by their other words.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from pecia.features.memory.core.compare.vocabulary import SYNONYMS, VOCABULARY, WORDINGS
from pecia.kernel.corpus.keyword.analysis.tokenizer import tokenize

# Longer texts say several things: they are compared word for word only.
MAX_WORDS = 30

_NUMBER_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    *("nineteen", "twenty"),
)
NUMBERS = {word: str(number) for number, word in enumerate(_NUMBER_WORDS) if word != "one"}
_DIGIT_WORDS = frozenset(NUMBERS.values())

NEGATIONS = VOCABULARY["negations"]
QUANTIFIERS = VOCABULARY["quantifiers"]
# Words that change what is said and that nothing else stands for.
GUARDS = VOCABULARY["guards"]
# What a sentence can be said with or without.
LIGHT = VOCABULARY["light"]
# Verbs and nouns that say no more than the names and numbers around them.
PLAIN = VOCABULARY["plain"]
_END = re.compile(r"[.,;:!?…。，；：！？]+$")
_POSSESSIVE = re.compile(r"['’]s$|(?<=s)['’]$")
_SHORT_NOT = re.compile(r"n['’]t$")
_ELISION = re.compile(r"^(?:n|d|l|j|qu|s|c|m|t)['’](?=\w)", re.IGNORECASE)
# Scripts in which words are not told from names by their letters are compared word for word.
_LATIN = re.compile(r"[\x00-\u024f\u2000-\u20cf]*")
_CONTRACTED = re.compile(r"[^\W\d_]+['’](?:t|m|d|ve|re|ll)", re.IGNORECASE)
# The full stop of a title or an initial ends no sentence.
_SENTENCE = re.compile(
    r"(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\bProf)(?<!\bSt)(?<!\bNo)[.!?…。！？]\s"
)
_SIGNS = re.compile(r"\d[,'’]\d")
_DIGITS = re.compile(r"(?<=\d)[,'’](?=\d{3}\b)")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement. `written` are its words as they stand, `words` the same in lower case.
    `anchors` are names and numbers, `owners` those in the genitive; `content` the stems of the
    other words."""

    written: frozenset[str]
    words: tuple[str, ...]
    anchors: Counter[str]
    exact: frozenset[str]
    owners: frozenset[str]
    negations: int
    quantifiers: Counter[str]
    guards: Counter[str]
    content: tuple[str, ...]
    is_short: bool


@lru_cache(4096)
def read_statement(text: str) -> Statement:
    """The words of a text by their role."""
    plain = unicodedata.normalize("NFC", text).strip()
    sentences = len(_SENTENCE.findall(f"{plain} ")) or 1
    raw = [it for it in (_trim(word) for word in _words(plain)) if it]
    letters = find_letter_names(raw)
    words: list[str] = []
    written: list[str] = []
    anchors: list[str] = []
    exact: list[str] = []
    owners: set[str] = set()
    for place, word in enumerate(raw):
        bare = _POSSESSIVE.sub("", word) if len(word) > 2 else word
        low = bare if place in letters else NUMBERS.get(bare.lower(), bare.lower())
        named = _is_anchor(bare, first=place == 0) or low in _DIGIT_WORDS
        written.append(low if low in _DIGIT_WORDS else bare)
        if named:
            anchors.append(low)
            exact.append(written[-1])
        if bare != word:
            owners.add(low)
        words.append(low)
    plain_words = [it for it in words if it not in anchors]
    return Statement(
        # The capital of a first word proves nothing, whether it is a name or not.
        frozenset((*written, *words[:1], *(it.capitalize() for it in words[:1]))),
        tuple(words),
        Counter(anchors),
        frozenset(exact),
        frozenset(owners),
        sum(it in NEGATIONS or bool(_SHORT_NOT.search(it)) for it in plain_words),
        Counter(it for it in plain_words if it in QUANTIFIERS),
        Counter(it for it in plain_words if it in GUARDS),
        tuple(_content(plain_words)),
        0 < len(words) <= MAX_WORDS and sentences == 1 and bool(_LATIN.fullmatch(plain)),
    )


def find_letter_names(words: Sequence[str], speaker: str = "I") -> set[int]:
    """The places of capital letters that are names, as `service A`: in lower case that would be an
    article. Not of one that begins a sentence or is the unit of a number, nor of the speaker."""
    found: set[int] = set()
    for place, (before, word) in enumerate(pairwise(words), start=1):
        if len(word) != 1 or not word.isupper() or before[:1].isdigit():
            continue
        behind = words[place + 1] if place + 1 < len(words) else ""
        is_speaker = word == speaker and (behind not in _BEHIND_NAMES or before in ("and", "or"))
        if not is_speaker:
            found.add(place)
    return found


# What stands behind a name, and not behind somebody who speaks of themselves.
_BEHIND_NAMES = frozenset(("", "is", "has", "on", "in", "at", "of", "for", "to", "from", "with"))


def _words(text: str) -> Iterable[str]:
    for word in _DIGITS.sub("", text).split() if _SIGNS.search(text) else text.split():
        if "'" not in word and "’" not in word:
            yield word
            continue
        if word[:2].lower() in ("n'", "n’"):
            yield "ne"
        yield _ELISION.sub("", word)


def _trim(word: str) -> str:
    """Without the signs that end a clause. All others may be part of a name."""
    return _END.sub("", word)


def _is_anchor(word: str, *, first: bool) -> bool:
    """A number, an identifier or a name. The capital of a first word proves nothing."""
    if not word.isalpha() and not _CONTRACTED.fullmatch(word):
        return True
    if first or word in ("I", "I'm", "I'd", "I've"):
        return word.isupper() and len(word) > 1
    return word[:1].isupper()


def _content(words: Iterable[str]) -> Iterable[str]:
    for word in words:
        if word in LIGHT or word in NEGATIONS or word in QUANTIFIERS or word in GUARDS:
            continue
        yield stem(word)


@lru_cache(20_000)
def stem(word: str) -> str:
    found = tokenize(word, "en")
    return found[0] if found else word


def synonym_groups(word: str) -> frozenset[int]:
    """The numbers of the groups of synonyms that a stem is in."""
    return frozenset(_STEM_GROUP.get(word, ()))


def are_synonyms(one: str, other: str) -> bool:
    """Whether these stems are of words that mean the same."""
    return not _WORDING_GROUP.get(one, _NONE).isdisjoint(_WORDING_GROUP.get(other, _NONE))


def same_word(one: str, other: str) -> bool:
    """Whether two stems are of one word, or of two that mean the same."""
    if one == other or are_synonyms(one, other):
        return True
    short, long = sorted((one, other), key=len)
    return len(short) >= 4 and long.startswith(short) and long[len(short) :] in _ENDINGS


# Of a word made of another. What else begins alike is another word: `trainer` and `trainee`.
_ENDINGS = VOCABULARY["endings"]


def _group_stems(groups: Iterable[frozenset[str]]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for number, group in enumerate(groups):
        for word in group:
            found.setdefault(stem(word), set()).add(number)
    return found


_NONE = frozenset[int]()
_STEM_GROUP = _group_stems(SYNONYMS)
_WORDING_GROUP = _group_stems((*SYNONYMS, *WORDINGS))
PLAIN_STEMS = frozenset(stem(it) for it in PLAIN)
