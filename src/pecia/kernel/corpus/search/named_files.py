"""Detects files that a query names, to search inside them. Pure: it reads keys and titles.

A word of a file's name says which file is meant and nothing about its pages: inside the file it is
left out of the query.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from pecia.kernel.corpus.keyword.analysis.token_filters import (
    extract_proper_words,
    find_name_parts,
    remove_stop_words,
    split_file_name,
)
from pecia.kernel.corpus.keyword.query.parser import Query

# Files to search inside, hits to take of each, and the chunks that make a file worth it.
MAX_FILES = 5
HITS_PER_FILE = 20
LONG_FILE_CHUNKS = 20
# How much the best file's name counts beside the words on its pages, which count 1 at most.
FILE_WEIGHT = 1.5
# How much the best lexical hit of a file counts beside its name.
BEST_CHUNK_WEIGHT = 0.5
# A score below the first is no match; one below the second is a weak match.
MIN_NAME_SCORE = 0.5
CLEAR_NAME_SCORE = 2.0
# Files nearly as good as the best: this many keep a hit among the first.
CLOSE_RATIO = 0.8
MAX_CLOSE_FILES = 4
# Chunks of close files that are nearest in meaning, and how many chunks are compared for them.
MAX_NEAREST_INSIDE = 12
MAX_COMPARED_CHUNKS = 20_000
# A word that a name only begins with, as `blue` does `blueharbor`, says less than the whole.
_PREFIX_MATCH_SCORE = 0.7
_MIN_PREFIX_CHARS = 3
_MAX_JOINED_CHARS = 40
_MIN_NAME_CHARS = 2

_WORD = re.compile(r"[^\W_]+")
_IDENTIFIER = re.compile(r"\w+")
_YEAR = re.compile(r"(?:1[5-9]|2[01])\d\d")
_SHORT_YEAR = re.compile(r"(?:fy|cy)(\d\d)")
_DATED = re.compile(rf"(?:fy|cy)?(?:{_YEAR.pattern})|{_SHORT_YEAR.pattern}")
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,5}$")


@dataclass(frozen=True, slots=True)
class FileCandidate:
    """A file that the caller may see. `best` is its best lexical score."""

    id: int
    key: str
    title: str
    chunks: int
    best: float


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """The files that a query names, best first.

    `files` are their scores, from 0 to FILE_WEIGHT. `close` are nearly as good as the best. `query`
    is what is left to search inside them.
    """

    files: Mapping[int, float]
    close: tuple[int, ...]
    query: Query


def detect_named_files(
    question: str, query: Query, candidates: Sequence[FileCandidate]
) -> NamedFiles | None:
    """The files that a query names; None if none is worth searching inside."""
    if not any(it.chunks >= LONG_FILE_CHUNKS for it in candidates):
        return None
    names, proper = extract_names(question), extract_proper_words(question)
    matches = {it.id: match_name(names, proper, it.key, it.title) for it in candidates}
    by_name = _name_scores(matches)
    clearest = max(by_name.values(), default=0.0)
    if clearest < MIN_NAME_SCORE:
        return None
    best = max(it.best for it in candidates) or 1.0
    worth = {
        it.id: by_name[it.id] / max(clearest, CLEAR_NAME_SCORE) + BEST_CHUNK_WEIGHT * it.best / best
        for it in candidates
    }
    order = sorted(worth, key=lambda it: (-worth[it], it))[:MAX_FILES]
    top = worth[order[0]]
    close = tuple(it for it in order if worth[it] >= CLOSE_RATIO * top)[:MAX_CLOSE_FILES]
    if not any(it.chunks >= LONG_FILE_CHUNKS for it in candidates if it.id in close):
        return None
    name_words = {word for it in close for word in matches[it]}
    rest = _without_names(query, name_words)
    if rest is None:
        return None
    scale = FILE_WEIGHT * min(1.0, clearest / CLEAR_NAME_SCORE) / top
    return NamedFiles({it: scale * worth[it] for it in order}, close, rest)


def extract_names(question: str) -> dict[str, tuple[str, ...]]:
    """What in a question may be a name, each with the words of the question that it is made of.

    Names are often written together, so neighbours count as one word too, but not a part of what is
    written as one: `hot_standby_feedback` is no `hot standby`. A text does not speak of what comes
    after it: of several years the last is the one that names a file.
    """
    read = (tuple(_WORD.findall(it.lower())) for it in _IDENTIFIER.findall(question))
    wholes = [it for it in read if it]
    words = [word for whole in wholes for word in whole]
    names: dict[str, tuple[str, ...]] = {it: (it,) for it in remove_stop_words(question)}
    # `2018` of `FY2018` names a file; `scale` of `ScaleReader` is a part of another name.
    names |= {it.text: (it.whole,) for it in find_name_parts(question) if it.text.isdigit()}
    for size in (1, 2, 3):
        for at in range(len(wholes) - size + 1):
            some = tuple(word for whole in wholes[at : at + size] for word in whole)
            if len(some) > 1 and sum(map(len, some)) <= _MAX_JOINED_CHARS:
                names.setdefault("".join(some), some)
    for word in words:
        if short := _SHORT_YEAR.fullmatch(word):
            names[f"20{short[1]}"] = (word,)
    last = max((it for it in names if _YEAR.fullmatch(it)), default="")
    return {
        name: made_of
        for name, made_of in names.items()
        if len(name) >= _MIN_NAME_CHARS and (name == last or not _YEAR.fullmatch(name))
    }


@lru_cache(4096)
def name_terms(text: str) -> frozenset[str]:
    """The words of a path, without its suffix, or of a title.

    `2023Q2` is found by `2023`, `q2` and as it stands.
    """
    words = split_file_name(_SUFFIX.sub("", text))
    return frozenset(it for it in words if len(it) >= _MIN_NAME_CHARS)


@lru_cache(4096)
def joined_name_terms(path: str) -> frozenset[str]:
    """Neighbouring words of a path, written together as a question's neighbours are."""
    words = [it.lower() for it in _WORD.findall(_SUFFIX.sub("", path))]
    triples = zip(words, words[1:], words[2:], strict=False)
    return frozenset("".join(it) for it in (*pairwise(words), *triples))


