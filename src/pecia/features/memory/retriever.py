"""Searches memories: semantic, lexical, and the latest writes, ranked together. Read-only.

Indexes give candidates; every memory is read under the caller's rights before it is ranked.
"""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID

from pecia.features.memory.core.compare.similarity import TermQuery
from pecia.features.memory.core.keys import SOURCE, KeyRange
from pecia.features.memory.core.search.conversation import (
    conversation_of,
    find_continuations,
    speaker_of,
)
from pecia.features.memory.core.search.rank import (
    ANSWERING,
    ChunkScore,
    RankedMemory,
    RankingInput,
    rank_memories,
    select_candidates,
)
from pecia.features.memory.core.search.time_words import read_period
from pecia.features.memory.embeddings import PendingEmbeddings, await_embeddings
from pecia.features.memory.model import Memory
from pecia.features.memory.store import (
    SQL,
    get_memories,
    get_memories_by_file,
    load_hits,
    load_neighbours,
)
from pecia.kernel.corpus.keyword.analysis.token_filters import remove_stop_words
from pecia.kernel.corpus.keyword.entry import KeywordHit
from pecia.kernel.corpus.keyword.index import KeywordIndex
from pecia.kernel.corpus.keyword.query.parser import Filter, Query
from pecia.kernel.corpus.search.fuse import choose_semantic_weight
from pecia.kernel.corpus.search.search import Corpus
from pecia.kernel.corpus.vectors import knn
from pecia.kernel.corpus.vectors.knn import VisibleSet
from pecia.kernel.errors import Unavailable
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.store import DictRow, Transaction, array_literal
from pecia.kernel.text.glob import to_postgres_regex

# How many of the latest writes are scanned while the index does not hold them yet.
MAX_NEWEST = 200
# Lexical hits and nearest neighbours that are candidates.
MAX_KEYWORD_HITS = 60
MAX_NEAREST = 30
# Lexical hits that are read off for each that is a candidate: a memory among the nearest is often a
# later hit, and would count as if it had no word of the query (ADR 420).
SCORED_FACTOR = 4
# So many times as many where most hits are of other folders, or of few memories.
CROWDED_FACTOR = 4
# Standing instructions and preferences that are compared with a query.
MAX_STANDING = 100
NEIGHBOUR_REACH = 1
# So many of the best bring what their speaker said next, twice at most: answers stand between.
MAX_CONTINUED = 4
CONTINUATION_REACH = 4
MAX_CONTINUATIONS = 4
ONE_CHUNK_CHARS = 400
MEMORY_FILTER = Filter(sources=frozenset({SOURCE}))


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """What is searched for, and where. `as_of`: what held then, instead of now.
    `with_superseded`: what no longer holds too. `include_unlike`: dissimilar memories too.
    """

    text: str
    ranges: tuple[KeyRange, ...]
    limit: int
    as_of: datetime | None = None
    with_superseded: bool = False
    include_unlike: bool = False

    def admits(self, memory: Memory, now: datetime | None = None) -> bool:
        """Whether it is in the ranges and held at the time."""
        if not any(it.contains(memory.key) for it in self.ranges):
            return False
        return self.with_superseded or memory.holds(self.as_of or now or datetime.now(UTC))


@dataclass(frozen=True, slots=True)
class FoundMemories:
    """Memories, best first. `is_partial`: some are in no index yet, and were not scanned."""

    memories: list[RankedMemory] = field(default_factory=list[RankedMemory])
    is_partial: bool = False


