"""Words of a query in English: the translation tables of the package `pecia-polyglot`.

A table is read with the first query in its language. The language of a query is told by its
trigrams, and a query that is English, or may be, has no translation.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias
from zipfile import ZipFile

from pecia.adapters.embedding.model_files import find_shipped_model
from pecia.adapters.embedding.polyglot import is_english, read_vocabulary
from pecia.kernel.corpus.keyword.analysis.analyzer import stemming_analyzer
from pecia.kernel.corpus.keyword.analysis.scripts import MARKED_SCRIPTS, clean_text
from pecia.kernel.corpus.keyword.analysis.token_filters import (
    STEMMERS,
    STOP_WORDS,
    detect_language,
    stemmer_language,
)
from pecia.kernel.corpus.keyword.query.parser import TranslatedWord

ENGLISH = "en"
PROFILES = "profiles"
# A probability in the file is a hexadecimal digit.
STEPS = 15
# Of a language without a stemmer, words that begin alike stand together, as `begin*`.
PREFIX_CHARS = 5
PREFIX_TRUST = 0.7
# The longest word of a script without spaces.
MAX_PIECE_CHARS = 12
# The log probability of a trigram that a language's profile does not have.
UNSEEN = -12.0
# What function words add for a language. With more, Bulgarian becomes Russian.
FUNCTION_WORDS_GAIN = 5.0

Table: TypeAlias = Mapping[str, Sequence[tuple[str, float]]]
Profiles: TypeAlias = Mapping[str, Sequence[tuple[str, float]]]

# Roots of probabilities rank better than these: on Polish and Czech sentences, .855 against .852
# and .834 against .823 within five.
_WEIGHTS = [math.sqrt(it / STEPS) for it in range(STEPS + 1)]
_WORD = re.compile(rf"(?:[^\W_]|[{MARKED_SCRIPTS}])+")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+"
)
_SYLLABLES = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")


class Lexicon:
    """Translates words into stems of English, as the keyword index has them."""

    def __init__(self, file: Path, vocabulary: Path) -> None:
        self._file = file
        self._vocabulary = vocabulary
        self._tables: dict[str, Table] = {}

    @lru_cache(256)  # noqa: B019 - one lexicon lives as long as its process
    def translate(self, text: str) -> tuple[TranslatedWord, ...]:
        """The words of a text that say something, in order, with their translations.

        Nothing for a text in English, or without a word that a table knows.
        """
        if is_english(text, read_vocabulary(self._vocabulary)):
            return ()
        language = detect_profile(text, self._profiles)
        if language in ("", ENGLISH):
            return ()
        found = tuple(translate_words(text, language, self._table(language)))
        return found if any(it.terms for it in found) else ()

    @cached_property
    def _profiles(self) -> Profiles:
        return parse_profiles(self._read(PROFILES))

    def _table(self, language: str) -> Table:
        if language not in self._tables:
            self._tables[language] = parse_table(self._read(language))
        return self._tables[language]

    def _read(self, name: str) -> str:
        with ZipFile(self._file) as file:
            return file.read(name).decode() if name in file.namelist() else ""


def find_lexicon() -> Lexicon:
    """The lexicon of the package `pecia-polyglot`."""
    return Lexicon(import_module("pecia_polyglot").lexicon_path(), find_shipped_model().tokenizer)


def parse_table(text: str) -> dict[str, list[tuple[str, float]]]:
    """The translations of each word, with their weights. One without any holds sentences together.

    A line a word: the word, then its translations, a digit of probability after each.
    """
    found: dict[str, list[tuple[str, float]]] = {}
    for line in text.splitlines():
        word, *terms = line.split("\t")
        found[word] = [(it[:-1], _WEIGHTS[int(it[-1], 16)]) for it in terms]
    return found


def translate_words(text: str, language: str, table: Table) -> Iterator[TranslatedWord]:
    """Each word once. Those without a translation stay as they are."""
    for word in dict.fromkeys(source_words(text, language, table.__contains__)):
        terms = _look_up(word, table)
        if terms is None:
            yield TranslatedWord(word, ())
        elif terms:
            yield TranslatedWord(word, tuple(terms))


def _look_up(word: str, table: Table) -> Sequence[tuple[str, float]] | None:
    if (terms := table.get(word)) is not None:
        return terms
    if len(word) >= PREFIX_CHARS and (alike := table.get(f"{word[:PREFIX_CHARS]}*")):
        return [(term, share * PREFIX_TRUST) for term, share in alike]
    return None


def source_words(text: str, language: str, is_known: Callable[[str], bool]) -> list[str]:
    """The words of a text as a table has them: stems where there is a stemmer, known pieces of what
    has no spaces, known pairs of syllables in Vietnamese.
    """
    cleaned = text if text.isascii() else clean_text(text)
    stem, stops = _stem(language), STOP_WORDS.get(stemmer_language(language), frozenset())
    found: list[str] = []
    for word in _WORD.findall(cleaned.lower()):
        if word in stops:
            continue
        at = 0
        for run in _UNSPACED.finditer(word):
            found += filter(None, (stem(word[at : run.start()]),))
            found += cut_pieces(run.group(), is_known)
            at = run.end()
        found += filter(None, (stem(word[at:]),))
    return join_pairs(found, is_known) if language == "vi" else found


def cut_pieces(run: str, is_known: Callable[[str], bool]) -> Iterator[str]:
    """The longest known piece from the left on; a sign by itself where none is known."""
    at = 0
    while at < len(run):
        longest = min(MAX_PIECE_CHARS, len(run) - at)
        size = next((it for it in range(longest, 1, -1) if is_known(run[at : at + it])), 1)
        yield run[at : at + size]
        at += size


def join_pairs(words: Sequence[str], is_known: Callable[[str], bool]) -> list[str]:
    found: list[str] = []
    pairs = iter([*pairwise([*words, ""])])
    for one, other in pairs:
        if is_known(f"{one} {other}"):
            found.append(f"{one} {other}")
            next(pairs, None)
        else:
            found.append(one)
    return found


def _stem(language: str) -> Callable[[str], str]:
    code = stemmer_language(language)
    return _stemmed(code).__getitem__ if code else str


class _Stemmed(dict[str, str]):
    """Words as the engine stems them."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._analyzer = stemming_analyzer(language)

    def __missing__(self, word: str) -> str:
        return "".join(self._analyzer.analyze(word))


