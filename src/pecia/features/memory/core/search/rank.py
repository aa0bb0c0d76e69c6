"""Ranks memories for a query: words and meaning as everywhere in Pecia, then what only memories
have: the conversation around a text, the time it was said, and newer versions of it. Pure.

Weights were chosen on two conversations of LoCoMo; bench/memory.py measures the others.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from math import log

from pecia.features.memory.core.compare.similarity import TermQuery
from pecia.features.memory.core.search.conversation import conversation_of
from pecia.features.memory.core.search.time_words import TimeRange, read_dates
from pecia.features.memory.core.search.version import VersionQuery
from pecia.features.memory.model import Memory
from pecia.kernel.corpus.keyword.analysis.tokenizer import tokenize, tokenize_query
from pecia.kernel.corpus.keyword.query.parser import Query
from pecia.kernel.corpus.search.evidence import CandidateText
from pecia.kernel.corpus.search.fuse import fuse
from pecia.kernel.corpus.search.rerank import rerank

# Memories that are read and ranked, with all chunks of them that were found.
DEPTH = 40
# What a neighbour's score adds: an answer has few words of the question that came before it.
NEIGHBOUR_WEIGHT = 0.3
# Each further hit of a session is worth this much less: it shows its neighbours anyway.
CONVERSATION_DECAY = 0.8
# The line of a text that holds most of the query's words.
LINE_WEIGHT = 0.5
TIME_WEIGHT = 0.35
# What a model answered, beside what people said; unless a question asks for what it said.
ANSWER_PENALTY = 0.15
# A question of somebody about themselves, and a memory in which somebody speaks of themselves.
PERSON_WEIGHT = 0.05
MAX_PERSON_CHARS = 300
ANSWERING = frozenset(("assistant", "model", "agent", "bot", "ai"))
_ASKS_FOR_ANSWER = re.compile(
    r"\b(?:(?:did|had) you|you (?:recommended|suggested|advised|said|told|explained|proposed|"
    r"mentioned|described|gave|listed)|your (?:advice|suggestion|recommendation|answer|explanation|"
    r"proposal)s?|hast du|haben sie|dein(?:e[nmrs]?)? (?:rat|vorschlag|vorschläge|antwort(?:en)?)|"
    r"as-tu|avez-vous|tu m'as|vous m'avez|me (?:dijiste|recomendaste|sugeriste))\b",
    re.IGNORECASE,
)
_SELF = frozenset(("i", "my", "me", "mine", "we", "our", "us", "i'm", "i've", "ich", "mein", "wir"))
# Newer versions are looked for among so many of the best.
MAX_REVISED = 16
# A newer statement answers a question as the older one does, where its cosine with the question is
# so great and so little less. Chosen on 297 updates and 30 other facts of the label sets.
MIN_NEAR_COSINE = 0.5
MAX_COSINE_LOSS = 0.12
# A memory that has a word of the query is shown by default, however little it scores.
WORD_SIMILARITY = 0.3
# Chunks whose lines are kept as terms: those of about a dozen searches.
MAX_CACHED_TEXTS = 512


@dataclass(frozen=True, slots=True)
class ChunkScore:
    """A chunk of a candidate, its lexical score and its cosine, where there are such."""

    file_id: int
    text: str
    words: float = 0.0
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class RankedMemory:
    """A memory in its place. `similarity` falls with the rank."""

    memory: Memory
    similarity: float
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class RankingInput:
    """What a ranking works from. `neighbours` are the files around a file."""

    text: str
    query: Query
    weight: float
    period: TimeRange | None = None
    neighbours: Mapping[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])


def select_candidates(
    words: Mapping[int, float],
    cosines: Mapping[int, float],
    weight: float,
    files: Mapping[int, int],
) -> list[int]:
    """The chunks to read, best first: those of the first memories. `files` are those of chunks."""
    chosen: list[int] = []
    seen: set[int] = set()
    for it in fuse(words, cosines, weight=weight):
        seen.add(files[it.id])
        if len(seen) > DEPTH:
            break
        chosen.append(it.id)
    return chosen


def rank_memories(
    asked: RankingInput, memories: Sequence[Memory], chunks: Mapping[int, ChunkScore]
) -> list[RankedMemory]:
    """The memories, best first."""
    by_file = {it.file_id: it for it in memories}
    shown = {id_: it for id_, it in chunks.items() if it.file_id in by_file}
    scores = _score_files(asked, shown)
    scores = _add_neighbours(scores, asked, by_file)
    near = {it: _period_nearness(asked.period, by_file[it]) for it in scores}
    for file in scores:
        scores[file] += TIME_WEIGHT * near[file]
    if not asks_for_answer(asked.text):
        for file in scores:
            if by_file[file].text_fact("said_by") in ANSWERING:
                scores[file] -= ANSWER_PENALTY
    if speaks_of_self(asked.text):
        for file in scores:
            scores[file] += PERSON_WEIGHT * speaks_of_self(by_file[file].text)
    order = _diversify(scores, by_file)
    # What was so in a period that the question names is not made old by what came after it.
    cosines = _file_cosines(shown)
    order = put_newest_first(
        asked.text, order, lambda it: (near[it.file_id], it.said_at, it.file_id), cosines
    )
    return _with_similarities(asked.text, order, shown, cosines)


def _period_nearness(period: TimeRange | None, memory: Memory) -> float:
    """How near a memory is to a period, by when it was said or by a date in its text; 0 without."""
    if period is None:
        return 0.0
    if any(period.overlaps(it) for it in read_dates(memory.text)):
        return 1.0
    return period.nearness(memory.said_at)


def asks_for_answer(text: str) -> bool:
    """Whether a question is about what a model said: `What did you recommend for …`."""
    return _ASKS_FOR_ANSWER.search(text) is not None


def speaks_of_self(text: str) -> bool:
    """Whether a short text has `I`, `my` or the like."""
    return len(text) <= MAX_PERSON_CHARS and not _SELF.isdisjoint(text.lower().split())


def _score_files(asked: RankingInput, chunks: Mapping[int, ChunkScore]) -> dict[int, float]:
    fused = fuse(
        {id_: it.words for id_, it in chunks.items() if it.words},
        {id_: it.cosine for id_, it in chunks.items() if it.cosine is not None},
        weight=asked.weight,
    )
    readings = {id_: CandidateText(it.file_id, it.text) for id_, it in chunks.items()}
    lines = {id_: _split_lines(it.text) for id_, it in chunks.items()}
    weights = _term_weights(frozenset(tokenize_query(asked.query)), lines.values())
    scores: dict[int, float] = {}
    for it in rerank(fused, readings, asked.query, weight=asked.weight):
        file = chunks[it.id].file_id
        score = it.score + LINE_WEIGHT * _line_coverage(lines[it.id], weights)
        scores[file] = max(score, scores.get(file, 0.0))
    return scores


# Texts of memories do not change, and the same ones are candidates of many queries.
@lru_cache(MAX_CACHED_TEXTS)
def _split_lines(text: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(tokenize(it)) for it in text.split("\n") if it.strip())


def _term_weights(
    terms: frozenset[str], texts: Iterable[Sequence[frozenset[str]]]
) -> dict[str, float]:
    """What each term of the query is worth: little if most candidates have it, as the name of a
    speaker. The sum is 1."""
    having: Counter[str] = Counter()
    count = 0
    for lines in texts:
        having.update(terms & frozenset[str]().union(*lines))
        count += 1
    worth = {it: log(1 + (count - having[it] + 0.5) / (having[it] + 0.5)) for it in terms}
    total = sum(worth.values())
    return {it: value / total for it, value in worth.items()}


def _line_coverage(lines: Sequence[frozenset[str]], weights: Mapping[str, float]) -> float:
    """The share of the query that the best line has."""
    shares = (sum(weights[it] for it in line if it in weights) for line in lines)
    return max(shares, default=0.0)


def _add_neighbours(
    scores: Mapping[int, float], asked: RankingInput, by_file: Mapping[int, Memory]
) -> dict[int, float]:
    added: dict[int, float] = {}
    for file, score in scores.items():
        near = [scores[it] for it in asked.neighbours.get(file, ()) if it in scores]
        talks = conversation_of(by_file[file]) is not None
        added[file] = score + (NEIGHBOUR_WEIGHT * max(near) if near and talks else 0.0)
    return added


def _diversify(scores: Mapping[int, float], by_file: Mapping[int, Memory]) -> list[Memory]:
    """By score, where each further memory of a named session is worth less."""
    ranked = sorted(scores, key=lambda it: (-scores[it], it))
    seen: Counter[str] = Counter()
    worth: dict[int, float] = {}
    for file in ranked:
        talk = by_file[file].text_fact("sourceSessionId")
        worth[file] = scores[file] * (CONVERSATION_DECAY ** seen[talk] if talk else 1.0)
        if talk:
            seen[talk] += 1
    return [by_file[it] for it in sorted(ranked, key=lambda it: -worth[it])]


def _file_cosines(chunks: Mapping[int, ChunkScore]) -> dict[int, float]:
    cosines: dict[int, float] = {}
    for it in chunks.values():
        if it.cosine is not None:
            cosines[it.file_id] = max(it.cosine, cosines.get(it.file_id, -1.0))
    return cosines


def put_newest_first(
    query: str,
    order: Sequence[Memory],
    when: Callable[[Memory], tuple[float | datetime, ...]],
    cosines: Mapping[int, float],
) -> list[Memory]:
    """The same, but that of two that answer the query with another value the newer comes first,
    unless the query names what only the older one has. `cosines` are those with the query."""
    first, rest = [*order[:MAX_REVISED]], order[MAX_REVISED:]
    asked = VersionQuery(query)
    for place in range(1, len(first)):
        newer = first[place]
        for at in range(place):
            older = first[at]
            is_near = _is_near(cosines.get(newer.file_id), cosines.get(older.file_id))
            if when(older) < when(newer) and _is_newer_version(asked, newer, older, is_near):
                first.insert(at, first.pop(place))
                break
    return [*first, *rest]


def _is_near(newer: float | None, older: float | None) -> bool:
    if newer is None or older is None:
        return False
    return newer >= MIN_NEAR_COSINE and older - newer <= MAX_COSINE_LOSS


def _is_newer_version(asked: VersionQuery, newer: Memory, older: Memory, is_near: bool) -> bool:
    if newer.text_fact("revises") == str(older.id):
        return not asked.names_only(older.text, newer.text)
    return asked.puts_first(newer.text, older.text, is_near=is_near)


def _with_similarities(
    query: str,
    order: Sequence[Memory],
    chunks: Mapping[int, ChunkScore],
    cosines: Mapping[int, float],
) -> list[RankedMemory]:
    """Each with a similarity that is no less than that of any after it."""
    found = {it.file_id for it in chunks.values() if it.words}
    terms = TermQuery(query)
    ranked: list[RankedMemory] = []
    least = 0.0
    for memory in reversed(order):
        cosine = cosines.get(memory.file_id)
        own = terms.similarity(memory.text, cosine)
        if memory.file_id in found:
            own = max(own, WORD_SIMILARITY)
        least = max(least, own)
        ranked.append(RankedMemory(memory, least, cosine))
    return ranked[::-1]
