"""Files that a question names, so that their best pages are looked for inside them. Pure.

A word that a file is called by tells which file is meant and nothing about its pages: there it is
left out of the question.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pecia.kernel.corpus.keyword.query.parser import Query
from pecia.kernel.corpus.search.name_match import extract_names, extract_proper_words, match_name

# Files to look into, hits to take of each, and chunks that make a file worth looking into.
MAX_FILES = 5
HITS_PER_FILE = 20
LONG_FILE_CHUNKS = 20
# How much the best file's name counts beside the words on its pages, which count 1 at most.
FILE_WEIGHT = 1.5
# How much the best chunk of a file, found by words, counts beside its name.
BEST_CHUNK_WEIGHT = 0.5
# A name that tells less than this is no name; one that tells less than the second is a weak one.
MIN_NAME_SCORE = 0.5
CLEAR_NAME_SCORE = 2.0
# Files nearly as good as the best: so many of them keep a place among the first hits.
CLOSE_RATIO = 0.8
MAX_CLOSE_FILES = 4


@dataclass(frozen=True, slots=True)
class FileCandidate:
    """A file that the caller may see. `best` is the score of its best chunk by words."""

    id: int
    key: str
    title: str
    chunks: int
    best: float


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """What a question means by the files it names, best first.

    `files` are how far each is meant, from 0 to FILE_WEIGHT. `close` are those that the question
    could mean as well as the best. `query` is what is left to ask of their pages.
    """

    files: Mapping[int, float]
    close: tuple[int, ...]
    query: Query


def detect_named_files(
    question: str, query: Query, candidates: Sequence[FileCandidate]
) -> NamedFiles | None:
    """The files that a question names; None when it names none that is worth looking into."""
    if not any(it.chunks >= LONG_FILE_CHUNKS for it in candidates):
        return None
    asked, proper = extract_names(question), extract_proper_words(question)
    told = {it.id: match_name(asked, proper, it.key, it.title) for it in candidates}
    by_name = _name_scores(told)
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
    called = {word for it in close for word in told[it]}
    rest = _without_names(query, called)
    if rest is None:
        return None
    scale = FILE_WEIGHT * min(1.0, clearest / CLEAR_NAME_SCORE) / top
    return NamedFiles({it: scale * worth[it] for it in order}, close, rest)


def _name_scores(told: Mapping[int, Mapping[str, float]]) -> dict[int, float]:
    """How much each file's name tells: what many of the candidates are called tells little."""
    held = Counter(word for words in told.values() for word in words)
    rare = {
        word: math.log(1 + (len(told) - count + 0.5) / (count + 0.5))
        for word, count in held.items()
    }
    return {
        id_: sum(sure * rare[word] for word, sure in words.items()) for id_, words in told.items()
    }


def _without_names(query: Query, called: set[str]) -> Query | None:
    """The query without words that are names.

    None when nothing is left: it asks for what is called so, and for no page of it.
    """
    words = tuple(it for it in query.words if it not in called)
    return replace(query, words=words, parts=()) if words or query.phrases else None
