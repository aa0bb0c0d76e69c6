"""Detects files that a query names, to search inside them. Pure.

A word of a file's name says which file is meant and nothing about its pages: inside the file it is
left out of the query.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pecia.kernel.corpus.keyword.query.parser import Query
from pecia.kernel.corpus.search.name_match import extract_names, extract_proper_words, match_name

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
