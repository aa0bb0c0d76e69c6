"""Words of a query in English: the translation tables of the package `pecia-polyglot`.

A table is read with the first query in its language, in a thread. The language of a query is told
by its trigrams, and a query that is English, or may be, has no translation.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import TypeAlias
from zipfile import ZipFile

from anyio.to_thread import run_sync

from pecia.adapters.embedding.compounds import split_compound
from pecia.adapters.embedding.model_files import find_shipped_model
from pecia.adapters.embedding.polyglot import is_english, read_vocabulary
from pecia.kernel.corpus.keyword.analysis.scripts import MARKED_SCRIPTS, drop_signs
from pecia.kernel.corpus.keyword.analysis.token_filters import (
    STEMMERS,
    STOP_WORDS,
    detect_language,
    stemmer_language,
)
from pecia.kernel.corpus.keyword.analysis.tokenizer import stemming_analyzer
from pecia.kernel.corpus.keyword.query.parser import TranslatedWord

ENGLISH = "en"
PROFILES = "profiles"
# A probability in the file is a hexadecimal digit.
STEPS = 15
# Of a language without a stemmer, words that begin alike stand together, as `begin*`.
PREFIX_CHARS = 5
PREFIX_TRUST = 0.7
# How much the parts of a compound count.
PART_TRUST = 0.7
# The longest word of a script without spaces.
MAX_PIECE_CHARS = 12
# The log probability of a trigram that a language's profile does not have.
UNSEEN = -12.0
# Languages whose small letter of I has no dot.
DOTLESS = frozenset({"tr", "az"})
# What function words add for a language. With more, Bulgarian becomes Russian.
FUNCTION_WORDS_GAIN = 5.0
# A search asks twice, and its next page again.
MAX_CACHED = 256

# Translations as the file has them, parsed where they are asked for: all of them take several times
# as long.
Table: TypeAlias = Mapping[str, str]

# Roots of probabilities rank better than these: on Polish and Czech sentences, .855 against .852
# and .834 against .823 within five.
_WEIGHTS = [math.sqrt(it / STEPS) for it in range(STEPS + 1)]
_WORD = re.compile(rf"(?:[^\W_]|[{MARKED_SCRIPTS}])+")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+"
)
_SYLLABLES = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")


class Profiles:
    """How much each trigram says for a language: its log probability above that of an unseen one.

    A line a language: its code, then its frequent trigrams, each with its share of all in tenths of
    a natural logarithm. Parsed where they are asked for, as the tables are.
    """

    def __init__(self, text: str) -> None:
        self._entries: dict[str, str] = {}
        self._parsed: dict[str, list[tuple[str, float]]] = {}
        for line in text.splitlines():
            language, *held = line.split("\t")
            for gram, _, share in (it.rpartition("-") for it in held):
                self._entries[gram] = f"{self._entries.get(gram, '')} {language}{share}"

    def gains(self, gram: str) -> Sequence[tuple[str, float]]:
        """The languages that it is frequent in, with what it says for each."""
        if gram in self._parsed:
            return self._parsed[gram]
        if gram not in self._entries:
            return ()
        entries = self._entries[gram].split()
        self._parsed[gram] = [(it[:2], -int(it[2:]) / 10 - UNSEEN) for it in entries]
        return self._parsed[gram]


class Lexicon:
    """Translates words into stems of English, as the keyword index has them."""

    def __init__(self, file: Path, tokenizer: Path) -> None:
        self._file = file
        self._tokenizer = tokenizer
        self._english: frozenset[str] = frozenset()
        self._profiles: Profiles | None = None
        self._tables: dict[str, Table] = {}
        self._found: dict[str, tuple[TranslatedWord, ...]] = {}
        self._lock = Lock()

    async def translate(self, text: str) -> tuple[TranslatedWord, ...]:
        """The words of a text that say something, in order, with their translations.

        Nothing for a text in English, or without a word that a table knows. What is not read yet
        is read in a thread: no other caller waits for it.
        """
        if text not in self._found:
            found = await self._translate(text)
            if len(self._found) >= MAX_CACHED:
                self._found.clear()
            self._found[text] = found
        return self._found[text]

    async def _translate(self, text: str) -> tuple[TranslatedWord, ...]:
        if not self._english:
            self._english = await run_sync(read_vocabulary, self._tokenizer)
        if is_english(text, self._english):
            return ()
        profiles = self._profiles or await run_sync(self._load_profiles)
        language = detect_profile(text, profiles)
        if language in ("", ENGLISH):
            return ()
        if language not in self._tables:
            await run_sync(self._load_table, language)
        found = tuple(translate_words(text, language, self._tables[language]))
        return found if any(it.terms for it in found) else ()

    def _load_profiles(self) -> Profiles:
        with self._lock:
            self._profiles = self._profiles or Profiles(self._read(PROFILES))
            return self._profiles

    def _load_table(self, language: str) -> None:
        with self._lock:
            if language not in self._tables:
                self._tables[language] = parse_table(self._read(language))

    def _read(self, name: str) -> str:
        with ZipFile(self._file) as file:
            return file.read(name).decode() if name in file.namelist() else ""


def find_lexicon() -> Lexicon:
    """The lexicon of the package `pecia-polyglot`."""
    return Lexicon(import_module("pecia_polyglot").lexicon_path(), find_shipped_model().tokenizer)


def parse_table(text: str) -> Table:
    """The translations of each word. One without any holds sentences together.

    A line a word: the word, then its translations, a digit of probability after each.
    """
    return {word: terms for word, _, terms in (it.partition("\t") for it in text.splitlines())}


def translate_words(text: str, language: str, table: Table) -> Iterator[TranslatedWord]:
    """Each word once. Those without a translation stay as they are."""
    for word in dict.fromkeys(source_words(text, language, table.__contains__)):
        terms = _look_up(word, table)
        if terms is None:
            yield from _translate_parts(word, language, table) or (TranslatedWord(word, ()),)
        elif terms:
            yield TranslatedWord(word, tuple(terms))


def _look_up(word: str, table: Table) -> list[tuple[str, float]] | None:
    if (terms := table.get(word)) is not None:
        return _parse_terms(terms)
    if len(word) >= PREFIX_CHARS and (alike := table.get(f"{word[:PREFIX_CHARS]}*")):
        return [(term, share * PREFIX_TRUST) for term, share in _parse_terms(alike)]
    return None


def _translate_parts(word: str, language: str, table: Table) -> list[TranslatedWord]:
    parts = split_compound(word, language, _stem(language), lambda it: bool(table.get(it)))
    found = ((part, _parse_terms(table[part])) for part in dict.fromkeys(parts))
    return [
        TranslatedWord(part, tuple((term, share * PART_TRUST) for term, share in terms))
        for part, terms in found
    ]


def _parse_terms(text: str) -> list[tuple[str, float]]:
    return [(it[:-1], _WEIGHTS[int(it[-1], 16)]) for it in text.split("\t") if it]


def source_words(text: str, language: str, is_known: Callable[[str], bool]) -> list[str]:
    """The words of a text as a table has them: stems where there is a stemmer, known pieces of what
    has no spaces, known pairs of syllables in Vietnamese.
    """
    cleaned = text if text.isascii() else drop_signs(text)
    if language in DOTLESS:
        cleaned = cleaned.replace("İ", "i").replace("I", "ı")
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


def cut_pieces(run: str, is_known: Callable[[str], bool]) -> list[str]:
    """The run in known pieces: with the fewest signs in none of them, then with the fewest pieces.

    The longest piece from the left on often takes the first sign of the next word: 60 % of Thai
    sentences had their English one within five by that, 62 % by this.
    """
    # The cost of each beginning, and where its last piece begins.
    best = [(0, 0, 0)]
    for end in range(1, len(run) + 1):
        sizes = range(1, min(MAX_PIECE_CHARS, end) + 1)
        known = (it for it in sizes if it == 1 or is_known(run[end - it : end]))
        best.append(
            min((best[end - it][0] + (it == 1), best[end - it][1] + 1, end - it) for it in known)
        )
    pieces: list[str] = []
    while run:
        start = best[len(run)][2]
        pieces.append(run[start:])
        run = run[:start]
    return pieces[::-1]


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
    # The tables have the words themselves where the engine has no stemmer.
    return _stems_of(code).__getitem__ if STEMMERS.get(code) else str


class _Stemmed(dict[str, str]):
    """Words as the engine stems them."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._analyzer = stemming_analyzer(language)

    def __missing__(self, word: str) -> str:
        return "".join(self._analyzer.analyze(word))


@lru_cache(len(STEMMERS))
def _stems_of(language: str) -> _Stemmed:
    return _Stemmed(language)


def trigrams(text: str) -> Iterator[str]:
    """Of letters, with a space at either end of a word. Signs that are syllables or words go one by
    one.
    """
    for word in _WORD.findall(drop_signs(text).lower()):
        if _SYLLABLES.search(word):
            yield from word
        else:
            framed = f" {word} "
            yield from (framed[at : at + 3] for at in range(len(framed) - 2))


def detect_profile(text: str, profiles: Profiles) -> str:
    """The language whose trigrams and function words the text has; empty where it has none."""
    scores: dict[str, float] = {}
    for gram in trigrams(text):
        for language, gain in profiles.gains(gram):
            scores[language] = scores.get(language, 0.0) + gain
    if spoken := detect_language(text):
        spoken = "nb" if spoken == "no" else spoken
        scores[spoken] = scores.get(spoken, 0.0) + FUNCTION_WORDS_GAIN
    return max(scores, key=scores.__getitem__, default="")