@dataclass(frozen=True, slots=True)
class MemoryRetriever:
    """Searches the key ranges of a query."""

    corpus: Corpus

    async def find(
        self, tx: Transaction, caller: Caller, question: MemoryQuery, meaning: PendingEmbeddings
    ) -> FoundMemories:
        """Memories that answer the query, best first; one that is said in other words once."""
        found = await self._retrieve(tx, caller, question, meaning, is_thorough=True)
        if found is None:
            return FoundMemories()
        ranked = await found.rank(self._semantic_weight(question.text, found))
        return FoundMemories(ranked, found.is_partial)

    async def find_similar(
        self, tx: Transaction, caller: Caller, question: MemoryQuery, meaning: PendingEmbeddings
    ) -> list[RankedMemory]:
        """Memories that a new text is compared with, most similar first; other wordings too."""
        found = await self._retrieve(tx, caller, question, meaning)
        if found is None:
            return []
        cosines, terms = found.file_cosines(), TermQuery(question.text)
        similar = [
            RankedMemory(it, terms.similarity(it.text, cosines.get(file)), cosines.get(file))
            for file, it in found.memories.items()
        ]
        return sorted(similar, key=lambda it: (-it.similarity, it.memory.id))[: question.limit]

    async def find_standing(
        self, tx: Transaction, question: MemoryQuery, meaning: PendingEmbeddings
    ) -> list[RankedMemory]:
        """The standing instructions and preferences that hold, those most like the query first."""
        patterns = [to_postgres_regex(it.glob) for it in question.ranges]
        rows = await tx.fetch_all(SQL["standing"], most=MAX_STANDING, patterns=patterns)
        if not rows:
            return []
        near = await _load_near(question, meaning)
        terms = TermQuery(question.text)
        found: list[RankedMemory] = []
        for memory, cosines in await load_hits(tx, [row["chunk_id"] for row in rows], near):
            if question.admits(memory):
                best = max((it for it in cosines.values() if it is not None), default=None)
                found.append(RankedMemory(memory, terms.similarity(memory.text, best), best))
        return sorted(found, key=lambda it: (-it.similarity, -it.memory.file_id))

    async def _retrieve(
        self,
        tx: Transaction,
        caller: Caller,
        question: MemoryQuery,
        meaning: PendingEmbeddings,
        *,
        is_thorough: bool = False,
    ) -> "_Retrieval | None":
        share = await knn.load_visible_set(tx, MEMORY_FILTER)
        if not share.chunks:
            return None
        query = Query(words=tuple(remove_stop_words(question.text)))
        retrieval = _Retrieval(self.corpus, tx, caller, question, share, query, is_thorough)
        await retrieval.run(meaning if share.has_vectors else None)
        return retrieval

    def _semantic_weight(self, text: str, found: "_Retrieval") -> float:
        language = self.corpus.embedder.language if self.corpus.embedder else ""
        return choose_semantic_weight(text, language) if found.cosines else 0.0


class _KeywordAnswer(NamedTuple):
    """Hits, and the commit that the index is at."""

    hits: list[KeywordHit]
    cursor: int


