"""Texts and queries as the terms that the keyword index knows. Pure."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache

from pecia.kernel.corpus.index.analyse import DEFAULT_LANGUAGE, stemming
from pecia.kernel.corpus.index.query import Query
from pecia.kernel.corpus.index.words import STEMMERS, cjk_wanted


@dataclass(frozen=True, slots=True)
class Token:
    """A term and the slice of the text that it stands for."""

    term: str
    start: int
    end: int


def places(text: str, asked: Collection[str], language: str = "") -> list[Token]:
    """Where these terms stand in a text, in order. Signs without spaces go in pairs."""
    wanted = frozenset(asked)
    split = _has_pairs(text)
    found: list[Token] = []
    for it in stemming(_known(language)).pre_tokenize(_characters(text)).tokens:
        term = it.text
        if split:
            parts = _tokens(term, it.char_offset_from, it.char_offset_to)
            found += (part for part in parts if part.term in wanted)
        elif term in wanted:
            found.append(Token(term, it.char_offset_from, it.char_offset_to))
    return found


def terms(text: str, language: str = "") -> list[str]:
    """The terms of a text, in order. Signs without spaces go in pairs."""
    found = stemming(_known(language)).analyze(_characters(text))
    if not _has_pairs(text):
        return found
    return [it.term for whole in found for it in _tokens(whole, 0, len(whole))]


@lru_cache(256)
def wanted(query: Query, language: str = "") -> tuple[str, ...]:
    """The terms a query asks for, in its order, once each."""
    text = " ".join((*query.words, *query.phrases, *query.titles))
    return tuple(dict.fromkeys(terms(text, language)))


def _has_pairs(text: str) -> bool:
    """Asked of the whole text at once, because few have any and asking each word takes long."""
    return not text.isascii() and bool(cjk_wanted(text))


def _tokens(term: str, start: int, end: int) -> Iterator[Token]:
    # Folding may have changed the length of other words, never that of these.
    if term.isascii() or len(term) != end - start or not cjk_wanted(term):
        yield Token(term, start, end)
        return
    for at in range(max(1, len(term) - 1)):
        yield Token(term[at : at + 2], start + at, min(end, start + at + 2))


def _characters(text: str) -> str:
    """One sign for one, so that places stay: the engine takes no lone surrogate."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _known(language: str) -> str:
    return language if language in STEMMERS else DEFAULT_LANGUAGE
