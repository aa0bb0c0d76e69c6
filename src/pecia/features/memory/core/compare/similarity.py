"""Lexical similarity of two texts, with or without a vector similarity. Pure."""

import re
from functools import lru_cache

from pecia.kernel.corpus.keyword.analysis.token_filters import (
    cjk_query_bigrams,
    has_no_cjk,
    remove_stop_words,
    split_words,
)

MIN_TERMS = 4

_WORD = re.compile(r"[a-z0-9]+")
_ENDINGS = ("", "ing", "ed", "es", "s", "e")
_ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|s|e)$")


# New texts are compared with many, one after the other.
@lru_cache(64)
def extract_terms(text: str) -> frozenset[str]:
    """Stemmed terms without stop words; bigrams in scripts without spaces."""
    words = (_stem(it) for it in remove_stop_words(text) if has_no_cjk(it))
    return frozenset(words) | frozenset(cjk_query_bigrams(text))


def _stem(word: str) -> str:
    return _ENDING.sub("", word)


def _forms(term: str) -> list[str]:
    """The words whose stem is this term."""
    if not has_no_cjk(term):
        return [term]
    return [it for it in (term + ending for ending in _ENDINGS) if _stem(it) == term]


# The same texts are candidates of many queries.
@lru_cache(256)
def _words_of(text: str) -> frozenset[str]:
    """The words of a text in lower case, not stemmed; bigrams in scripts without spaces."""
    if text.isascii():
        return frozenset(_WORD.findall(text.lower()))
    return frozenset((*split_words(text), *cjk_query_bigrams(text)))


class TermQuery:
    """A query, to be compared with many texts. Those are not stemmed: every word that has a stem of
    the query is known beforehand."""

    def __init__(self, query: str) -> None:
        self._terms = extract_terms(query)
        self._term_of = {form: it for it in self._terms for form in _forms(it)}
        self._words = frozenset(it.lower() for it in split_words(query))
        self._trust = 0.5 + 0.5 * min(1.0, len(self._terms) / MIN_TERMS)

    @property
    def words(self) -> frozenset[str]:
        """The words of the query, as they are written."""
        return self._words

    def coverage(self, text: str) -> float:
        """The fraction of the query's terms that a text contains, from 0 to 1."""
        if not self._terms:
            return 0.0
        held = {self._term_of[it] for it in _words_of(text) & self._term_of.keys()}
        return len(held) / len(self._terms)

    def similarity(self, text: str, cosine: float | None) -> float:
        """The greater of cosine and lexical score.

        Half of the terms score a quarter, and short queries score less: one matching term says
        little. Rounded, so that the displayed and the compared number are the same.
        """
        by_words = self._trust * self.coverage(text) ** 2
        return round(min(1.0, max(0.0, cosine or 0.0, by_words)), 6)


def term_coverage(query: str, text: str) -> float:
    return TermQuery(query).coverage(text)


def term_overlap(one: str, other: str) -> float:
    """The fraction of the terms that both texts contain, from 0 to 1."""
    a, b = extract_terms(one), extract_terms(other)
    return len(a & b) / len(a | b) if a | b else 0.0