@lru_cache(len(STEMMERS))
def _stemmed(language: str) -> _Stemmed:
    return _Stemmed(language)


def trigrams(text: str) -> Iterator[str]:
    """Of letters, with a space at either end of a word. Signs that are syllables or words go one by
    one.
    """
    for word in _WORD.findall(clean_text(text).lower()):
        if _SYLLABLES.search(word):
            yield from word
        else:
            framed = f" {word} "
            yield from (framed[at : at + 3] for at in range(len(framed) - 2))


def detect_profile(text: str, profiles: Profiles) -> str:
    """The language whose trigrams and function words the text has; empty where it has none."""
    scores: dict[str, float] = {}
    for gram in trigrams(text):
        for language, gain in profiles.get(gram, ()):
            scores[language] = scores.get(language, 0.0) + gain
    if spoken := detect_language(text):
        spoken = "nb" if spoken == "no" else spoken
        scores[spoken] = scores.get(spoken, 0.0) + FUNCTION_WORDS_GAIN
    return max(scores, key=scores.__getitem__, default="")


def parse_profiles(text: str) -> Profiles:
    """How much each trigram says for a language: its log probability above that of an unseen one.

    A line a language: its code, then its frequent trigrams, each with its share of all in tenths of
    a natural logarithm.
    """
    profiles: dict[str, list[tuple[str, float]]] = {}
    for line in text.splitlines():
        language, *held = line.split("\t")
        for gram, share in (it.rsplit("-", 1) for it in held):
            profiles.setdefault(gram, []).append((language, -int(share) / 10 - UNSEEN))
    return profiles
