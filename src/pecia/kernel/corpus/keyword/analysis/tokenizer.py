"""Texts and queries as the terms that the keyword index knows. Pure."""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from itertools import chain, compress
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

from pecia.kernel.corpus.keyword.analysis.analyzer import (
    DEFAULT_LANGUAGE,
    has_dotless_i,
    stemming_analyzer,
)
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
    STEMMERS,
    cjk_query_bigrams,
    has_bigrams,
    stemmer_language,
)
from pecia.kernel.corpus.keyword.query.parser import Query


class TermToken(NamedTuple):
    """A term and the slice of the text that it stands for."""

    term: str
    start: int
    end: int


def find_terms(text: str, asked: Collection[str], language: str = "") -> list[TermToken]:
    """Where these terms stand in a text, in order. What has no spaces goes in grams."""
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


def _find_terms(text: str, wanted: frozenset[str], language: str) -> list[TermToken]:
    if (words := _blank_signs(text, language)) is not None:
        return _find_words(words, wanted, language)
    if has_unspaced(text):
        grams = [it for it in _unspaced_grams(text) if it.term in wanted]
        return sorted(grams + _find_terms(blank_unspaced(text), wanted, language), key=_by_start)
    return [
        part
        for it in stemming_analyzer(_analyzer_language(language)).find(_characters(text))
        for part in _tokens(it.text, it.char_offset_from, it.char_offset_to)
        if part.term in wanted
    ]


def tokenize(text: str, language: str = "") -> list[str]:
    """The terms of a text, in order. What has no spaces goes in grams, after all others."""
    text = text if text.isascii() else clean_text(text)
    if (words := _blank_signs(text, language)) is not None:
        return [*filter(None, map(_stems(_analyzer_language(language)).__getitem__, words.split()))]
    if has_unspaced(text):
        grams = [it.term for it in _unspaced_grams(text)]
        return tokenize(blank_unspaced(text), language) + grams
    found = stemming_analyzer(_analyzer_language(language)).analyze(_characters(text))
    return [it.term for whole in found for it in _tokens(whole, 0, len(whole))]


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


def _blank_signs(text: str, language: str) -> str | None:
    """The text with its words each where it stands, those in Latin-1 in lower case, and spaces for
    all else. None for text without spaces, where the engine alone knows what a word is: it takes
    five times as long.
    """
    # A capital I of Turkish has no small letter in Latin-1.
    if not (language and "I" in text and has_dotless_i(_analyzer_language(language))):
        if text.isascii():
            return text.translate(_ASCII)
        try:
            plain = _SIGNS.sub(" ", text).encode("latin-1")
        except UnicodeEncodeError:
            pass
        else:
            return plain.translate(_LATIN).decode("latin-1")
    return None if has_bigrams(text) else text.translate(_WORD_SIGNS)


def _find_words(words: str, wanted: frozenset[str], language: str) -> list[TermToken]:
    stems = _stems(_analyzer_language(language))
    forms = {*words.split()}
    # A loop over all of them takes twice as long, and most are not wanted.
    asked = compress(forms, map(wanted.__contains__, map(stems.__getitem__, forms)))
    spaced = f" {words} "
    found = [
        TermToken(stems[form], at, at + len(form))
        for form in asked
        for at in _whole(spaced, f" {form} ")
    ]
    return sorted(found, key=_by_start)


def _whole(words: str, word: str) -> list[int]:
    """Where the word stands by itself."""
    found: list[int] = []
    at = words.find(word)
    while at >= 0:
        found.append(at)
        # The space after one may be the one before the next.
        at = words.find(word, at + len(word) - 1)
    return found


class _WordSigns(dict[int, int]):
    """Which characters are parts of words, as the engine has it, asked once each: it goes by tables
    of Unicode that Python lacks. The others are spaces.
    """

    def __missing__(self, code: int) -> int:
        is_surrogate = 0xD800 <= code <= 0xDFFF
        made = [] if is_surrogate else stemming_analyzer("en").analyze(f"x{chr(code)}y")
        self[code] = kept = code if len(made) == 1 else ord(" ")
        return kept


class _Stems(dict[str, str]):
    """Words as the engine stems them, each asked of it once; empty for one it leaves out.

    Texts repeat their words: to look one up takes a tenth of the time that stemming it does.
    """

    def __init__(self, language: str) -> None:
        super().__init__()
        self._analyser = stemming_analyzer(language)

    def __missing__(self, word: str) -> str:
        if len(self) >= _MAX_STEMS:
            self.clear()
        self[word] = stem = "".join(self._analyser.analyze(word))
        return stem


@lru_cache(len(STEMMERS))
def _stems(language: str) -> _Stems:
    return _Stems(language)


def _tokens(term: str, start: int, end: int) -> Iterator[TermToken]:
    # Folding may have changed the length of other words, never that of these.
    if term.isascii() or len(term) != end - start or not cjk_query_bigrams(term):
        yield TermToken(term, start, end)
        return
    for at in range(max(1, len(term) - 1)):
        yield TermToken(term[at : at + 2], start + at, min(end, start + at + 2))


def _unspaced_grams(text: str) -> Iterator[TermToken]:
    for start, run in find_unspaced(text):
        for at, gram in enumerate(cut_grams(run)):
            yield TermToken(gram, start + at, start + at + len(gram))


def _characters(text: str) -> str:
    """One sign for one, so that places stay: the engine takes no lone surrogate."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _analyzer_language(language: str) -> str:
    return stemmer_language(language) or DEFAULT_LANGUAGE


# What the engine takes for words among the signs of Latin-1, and others that are never part of one:
# dashes, quotes, bullets, arrows, lines and boxes.
_LATIN = bytes(ord(it.lower() if it.isalnum() else " ") for it in map(chr, range(256)))
_ASCII = _LATIN[:128].decode("ascii")
_WORD_SIGNS = _WordSigns()
_SIGNS = re.compile("[\u2000-\u206f\u2190-\u245f\u2500-\u2775\u2794-\u2bff]")
_MAX_STEMS = 50_000
_by_start = itemgetter(1)
