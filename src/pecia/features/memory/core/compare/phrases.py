"""Phrases that tell of a change, in the languages of `corrections.txt`, and the words of a
statement without them. Pure.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files
from typing import TypeAlias

from pecia.features.memory.core.compare.statement import find_letter_names
from pecia.kernel.corpus.keyword.analysis.token_filters import STEMMERS, STOP_WORDS
from pecia.kernel.corpus.keyword.analysis.tokenizer import tokenize

# How many words the gap of a phrase spans.
MAX_GAP = 3
# Longer words may have an ending of two letters.
MIN_STEM = 5
# A verb, its preposition and an article.
MAX_BEFORE = 4
CHANGES = ("wrong", "weak", "since", "moved", "replaced", "now")
"""Kinds of phrases that say that something changed, or was wrong."""

Phrase: TypeAlias = tuple[str, ...]

_CJK = r"\u3400-\u4dbf\u4e00-\u9fff"
_KANA = re.compile(r"[\u3040-\u30ff]")
WORD = re.compile(rf"[{_CJK}]|(?:(?![{_CJK}])[^\W_])+(?:['’.:,-](?:(?![{_CJK}])[^\W_])+)*|…")
CLAUSE = re.compile(rf"[,;:.!?…](?:\s|$)|[，；。！？、：—]|\s[-–]\s|[,;:](?=[{_CJK}])")
_SENTENCE = re.compile(r"(?<=[.!?…:;])\s+")
_ELISION = re.compile(r"^(c|l|d|j|m|n|s|t|qu)['’](?=\w)", re.IGNORECASE)
_INFLECTED = ("ru", "uk", "pl")


class ValueKind(StrEnum):
    """What a value is."""

    DAY = "day"
    NUMBER = "number"
    NAME = "name"
    WORD = "word"


COUNTED = (ValueKind.DAY, ValueKind.NUMBER)


@dataclass(frozen=True, slots=True)
class PhraseWord:
    """`plain` is what is compared, `low` the word in lower case. `before` are the words before it,
    four at most, and `follow` is the one behind it."""

    plain: str
    low: str
    before: tuple[str, ...] = ()
    follow: str = ""
    is_capital: bool = False

    @property
    def lead(self) -> str:
        """The word before it."""
        return self.before[-1] if self.before else ""

    @property
    def lead_before(self) -> str:
        """The word before that."""
        return self.before[-2] if len(self.before) > 1 else ""


@dataclass(frozen=True, slots=True, eq=False)
class PhraseLanguage:
    """`phrases` by what they say and by their first word, longest first; `light` are words that
    say nothing here."""

    code: str
    phrases: Mapping[str, Mapping[str, tuple[Phrase, ...]]]
    words: Mapping[str, frozenset[str]]
    light: frozenset[str]
    days: tuple[str, ...]

    def kind_of(self, word: PhraseWord) -> ValueKind:
        low = word.low
        if low in self.days if self.code == "zh" else low.startswith(self.days):
            return ValueKind.DAY
        if any(it.isdigit() for it in low) or low in self.words["numbers"] | self.words["months"]:
            return ValueKind.NUMBER
        return ValueKind.NAME if word.is_capital else ValueKind.WORD


@dataclass(frozen=True, slots=True)
class PhraseReading:
    """A statement without the phrases that say that it is a correction, and which were there."""

    words: tuple[PhraseWord, ...]
    found: frozenset[str]


def has_word(words: Sequence[PhraseWord], any_of: frozenset[str]) -> bool:
    return any(it.low in any_of for it in words)


@lru_cache(4096)
def read_phrases(text: str, language: PhraseLanguage, kinds: tuple[str, ...]) -> PhraseReading:
    kept, found = drop_phrases(split_phrase_words(text, language), language, kinds)
    around = (*(it.low for it in kept), "")
    words = [
        replace(it, before=around[max(0, n - MAX_BEFORE) : n], follow=around[n + 1])
        for n, it in enumerate(kept)
    ]
    return PhraseReading(tuple(drop_light(words, language)), found)


def drop_light(words: Iterable[PhraseWord], language: PhraseLanguage) -> list[PhraseWord]:
    return [it for it in words if it.low not in language.light]


def drop_phrases(
    words: Sequence[PhraseWord], language: PhraseLanguage, kinds: Sequence[str]
) -> tuple[list[PhraseWord], frozenset[str]]:
    """The words without phrases of these kinds, and the kinds that were there."""
    left, found = [*words], set[str]()
    for kind in kinds:
        for place in phrase_places(left, language, kind):
            left[place] = _GONE
            found.add(kind)
    return [it for it in left if it is not _GONE], frozenset(found)


_GONE = PhraseWord("", "")


def phrase_places(words: Sequence[PhraseWord], language: PhraseLanguage, kind: str) -> set[int]:
    places: set[int] = set()
    for start, phrase in _starts(words, language, kind):
        matched = _match(words, start, phrase)
        if kind == "since":
            matched = matched and _with_time(words, matched, language)
        if matched and places.isdisjoint(matched):
            places.update(matched)
    return places


def _starts(
    words: Sequence[PhraseWord], language: PhraseLanguage, kind: str
) -> Iterator[tuple[int, Phrase]]:
    """Where phrases of a kind may begin."""
    by_first = language.phrases.get(kind, {})
    for start, it in enumerate(words):
        for phrase in by_first.get(it.low, ()):
            yield start, phrase


def _with_time(
    words: Sequence[PhraseWord], since: list[int], language: PhraseLanguage
) -> list[int]:
    """The words that say since when, where a time follows that is not long ago."""
    end = since[-1] + 1
    while end < len(words) and words[end].low in language.words["times"]:
        end += 1
    # `Since May the`: of what follows.
    while end > since[-1] + 1 and words[end - 1].low in language.light:
        end -= 1
    times = words[since[-1] + 1 : end]
    return [*since, *range(since[-1] + 1, end)] if drop_light(times, language) else []


def find_phrases(
    words: Sequence[PhraseWord], language: PhraseLanguage, kind: str
) -> list[tuple[int, int]]:
    """Where phrases of a kind begin and end."""
    found: list[tuple[int, int]] = []
    for start, phrase in _starts(words, language, kind):
        if matched := _match(words, start, phrase):
            found.append((start, matched[-1] + 1))
    return found


def _match(words: Sequence[PhraseWord], start: int, phrase: Phrase) -> list[int]:
    """The places of a phrase's words; none where it is not there."""
    places: list[int] = []
    place, gap = start, 0
    for part in phrase:
        if part == "…":
            gap = MAX_GAP
            continue
        ends = min(place + gap + 1, len(words))
        here = next((it for it in range(place, ends) if words[it].low == part), None)
        if here is None:
            return []
        places.append(here)
        place, gap = here + 1, 0
    return places