def match_name(
    asked: Mapping[str, Sequence[str]], proper: frozenset[str], key: str, title: str = ""
) -> dict[str, float]:
    """Which words of the question this file is called by, and how surely, from 0 to 1.

    What is written like a name is one, in a path and in a title. A plain word is one only beside
    its neighbour in the path, as `fleet manual` is in `fleet/manual.pdf`: alone it is a word of the
    question, and `hot-standby.html` is not meant by how hot it was.
    """
    names, joined, titled = name_terms(key), joined_name_terms(key), name_terms(title)
    found = {
        word: 1.0
        for name, words in asked.items()
        if (name in names and (len(words) > 1 or proper.issuperset(words)))
        or name in joined
        or (name in titled and proper.issuperset(words))
        for word in words
    }
    for word in proper.difference(found):
        if len(word) >= _MIN_PREFIX_CHARS and any(
            it.startswith(word) and it.isalpha() for it in names
        ):
            found[word] = _PREFIX_MATCH_SCORE
    return {} if _tells_only_a_year(found, names) else found


def _tells_only_a_year(found: Mapping[str, float], names: frozenset[str]) -> bool:
    """Whether only the year is in the name, which says more: a year tells the editions of a file
    apart, and other files have it too.
    """
    return all(map(_DATED.fullmatch, found)) and not all(map(_DATED.fullmatch, names))


def _name_scores(matches: Mapping[int, Mapping[str, float]]) -> dict[int, float]:
    """A score per file, IDF-weighted: a word in many candidates' names counts little."""
    counts = Counter(word for words in matches.values() for word in words)
    idf = {
        word: math.log(1 + (len(matches) - count + 0.5) / (count + 0.5))
        for word, count in counts.items()
    }
    return {
        id_: sum(confidence * idf[word] for word, confidence in words.items())
        for id_, words in matches.items()
    }


def _without_names(query: Query, name_words: set[str]) -> Query | None:
    """The query without words that are names; None if nothing is left."""
    words = tuple(it for it in query.words if it not in name_words)
    return replace(query, words=words, parts=()) if words or query.phrases else None
