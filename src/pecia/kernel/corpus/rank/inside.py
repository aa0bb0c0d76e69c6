"""Files that a question names, so that their best pages are looked for inside them. Pure.

A word that a file is called by tells which file is meant and nothing about its pages: there it is
left out of the question.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pecia.kernel.corpus.index.query import Query
from pecia.kernel.corpus.rank.names import asked_names, matched, proper_words

# Files to look into, hits to take of each, and chunks that make a file worth looking into.
MOST_FILES = 5
HITS_A_FILE = 20
LONG_FILE = 20
# How much the best file's name counts beside the words on its pages, which count 1 at most.
FILE_WEIGHT = 1.5
# How much the best chunk of a file, found by words, counts beside its name.
CHUNK_SHARE = 0.5
# A name that tells less than this is no name; one that tells less than the second is a weak one.
LEAST_TOLD = 0.5
CLEARLY_TOLD = 2.0
# Files nearly as good as the best: so many of them keep a place among the first hits.
CLOSE = 0.8
MOST_CLOSE = 4


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that the caller may see. `best` is the score of its best chunk by words."""

    id: int
    key: str
    title: str
    chunks: int
    best: float


@dataclass(frozen=True, slots=True)
class Named:
    """What a question means by the files it names, best first.

    `files` are how far each is meant, from 0 to FILE_WEIGHT. `close` are those that the question
    could mean as well as the best. `query` is what is left to ask of their pages.
    """

    files: Mapping[int, float]
    close: tuple[int, ...]
    query: Query


def named_files(question: str, query: Query, candidates: Sequence[Candidate]) -> Named | None:
    """The files that a question names; None when it names none that is worth looking into."""
    if not any(it.chunks >= LONG_FILE for it in candidates):
        return None
    asked, proper = asked_names(question), proper_words(question)
    told = {it.id: matched(asked, proper, it.key, it.title) for it in candidates}
    by_name = _told(told)
    clearest = max(by_name.values(), default=0.0)
    if clearest < LEAST_TOLD:
        return None
    best = max(it.best for it in candidates) or 1.0
    worth = {
        it.id: by_name[it.id] / max(clearest, CLEARLY_TOLD) + CHUNK_SHARE * it.best / best
        for it in candidates
    }
    order = sorted(worth, key=lambda it: (-worth[it], it))[:MOST_FILES]
    top = worth[order[0]]
    close = tuple(it for it in order if worth[it] >= CLOSE * top)[:MOST_CLOSE]
    if not any(it.chunks >= LONG_FILE for it in candidates if it.id in close):
        return None
    called = {word for it in close for word in told[it]}
    rest = _without(query, called)
    if rest is None:
        return None
    scale = FILE_WEIGHT * min(1.0, clearest / CLEARLY_TOLD) / top
    return Named({it: scale * worth[it] for it in order}, close, rest)


def _told(told: Mapping[int, Mapping[str, float]]) -> dict[int, float]:
    """How much each file's name tells: what many of the candidates are called tells little."""
    held = Counter(word for words in told.values() for word in words)
    rare = {
        word: math.log(1 + (len(told) - count + 0.5) / (count + 0.5))
        for word, count in held.items()
    }
    return {
        id_: sum(sure * rare[word] for word, sure in words.items()) for id_, words in told.items()
    }


def _without(query: Query, called: set[str]) -> Query | None:
    """The query without words that are names.

    None when nothing is left: it asks for what is called so, and for no page of it.
    """
    words = tuple(it for it in query.words if it not in called)
    return replace(query, words=words, parts=()) if words or query.phrases else None