@lru_cache(4096)
def split_phrase_words(text: str, language: PhraseLanguage) -> tuple[PhraseWord, ...]:
    whole = language.days if language.code == "zh" else ()
    speaker = "I" if language.code == "en" else ""
    found: list[PhraseWord] = []
    for sentence in _SENTENCE.split(text):
        words = _split(sentence, whole)
        letters = find_letter_names(words, speaker)
        for place, it in enumerate(words):
            low = it if place in letters else it.lower()
            found.append(PhraseWord(_stem(low, language.code), low, is_capital=it[:1].isupper()))
    return tuple(found)


def _split(text: str, whole: Iterable[str] = ()) -> list[str]:
    """Words; single characters in Chinese, but for these."""
    plain = unicodedata.normalize("NFC", text).replace("’", "'")
    pattern = WORD
    if whole := tuple(whole):
        pattern = re.compile("|".join((*whole, WORD.pattern)))
    words: list[str] = []
    for it in pattern.findall(plain):
        elided = _ELISION.match(it)
        words += [elided[1], it[elided.end() :]] if elided else [it]
    return words


@lru_cache(20_000)
def _stem(word: str, language: str) -> str:
    """Without its case ending, where words have them: in others, a correction repeats the word,
    and an ending may tell two names apart."""
    if language not in _INFLECTED or not word.isalpha():
        return word
    if language in STEMMERS:
        return next(iter(tokenize(word, language)), word)
    return word[:-2] if len(word) > MIN_STEM else word


def guess_languages(text: str) -> list[PhraseLanguage]:
    """Those that most words of the text are function words of."""
    if _KANA.search(text):
        return []
    score = score_languages(text)
    best = max(score.values())
    return [it for it in LANGUAGES if best and score[it.code] >= best - 1]


def score_languages(text: str) -> dict[str, int]:
    """How many function words of each language a text has."""
    low = {it.lower() for it in _split(text)}
    return {it.code: len(low & _FUNCTION_WORDS[it.code]) for it in LANGUAGES}


def _read_languages() -> tuple[PhraseLanguage, ...]:
    sections: dict[str, dict[str, list[Phrase]]] = {}
    here: dict[str, list[Phrase]] = {}
    text = (
        files("pecia.features.memory.core.compare").joinpath("corrections.txt").read_text("utf-8")
    )
    for line in text.splitlines():
        if line.startswith("["):
            here = sections.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            kind, _, phrases = line.partition(":")
            here[kind] = [_to_phrase(it) for it in phrases.split(";")]
    return tuple(_to_language(code, it) for code, it in sections.items())


def _to_phrase(text: str) -> Phrase:
    return tuple(it.lower() for it in _split(text))


def _to_language(code: str, kinds: Mapping[str, Sequence[Phrase]]) -> PhraseLanguage:
    words = {kind: frozenset(it for way in ways for it in way) for kind, ways in kinds.items()}
    meaning = (*kinds["contrast"], *kinds["instead"], *kinds["also"], *kinds["unsure"])
    kept = {way[0] for way in meaning if len(way) == 1}
    light = (STOP_WORDS.get(code, frozenset()) | words["light"]) - kept
    phrases = {kind: _by_first_word(ways) for kind, ways in kinds.items()}
    days = tuple("".join(it) for it in kinds["days"])
    return PhraseLanguage(code, phrases, words, light, days)


def _by_first_word(ways: Iterable[Phrase]) -> dict[str, tuple[Phrase, ...]]:
    found: dict[str, tuple[Phrase, ...]] = {}
    for way in sorted(ways, key=len, reverse=True):
        found[way[0]] = (*found.get(way[0], ()), way)
    return found


LANGUAGES = _read_languages()
_FUNCTION_WORDS = {
    it.code: it.light | STOP_WORDS.get(it.code, frozenset()) | it.words["now"] | it.words["wrong"]
    for it in LANGUAGES
}