@dataclass(slots=True)
class _Retrieval:
    """State of one query. `candidates` are chunks of any folder, in the order in which they were
    found; `files` are those of chunks that the query admits."""

    corpus: Corpus
    tx: Transaction
    caller: Caller
    question: MemoryQuery
    share: VisibleSet
    query: Query
    is_thorough: bool = False
    """Whether to search deeper where hits are of few memories."""
    words: dict[int, float] = field(default_factory=dict[int, float])
    cosines: dict[int, float] = field(default_factory=dict[int, float])
    files: dict[int, int] = field(default_factory=dict[int, int])
    memories: dict[int, Memory] = field(default_factory=dict[int, Memory])
    near: tuple[knn.QueryVector, str] | None = None
    candidates: dict[int, None] = field(default_factory=dict[int, None])
    seen: set[int] = field(default_factory=set[int])
    outside: int = 0
    """Files that were read and are of other folders, or do not hold."""
    recent: set[int] = field(default_factory=set[int])
    """Chunks that the keyword index does not hold yet."""
    is_partial: bool = False
    """Whether there may be memories that neither the index holds nor the scan of the newest."""

    async def run(self, meaning: PendingEmbeddings | None) -> None:
        """Find candidates among all that the caller sees, and drop those of other folders: to
        filter by key takes longer. Where that leaves too few, filter by key."""
        cursor, has_more = await self._search(None, meaning=meaning)
        if cursor < self.share.clock:
            await self._add_unindexed(cursor)
        if cursor and self.question.include_unlike:
            await self._add_newest()
        await self._read()
        if has_more and self._is_crowded():
            _, has_more = await self._search(None, CROWDED_FACTOR)
            await self._read()
        if has_more and self._needs_keys():
            for it in self.question.ranges:
                await self._search(it.glob, CROWDED_FACTOR if self.is_thorough else 1)
            await self._read()

    def _is_crowded(self) -> bool:
        """Whether most hits are of other folders or, where that counts, are further chunks of long
        memories."""
        if self.outside > len(self.memories):
            return True
        return self.is_thorough and 2 * len(self.memories) < len(self.seen)

    def _needs_keys(self) -> bool:
        is_mostly_outside = self.is_thorough and self.outside > len(self.memories)
        return is_mostly_outside or len(self.memories) < self.question.limit

    async def _search(
        self, glob: str | None, factor: int = 1, meaning: PendingEmbeddings | None = None
    ) -> tuple[int, bool]:
        """Add the hits of both indexes. The keyword index's commit, and whether there are more.
        With `meaning`, the vector that is searched for is awaited first."""
        most_hits, most_near = MAX_KEYWORD_HITS * factor, MAX_NEAREST * factor
        # It starts at once, and answers while the database looks for the nearest.
        asked = asyncio.ensure_future(self._query_index(glob, most_hits))
        if meaning is not None:
            self.near = await _load_near(self.question, meaning)
        nearest: list[tuple[int, float]] = []
        if self.near is not None:
            within = Filter(None, MEMORY_FILTER.sources, glob)
            nearest = await knn.find_nearest(self.tx, *self.near, most_near, within, self.share)
        answer = await asked
        self.words |= {it.id: it.score for it in answer.hits}
        self.candidates |= dict.fromkeys(it.id for it in answer.hits[:most_hits])
        self.candidates |= dict.fromkeys(it for it, _ in nearest)
        has_more = len(answer.hits) >= most_hits or len(nearest) == most_near
        return answer.cursor, has_more

    async def _query_index(self, glob: str | None, most: int = MAX_KEYWORD_HITS) -> _KeywordAnswer:
        """At least the best `most`, as far as there are so many; for a ranking, more."""
        filter_ = Filter(frozenset(self.share.classes), MEMORY_FILTER.sources, glob)
        visible, query = self.share.visible, self.query
        scored = most * SCORED_FACTOR if self.is_thorough else most

        def run(index: KeywordIndex) -> _KeywordAnswer:
            cursor = index.cursor()
            if not query.words or cursor is None:
                return _KeywordAnswer([], cursor or 0)
            return _KeywordAnswer(index.top(query, filter_, scored, most, visible).hits, cursor)

        try:
            return await self.corpus.reader_cache.submit(self.caller.tenant_id, run)
        except Unavailable:
            # The index writer rebuilds an unreadable index; the latest writes are scanned.
            return _KeywordAnswer([], 0)

    async def _add_unindexed(self, cursor: int) -> None:
        """Add what the index does not hold yet; where that may be more, wait for the index."""
        if cursor == 0:
            # The change log may begin after the first memory: it is trimmed.
            self.is_partial = await self._add_newest()
            return
        rows = await self.tx.fetch_all(SQL["unindexed"], after=cursor, most=MAX_NEWEST)
        if not self._add_rows(rows):
            return
        wait = self.corpus.reader_cache.wait_for_commit(self.caller.tenant_id, self.share.own)
        if await _is_true(wait):
            answer = await self._query_index(None)
            self.words |= {it.id: it.score for it in answer.hits}
            self.candidates |= dict.fromkeys(it.id for it in answer.hits[:MAX_KEYWORD_HITS])
        else:
            self.is_partial = True

    async def _add_newest(self) -> bool:
        """Add the memories that were written last. Whether there may be more."""
        return self._add_rows(await self.tx.fetch_all(SQL["newest"], most=MAX_NEWEST))

    def _add_rows(self, rows: Sequence[DictRow]) -> bool:
        self.candidates |= dict.fromkeys(row["chunk_id"] for row in rows)
        self.recent |= {row["chunk_id"] for row in rows} - self.words.keys()
        return len({row["file_id"] for row in rows}) >= MAX_NEWEST

    async def _read(self) -> None:
        """Read the candidates that were not read yet, and keep those that the query admits."""
        new = [it for it in self.candidates if it not in self.seen]
        self.seen |= {*new}
        if not new:
            return
        now = datetime.now(UTC)
        for memory, cosines in await load_hits(self.tx, new, self.near):
            if not self.question.admits(memory, now):
                self.outside += 1
                continue
            self.memories[memory.file_id] = memory
            self.files |= dict.fromkeys(cosines, memory.file_id)
            self.cosines |= {it: cosine for it, cosine in cosines.items() if cosine is not None}

    def file_cosines(self) -> dict[int, float]:
        """The best cosine of each file."""
        best: dict[int, float] = {}
        for chunk, file in self.files.items():
            cosine = self.cosines.get(chunk)
            if cosine is not None:
                best[file] = max(cosine, best.get(file, -1.0))
        return best

    async def rank(self, weight: float) -> list[RankedMemory]:
        words = self._all_words()
        cosines = {it: self.cosines[it] for it in self.files if it in self.cosines}
        unlike = self.files if self.question.include_unlike else ()
        chosen = [*dict.fromkeys((*select_candidates(words, cosines, weight, self.files), *unlike))]
        texts = await self._load_texts(chosen)
        chunks = {
            it: ChunkScore(self.files[it], texts[it], words.get(it, 0.0), cosines.get(it))
            for it in chosen
            if it in texts
        }
        files = {it.file_id for it in chunks.values()}
        asked = RankingInput(
            self.question.text,
            self.query,
            weight,
            read_period(self.question.text, self.question.as_of or datetime.now(UTC)),
            await self._load_neighbours(files),
        )
        ranked = rank_memories(asked, [self.memories[it] for it in files], chunks)
        return await self._add_continuations(await self._merge_wordings(ranked))

    def _all_words(self) -> dict[int, float]:
        """Lexical scores, estimated for what the index does not hold yet: by the share of the
        query's words, in proportion to the best hit."""
        known = {it: score for it, score in self.words.items() if it in self.files}
        recent = {it: self.files[it] for it in self.recent if it in self.files}
        if not recent:
            return known
        terms = TermQuery(self.question.text)
        best = max(known, key=lambda it: known[it], default=None)
        unit = 1.0
        if best is not None:
            unit = known[best] / (terms.coverage(self.memories[self.files[best]].text) or 1.0)
        covers = {it: terms.coverage(self.memories[it].text) for it in {*recent.values()}}
        return known | {it: unit * covers[file] for it, file in recent.items() if covers[file]}

    async def _load_texts(self, chunks: Sequence[int]) -> dict[int, str]:
        """The texts of chunks. That of a short memory is its only chunk."""
        texts = {it: self.memories[self.files[it]].text for it in chunks}
        long = [it for it, text in texts.items() if len(text) > ONE_CHUNK_CHARS]
        if long:
            rows = await self.tx.fetch_all(SQL["chunk_texts"], ids=array_literal(long))
            texts |= {row["id"]: row["text"] for row in rows}
        return texts

    async def _load_neighbours(self, files: set[int]) -> dict[int, list[int]]:
        near: dict[int, list[int]] = {}
        turns = [it for it in files if conversation_of(self.memories[it]) is not None]
        if not turns:
            return near
        for it in await load_neighbours(self.tx, turns, NEIGHBOUR_REACH):
            near.setdefault(it.of_file, []).append(it.file_id)
        return near

    async def _merge_wordings(self, ranked: Sequence[RankedMemory]) -> list[RankedMemory]:
        """Each memory once, in the place of its best wording."""
        named = [it.memory.same_as for it in ranked if it.memory.same_as is not None]
        firsts = {it.id: it for it in await get_memories(self.tx, [*dict.fromkeys(named)])}
        merged: dict[object, RankedMemory] = {}
        for it in ranked:
            memory = firsts.get(it.memory.same_as, it.memory) if it.memory.same_as else it.memory
            if memory is it.memory or self.question.admits(memory):
                merged.setdefault(memory.id, RankedMemory(memory, it.similarity, it.cosine))
        return [*merged.values()]

    async def _add_continuations(self, ranked: list[RankedMemory]) -> list[RankedMemory]:
        """The same, where behind the best stands what goes on with them: `Hmm, what if they keep
        retrying?` has no word of the question. Further turns of a named session are not brought:
        whoever named it can read it."""
        best, rest = ranked[:MAX_CONTINUED], ranked[MAX_CONTINUED:]
        turns = [
            it.memory
            for it in best
            if it.memory.text_fact("sourceSessionId") is None
            and speaker_of(it.memory) not in (None, *ANSWERING)
        ]
        if not turns:
            return ranked
        around = await load_neighbours(self.tx, [it.file_id for it in turns], CONTINUATION_REACH)
        behind = sorted((it for it in around if it.place > 0), key=lambda it: it.place)
        files = [*dict.fromkeys(it.file_id for it in behind)]
        said = {it.file_id: it for it in await get_memories_by_file(self.tx, files)}
        brought: dict[UUID, Memory] = {}
        for turn in turns:
            following = [said[it.file_id] for it in behind if it.of_file == turn.file_id]
            brought |= {it.id: it for it in find_continuations(turn, following)}
        known = {it.memory.id for it in best}
        new = [it for it in brought.values() if it.id not in known and self.question.admits(it)]
        more = [RankedMemory(it, best[-1].similarity) for it in new[:MAX_CONTINUATIONS]]
        ids = {it.memory.id for it in more}
        return [*best, *more, *(it for it in rest if it.memory.id not in ids)]


async def _load_near(
    question: MemoryQuery, meaning: PendingEmbeddings
) -> tuple[knn.QueryVector, str] | None:
    """The vector of the query and its model; None without one."""
    found = await await_embeddings(meaning)
    vector = found.vector_of(question.text)
    return None if vector is None else (vector, found.model)


async def _is_true(wait: Awaitable[bool]) -> bool:
    try:
        return await wait
    except (Unavailable, FileNotFoundError):
        return False
