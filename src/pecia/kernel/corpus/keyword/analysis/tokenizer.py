"""Texts and queries as the terms that the keyword index knows: words and stems as the engine makes
them, mostly without asking it. Pure.

Texts repeat their words: to look a stem up takes a tenth of the time that making it does.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from itertools import chain, compress, count
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

import tantivy

from pecia.kernel.corpus.keyword.analysis.hebrew import stem_hebrew
from pecia.kernel.corpus.keyword.analysis.scripts import (
    blank_unspaced,
    clean_text,
    clean_with_offsets,
    cut_grams,
    end_in_text,
    find_unspaced,
    has_unspaced,
)
from pecia.kernel.corpus.keyword.analysis.token_filters import (
    ASCII_WORDS,
    STEMMERS,
    has_bigrams,
    stemmer_language,
)
from pecia.kernel.corpus.keyword.query.parser import Query

DEFAULT_LANGUAGE = "en"

# Longer than any word, and long enough for a hash.
_MAX_TERM_CHARS = 100
_MAX_STEMS = 50_000
# How many letters at most a word of English shares with its stem for certain, and how many at the
# end of a stem may be others: `dying` is `die`.
_SHARED_CHARS = 5
_CHANGED_CHARS = 2


class StemmedToken(NamedTuple):
    """A stem and where its word stands."""

    text: str
    char_offset_from: int
    char_offset_to: int


class StemmingAnalyzer:
    """Words in lower case, without their endings, without accents."""

    def __init__(self, language: str) -> None:
        self.engine = _stemming_engine(language)
        self.stems = _Stems(self)
        # Stemmers of others change beginnings too: `gekomen` is `koom` in Dutch.
        self.keeps_beginnings = language == DEFAULT_LANGUAGE
        self._is_dotless = language == "tr"
        self._is_hebrew = language == "he"

    def analyze(self, text: str) -> list[str]:
        found = self.look_up(text)
        return self.analyze_by_engine(text) if found is None else found

    def look_up(self, text: str) -> list[str] | None:
        """The same without asking the engine; None for text without spaces."""
        spaced = self.blank_signs(text)
        if spaced is None:
            return None
        return [*filter(None, map(self.stems.__getitem__, spaced.split()))]

    def analyze_by_engine(self, text: str) -> list[str]:
        found = self.engine.analyze(self._lower(text))
        return [*map(stem_hebrew, found)] if self._is_hebrew else found

    def find(self, text: str) -> Iterator[StemmedToken]:
        """The same, by the engine, with the place of each."""
        for it in self.engine.pre_tokenize(self._lower(text)).tokens:
            stem = stem_hebrew(it.text) if self._is_hebrew else it.text
            yield StemmedToken(stem, it.char_offset_from, it.char_offset_to)

    def blank_signs(self, text: str) -> str | None:
        """The text with its words each where it stands, those in Latin-1 in lower case, and spaces
        for all else. None for text without spaces, where the engine alone knows what a word is: it
        takes five times as long.
        """
        # The small letter of I in Turkish has no dot, and is not in Latin-1.
        if not (self._is_dotless and "I" in text):
            if text.isascii():
                return text.translate(ASCII_WORDS)
            if (plain := _encode_latin(text) or _encode_latin(_SIGNS.sub(" ", text))) is not None:
                return plain.translate(_LATIN).decode("latin-1")
        return None if has_bigrams(text) else text.translate(_WORD_SIGNS)

    def _lower(self, text: str) -> str:
        return text.replace("I", "ı") if self._is_dotless else text


@lru_cache(len(STEMMERS))
def stemming_analyzer(language: str) -> StemmingAnalyzer:
    return StemmingAnalyzer(language)


@lru_cache(1)
def folding_analyzer() -> tantivy.TextAnalyzer:
    """Words in lower case, without accents."""
    return _base_analyzer().filter(tantivy.Filter.ascii_fold()).build()


class _Stems(dict[str, str]):
    """The stem of each word, asked of the engine once; empty for a word that it leaves out."""

    def __init__(self, analyzer: StemmingAnalyzer) -> None:
        super().__init__()
        self._analyzer = analyzer

    def __missing__(self, word: str) -> str:
        if len(self) >= _MAX_STEMS:
            self.clear()
        self[word] = stem = "".join(self._analyzer.analyze_by_engine(word))
        return stem


class _WordSigns(dict[int, int]):
    """Which characters are parts of words, as the engine has it, asked once each: it goes by tables
    of Unicode that Python lacks. The others are spaces.
    """

    def __missing__(self, code: int) -> int:
        is_surrogate = 0xD800 <= code <= 0xDFFF
        made = [] if is_surrogate else folding_analyzer().analyze(f"x{chr(code)}y")
        self[code] = kept = code if len(made) == 1 else ord(" ")
        return kept


def _stemming_engine(language: str) -> tantivy.TextAnalyzer:
    made = _base_analyzer()
    if language == DEFAULT_LANGUAGE:
        # Texts of every language without a stemmer too: what is typed without accents has the same
        # stem. Other stemmers know the accents of their language.
        made = made.filter(tantivy.Filter.ascii_fold())
    if stemmer := STEMMERS[language]:
        made = made.filter(tantivy.Filter.stemmer(stemmer))
    return made.filter(tantivy.Filter.ascii_fold()).build()


def _base_analyzer() -> tantivy.TextAnalyzerBuilder:
    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(_MAX_TERM_CHARS))
        .filter(tantivy.Filter.lowercase())
    )


class TermToken(NamedTuple):
    """A term and the slice of the text that it stands for."""

    term: str
    start: int
    end: int


def find_terms(text: str, asked: Collection[str], language: str = "") -> list[TermToken]:
    """Where these terms stand in a chunk, in order. What has no spaces goes in grams."""
    wanted = frozenset(asked)
    if text.isascii():
        return _find_terms(text, wanted, language)
    cleaned, offsets = clean_with_offsets(text)
    found = _find_terms(cleaned, wanted, language)
    if offsets is None:
        return found
    return [
        TermToken(term, offsets[start], end_in_text(offsets, end)) for term, start, end in found
    ]


def find_places(text: str, asked: Collection[str], language: str = "") -> dict[str, list[int]]:
    """The place of each of these terms among the words of a text. Grams come after all words."""
    wanted = frozenset(asked)
    text = text if text.isascii() else clean_text(text)
    analyzer = _analyzer(language)
    places: dict[str, list[int]] = {}
    if (spaced := analyzer.blank_signs(text)) is not None:
        at = words = 0
        for term, start, _ in _find_words(analyzer, spaced, wanted):
            words += len(spaced[at:start].split())
            at = start
            places.setdefault(term, []).append(words)
        return places
    body = tokenize(text, language)
    # Most terms are not wanted: this passes them without a loop.
    for at in compress(count(), map(wanted.__contains__, body)):
        places.setdefault(body[at], []).append(at)
    return places


def _find_terms(text: str, wanted: frozenset[str], language: str) -> list[TermToken]:
    analyzer = _analyzer(language)
    if (spaced := analyzer.blank_signs(text)) is not None:
        return _find_words(analyzer, spaced, wanted)
    if has_unspaced(text):
        grams = [it for it in _unspaced_grams(text) if it.term in wanted]
        return sorted(grams + _find_terms(blank_unspaced(text), wanted, language), key=_by_start)
    return [
        part
        for it in analyzer.find(_characters(text))
        for part in _tokens(it.text, it.char_offset_from, it.char_offset_to)
        if part.term in wanted
    ]


def tokenize(text: str, language: str = "") -> list[str]:
    """The terms of a text, in order. What has no spaces goes in grams, after all others."""
    text = text if text.isascii() else clean_text(text)
    analyzer = _analyzer(language)
    if (terms := analyzer.look_up(text)) is not None:
        return terms
    if has_unspaced(text):
        grams = [it.term for it in _unspaced_grams(text)]
        return tokenize(blank_unspaced(text), language) + grams
    found = analyzer.analyze_by_engine(_characters(text))
    return [term for whole in found for term in _terms(whole)]


@lru_cache(256)
def tokenize_query(query: Query, language: str = "") -> tuple[str, ...]:
    """The terms of a query, in order, once each."""
    text = " ".join((*query.words, *query.phrases, *query.titles))
    return tuple(dict.fromkeys(tokenize(text, language)))


class AskedTerms(NamedTuple):
    """Terms of a query in its order. `aliases` are other terms that mean one of them."""

    terms: tuple[str, ...]
    aliases: Mapping[str, str] = MappingProxyType({})


@lru_cache(256)
def interpret_query(query: Query, language: str = "") -> tuple[AskedTerms, ...]:
    """What a query may ask of a text in that language: its own terms; and, of an English text, the
    translations of its words.
    """
    plain = AskedTerms(tokenize_query(query, language))
    if not query.translated or _analyzer_language(language) != "en":
        return (plain,)
    terms = [[it.word] if it.terms else tokenize(it.word, language) for it in query.translated]
    likely = sorted((share, term, it.word) for it in query.translated for term, share in it.terms)
    aliases = {term: word for _, term, word in likely}
    return plain, AskedTerms(tuple(dict.fromkeys(chain.from_iterable(terms))), aliases)


def find_translated(query: Query, text: str, language: str = "") -> dict[str, list[str]]:
    """The words of a query whose translations an English text has, and which of them."""
    if not query.translated or _analyzer_language(language) != "en":
        return {}
    held = frozenset(tokenize(text, language))
    found = {it.word: [term for term, _ in it.terms if term in held] for it in query.translated}
    return {word: terms for word, terms in found.items() if terms}


def _find_words(analyzer: StemmingAnalyzer, spaced: str, wanted: frozenset[str]) -> list[TermToken]:
    """The wanted words of a text that has nothing but spaces between its words, in order."""
    folded = _fold_latin(spaced) if analyzer.keeps_beginnings else None
    if folded is not None:
        return _find_begun(analyzer, spaced, folded, wanted)
    words = spaced.split()
    stems = [*map(analyzer.stems.__getitem__, words)]
    # A loop over all of them takes twice as long, and most are not wanted.
    asked = dict(compress(zip(words, stems, strict=True), map(wanted.__contains__, stems)))
    text = f" {spaced} "
    tokens = [
        TermToken(stem, at, at + len(word))
        for word, stem in asked.items()
        for at in _whole(text, f" {word} ")
    ]
    return sorted(tokens, key=_by_start)


@lru_cache(64)
def _beginnings(stems: frozenset[str]) -> tuple[str, ...]:
    """How every word of English begins that has one of these stems, after a space."""
    kept = {it: max(1, min(_SHARED_CHARS, len(it) - _CHANGED_CHARS)) for it in stems if it}
    cut = {f" {it[:end]}" for it, end in kept.items()}
    return tuple(it for it in sorted(cut) if not any(it[:end] in cut for end in range(2, len(it))))


def _find_begun(
    analyzer: StemmingAnalyzer, spaced: str, folded: str, wanted: frozenset[str]
) -> list[TermToken]:
    """The same by the beginnings of the words, in a text whose stemmer keeps them: quicker than to
    look up every word, and none is stemmed that cannot have been asked for.
    """
    text, folded = f" {spaced} ", f" {folded} "
    tokens: list[TermToken] = []
    for beginning in _beginnings(wanted):
        at = folded.find(beginning)
        while at >= 0:
            end = folded.find(" ", at + 1)
            if (stem := analyzer.stems[text[at + 1 : end]]) in wanted:
                tokens.append(TermToken(stem, at, end - 1))
            at = folded.find(beginning, end)
    return sorted(tokens, key=_by_start)


def _whole(words: str, word: str) -> list[int]:
    """Where the word stands by itself."""
    found: list[int] = []
    at = words.find(word)
    while at >= 0:
        found.append(at)
        # The space after one may be the one before the next.
        at = words.find(word, at + len(word) - 1)
    return found


def _tokens(term: str, start: int, end: int) -> Iterator[TermToken]:
    # Folding may have changed the length of other words, never that of these.
    if len(term) != end - start or not has_bigrams(term):
        yield TermToken(term, start, end)
        return
    for at, pair in enumerate(_terms(term)):
        yield TermToken(pair, start + at, min(end, start + at + 2))


def _terms(term: str) -> list[str]:
    """The pairs of a word of Chinese, Japanese or Korean; any other as it is."""
    if not has_bigrams(term):
        return [term]
    return [term[at : at + 2] for at in range(max(1, len(term) - 1))]


def _unspaced_grams(text: str) -> Iterator[TermToken]:
    for start, run in find_unspaced(text):
        for at, gram in enumerate(cut_grams(run)):
            yield TermToken(gram, start + at, start + at + len(gram))


def _characters(text: str) -> str:
    """One sign for one, so that places stay: the engine takes no lone surrogate."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _analyzer(language: str) -> StemmingAnalyzer:
    return stemming_analyzer(_analyzer_language(language))


