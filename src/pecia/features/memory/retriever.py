"""Hybrid search for memories: semantic, lexical, and the latest writes. Read-only.

Indexes give candidates; every memory is read under the caller's rights before it is scored.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from anyio.to_thread import run_sync

from pecia.features.memory.core.keys import SOURCE, KeyRange
from pecia.features.memory.core.similarity import TermQuery
from pecia.features.memory.embeddings import TextEmbeddings
from pecia.features.memory.model import Memory
from pecia.features.memory.store import SQL, get_memories_by_file, range_params
from pecia.kernel.corpus.keyword.analysis.token_filters import remove_stop_words
from pecia.kernel.corpus.keyword.index import KeywordIndex
from pecia.kernel.corpus.keyword.query.parser import Filter, Query
from pecia.kernel.corpus.search.search import Corpus
from pecia.kernel.corpus.vectors import knn
from pecia.kernel.corpus.vectors.knn import VisibleSet
from pecia.kernel.errors import Unavailable
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.transaction import Transaction, array_literal

# How many of the latest writes are scanned while the index does not hold them yet.
MAX_NEWEST = 200
MEMORY_FILTER = Filter(sources=frozenset({SOURCE}))


@dataclass(frozen=True, slots=True)
class MemoryHit:
    """A memory and its similarity to the query."""

    memory: Memory
    similarity: float
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """`limit` applies per retriever and key range. `include_unlike`: dissimilar memories too.

    `wait_for_index`: with many writes not indexed yet, wait for the index, two seconds at most.
    """

    text: str
    ranges: tuple[KeyRange, ...]
    limit: int
    include_unlike: bool = False
    wait_for_index: bool = True


@dataclass(frozen=True, slots=True)
class MemoryRetriever:
    """Searches the key ranges of a query."""

    corpus: Corpus

    async def find(
        self, tx: Transaction, caller: Caller, question: MemoryQuery, meaning: TextEmbeddings
    ) -> list[MemoryHit]:
        """Memories similar to the query, most similar first."""
        share = await knn.load_visible_set(tx, MEMORY_FILTER)
        if not share.chunks:
            return []
        retrieval = _Retrieval(self.corpus, tx, caller, question, share)
        return await retrieval.run(meaning)


@dataclass(slots=True)
class _Retrieval:
    """State of one query."""

    corpus: Corpus
    tx: Transaction
    caller: Caller
    question: MemoryQuery
    share: VisibleSet
    cosines: dict[int, float] = field(default_factory=dict[int, float])
    files: dict[int, int] = field(default_factory=dict[int, int])
    """The file of each candidate chunk."""

    async def run(self, meaning: TextEmbeddings) -> list[MemoryHit]:
        vector = meaning.vector_of(self.question.text) if self.share.has_vectors else None
        if vector is not None:
            await self._search_vectors(vector, meaning.model)
        keyword_hits = await self._search_keywords()
        await self._add_chunks([*self.cosines, *keyword_hits])
        if self.question.include_unlike or not await self._is_indexed():
            await self._add_newest()
        if vector is not None:
            left = [it for it in self.files if it not in self.cosines]
            self.cosines |= await knn.load_cosines(self.tx, left, vector, meaning.model)
        return await self._score_hits()

    async def _search_vectors(self, vector: knn.QueryVector, model: str) -> None:
        for area in self.question.ranges:
            arguments = (
                vector,
                model,
                self.question.limit,
                Filter(MEMORY_FILTER.classes, MEMORY_FILTER.sources, area.glob),
            )
            self.cosines |= dict(await knn.find_nearest(self.tx, *arguments, self.share))

    async def _search_keywords(self) -> list[int]:
        words = Query(words=tuple(remove_stop_words(self.question.text)))
        classes = frozenset(self.share.classes)
        found: list[int] = []
        for area in self.question.ranges:
            filter_ = Filter(classes, MEMORY_FILTER.sources, area.glob)
            found += await self._query_index(words, filter_)
        return found

    async def _query_index(self, words: Query, filter_: Filter) -> list[int]:
        visible = self.share.visible

        def run(index: KeywordIndex) -> list[int]:
            if not words.words or index.cursor() is None:
                return []
            return [it.id for it in index.search(words, filter_, self.question.limit, visible)]

        try:
            return await self.corpus.reader_cache.submit(self.caller.tenant_id, run)
        except Unavailable:
            # The index writer rebuilds an unreadable index; the latest writes are scanned.
            return []

    async def _is_indexed(self) -> bool:
        clock: int = await self.tx.fetch_value(SQL["clock"])
        try:
            return (
                await run_sync(self.corpus.reader_cache.last_commit, self.caller.tenant_id) >= clock
            )
        except (Unavailable, FileNotFoundError):
            return False

    async def _add_chunks(self, chunks: Sequence[int]) -> None:
        rows = await self.tx.fetch_all(SQL["files_of"], ids=array_literal(dict.fromkeys(chunks)))
        self.files |= {row["id"]: row["file_id"] for row in rows}

    async def _add_newest(self) -> None:
        """Add the latest writes; where there may be more of them, wait for the index."""
        scanned: set[int] = set()
        for area in self.question.ranges:
            rows = await self.tx.fetch_all(SQL["newest"], most=MAX_NEWEST, **range_params(area))
            self.files |= {row["id"]: row["file_id"] for row in rows}
            scanned |= {row["file_id"] for row in rows}
        if (
            self.question.wait_for_index
            and len(scanned) >= MAX_NEWEST
            and await self._wait_for_index()
        ):
            await self._add_chunks(await self._search_keywords())

    async def _wait_for_index(self) -> bool:
        try:
            return await self.corpus.reader_cache.wait_for_commit(
                self.caller.tenant_id, self.share.own
            )
        except (Unavailable, FileNotFoundError):
            return False

    async def _score_hits(self) -> list[MemoryHit]:
        best: dict[int, float] = {}
        for chunk, file in self.files.items():
            cosine = self.cosines.get(chunk)
            if cosine is not None:
                best[file] = max(cosine, best.get(file, -1.0))
        memories = await get_memories_by_file(self.tx, list(dict.fromkeys(self.files.values())))
        terms = TermQuery(self.question.text)
        found = [
            MemoryHit(it, terms.similarity(it.text, best.get(it.file_id)), best.get(it.file_id))
            for it in memories
            if not it.is_retired
        ]
        return sorted(found, key=lambda it: (-it.similarity, it.memory.id))