def _analyzer_language(language: str) -> str:
    return stemmer_language(language) or DEFAULT_LANGUAGE


# What the engine takes for words among the signs of Latin-1, and others that are never part of one:
# dashes, quotes, bullets, arrows, lines and boxes.
_LATIN = bytes(ord(it.lower() if it.isalnum() else " ") for it in map(chr, range(256)))
_SIGNS = re.compile("[\u2000-\u206f\u2190-\u245f\u2500-\u2775\u2794-\u2bff]")
_WORD_SIGNS = _WordSigns()


def _encode_latin(text: str) -> bytes | None:
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return None


def _fold_latin(spaced: str) -> str | None:
    """The words in lower case without their accents, each where it stands; None where a letter
    becomes two, or is not in Latin-1."""
    if spaced.isascii():
        return spaced.lower()
    plain = _encode_latin(spaced)
    folded = plain and plain.translate(_folded_latin()).decode("latin-1")
    return folded if folded and _WIDE not in folded else None


@lru_cache(1)
def _folded_latin() -> bytes:
    """Each character of Latin-1 in lower case as the engine folds it."""
    made = ("".join(folding_analyzer().analyze(it)) or it for it in _LATIN.decode("latin-1"))
    return "".join(it if len(it) == 1 else _WIDE for it in made).encode("latin-1")


# Stands for a letter that becomes two when it is folded.
_WIDE = "\0"
_by_start = itemgetter(1)
