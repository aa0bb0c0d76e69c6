"""Retrieves candidates: lexical, semantic, and inside files that the query names. None is shown
before it is read under the caller's rights.

For a caller in the visibility cache, both indexes are queried at once with the cached visible set,
while the current one is loaded: the keyword index even before there is a transaction. Results of a
stale visible set are discarded.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from pecia.kernel.corpus.keyword.idf import VisibleStatistics
from pecia.kernel.corpus.keyword.index import NO_HITS, KeywordHit, KeywordIndex
from pecia.kernel.corpus.keyword.query.parser import Filter, Query
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.corpus.search.fuse import (
    NO_SCORES,
    CandidatePool,
    apply_context,
    build_pool,
    has_context,
    merge_pools,
)
from pecia.kernel.corpus.search.hydrate import ChunkReader
from pecia.kernel.corpus.search.named_files import (
    HITS_PER_FILE,
    LONG_FILE_CHUNKS,
    MAX_COMPARED_CHUNKS,
    MAX_NEAREST_INSIDE,
    FileCandidate,
    detect_named_files,
)
from pecia.kernel.corpus.search.plan import MAX_CANDIDATES, MAX_NEAREST, SearchPlan
from pecia.kernel.corpus.search.rerank import RERANK_DEPTH
from pecia.kernel.corpus.vectors import knn
from pecia.kernel.corpus.vectors.embedder import Embedder
from pecia.kernel.corpus.visibility import (
    VisibilityCache,
    VisibilityKey,
    VisibilityPolicy,
    VisibleSet,
    load_visible_set,
)
from pecia.kernel.errors import PeciaError
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Transaction, array_literal

if TYPE_CHECKING:
    from pecia.kernel.corpus.vectors.embedder import Vectors

SQL = load_queries("pecia.kernel.corpus.search", "retrieve.sql")

EMBED_TIMEOUT_S = 2.0


class KeywordScope(NamedTuple):
    """The filter of a keyword query, and the visible set that IDF is computed over."""

    within: Filter
    visible: VisibleStatistics | None


@dataclass(frozen=True, slots=True)
class KeywordHits:
    """Hits of one keyword query. `cursor` is the index's commit; None: no index, or one of another
    version. `is_complete`: there are no more hits. `is_theirs`: nothing hidden is among them.
    `long`: files large enough to search inside. `is_now`: the index is at the database's commit, so
    that `is_theirs` and `long` are exact. `context`: the scores of the hits by their context.
    """

    scope: KeywordScope
    limit: int
    hits: list[KeywordHit]
    cursor: int | None
    is_complete: bool
    is_theirs: bool
    long: frozenset[int]
    context: Mapping[int, float]
    terms: "QueryTerms"
    is_now: bool = False


class QueryTerms(NamedTuple):
    """The IDF of the terms of a query, and its words that nothing has, among what is visible."""

    rarity: Mapping[str, float]
    absent: tuple[str, ...]


NO_TERMS = QueryTerms({}, ())


class VisibleFile(NamedTuple):
    """A file that the caller may see, as the statement `files` reads it."""

    id: int
    key: str
    title: str
    chunks: int


class VisibleHits(NamedTuple):
    """The best lexical hits that the caller may see, and their files, all or none: they are needed
    only where the query may name one.
    """

    hits: list[KeywordHit]
    files: Mapping[int, VisibleFile]


NO_VISIBLE_HITS = VisibleHits([], {})


@dataclass(frozen=True, slots=True)
class Candidates:
    """What was retrieved. `lexical` are the lexical hits, best first; `pool` are those to rank.
    `cosines` are of all candidates that have a vector. `is_hybrid`: the query was embedded.
    `degraded` says what the retrieval had to do without. `terms` are those of the query.
    """

    lexical: Sequence[KeywordHit]
    pool: CandidatePool
    cosines: Mapping[int, float]
    visible: VisibleSet
    is_hybrid: bool
    degraded: Sequence[str]
    terms: QueryTerms


@dataclass(frozen=True, slots=True)
class Prefetch:
    """A keyword query started with the cached visible set."""

    visible: VisibleSet
    hits: Awaitable[KeywordHits]


@dataclass(frozen=True, slots=True)
class SearchIndexes:
    """The indexes, the embedder, and who sees what."""

    reader_cache: ReaderCache
    visibility_cache: VisibilityCache
    embedder: Embedder | None
    policy: VisibilityPolicy

    def prefetch(self, caller: Caller, plan: SearchPlan) -> Prefetch | None:
        """Start the keyword query; None if the caller is not in the visibility cache."""
        entry = self.visibility_cache.get(visibility_key(caller, plan))
        if entry is None:
            return None
        visible, limit = entry.visible, None
        if entry.few_suffice and not plan.is_semantic:
            limit = self.policy.overfetch(visible, plan.few_hits)
        return Prefetch(visible, self.query_keywords(caller, plan, visible, limit))

    def query_keywords(
        self, caller: Caller, plan: SearchPlan, visible: VisibleSet, limit: int | None = None
    ) -> Awaitable[KeywordHits]:
        """Start a keyword query for so many hits, or for as many as usually suffice."""
        scope = self.keyword_scope(plan, visible)
        most = self.keyword_limit(plan, visible) if limit is None else limit
        min_hits = min(most, plan.max_hits if plan.is_semantic else plan.few_hits)

        def run(index: KeywordIndex) -> KeywordHits:
            cursor = index.cursor()
            found = (
                NO_HITS
                if cursor is None
                else index.top(plan.query, scope.within, most, min_hits, scope.visible)
            )
            long = index.long_groups({it.group for it in found.hits}, LONG_FILE_CHUNKS)
            is_theirs = scope.within.classes is not None
            likely = found.hits[
                : self.policy.overfetch(visible, context_depth(is_hybrid=plan.is_semantic))
            ]
            context = (
                index.context_scores(plan.query, [it.id for it in likely], scope.visible)
                if has_context(likely)
                else NO_SCORES
            )
            # What the index of another version holds says nothing of what is there.
            terms = NO_TERMS if cursor is None else count_terms(index, plan.query, scope.visible)
            return KeywordHits(
                scope, most, found.hits, cursor, found.is_all, is_theirs, long, context, terms
            )

        return self.reader_cache.submit(caller.tenant_id, run)

    def keyword_scope(self, plan: SearchPlan, visible: VisibleSet) -> KeywordScope:
        return KeywordScope(self.policy.add_filter(plan.within, visible), visible.visible)

    def keyword_limit(self, plan: SearchPlan, visible: VisibleSet) -> int:
        """As many as usually suffice: for a lexical search, the first few of them do."""
        if plan.is_semantic:
            return self.policy.overfetch(visible, plan.max_hits)
        return max(plan.max_hits, self.policy.overfetch(visible, plan.few_hits))


@dataclass(slots=True)
class Retrieval:
    """The retrieval of one search."""

    indexes: SearchIndexes
    tx: Transaction
    caller: Caller
    plan: SearchPlan
    chunks: ChunkReader
    visible: VisibleSet = field(default_factory=lambda: VisibleSet([], 0, 0))
    vector: "Vectors | None" = None
    nearest: dict[int, float] = field(default_factory=dict[int, float])
    cosines: dict[int, float] = field(default_factory=dict[int, float])
    context: dict[int, float] = field(default_factory=dict[int, float])
    terms: QueryTerms = NO_TERMS
    degraded: list[str] = field(default_factory=list[str])

    async def run(self, prefetched: Prefetch | None) -> Candidates:
        """The candidates of every retriever. `prefetched` is of the same caller and plan."""
        found = await self._query_indexes(prefetched)
        lexical = await self._apply_context(await self._select_lexical(found))
        pool = await self._search_named_files(lexical)
        cosines = await self._load_pool_cosines(pool)
        is_hybrid = self.vector is not None
        return Candidates(
            lexical.hits, pool, cosines, self.visible, is_hybrid, self.degraded, self.terms
        )

    async def _query_indexes(self, prefetched: Prefetch | None) -> KeywordHits | None:
        """Query both indexes, and load what the caller sees. The lexical hits; None if they lack
        the caller's own writes.
        """
        prefetch = prefetched or self.indexes.prefetch(self.caller, self.plan)
        visible = (
            prefetch.visible if prefetch else await load_visible_set(self.tx, self.plan.within)
        )
        lexical = (
            prefetch.hits
            if prefetch
            else self.indexes.query_keywords(self.caller, self.plan, visible)
        )
        embedder = self._choose_embedder(visible)

        async def find_near() -> None:
            if embedder is not None:
                await self._embed(embedder)
                await self._find_nearest(embedder, visible)

        async def load_visible() -> None:
            self.visible = (
                await load_visible_set(self.tx, self.plan.within) if prefetch else visible
            )

        # A lexical search has one thing to wait for, and a task group takes .1 ms.
        await (run_both(load_visible, find_near) if embedder else load_visible())
        found = await lexical
        if embedder is not None and self._may_find_more(visible):
            await self._find_nearest(embedder, self.visible)
        holds_own = await self._wait_for_own_writes(found)
        self.indexes.visibility_cache.put(visibility_key(self.caller, self.plan), self.visible)
        return found if holds_own else None

    def _choose_embedder(self, visible: VisibleSet) -> Embedder | None:
        """The embedder of a hybrid search; None for lexical, with the reason in `degraded`."""
        if not self.plan.is_semantic:
            return None
        if visible.has_vectors and self.indexes.embedder is not None:
            return self.indexes.embedder
        why = "no embedder is configured" if visible.has_vectors else knn.NO_VECTOR_EXTENSION
        self.degraded.append(f"lexical only: {why}")
        return None

    async def _embed(self, embedder: Embedder) -> None:
        try:
            with anyio.fail_after(EMBED_TIMEOUT_S):
                self.vector = (await embedder.embed([self.plan.ask.query]))[0]
        except TimeoutError:
            self.degraded.append(
                f"lexical only: the embedder took longer than {EMBED_TIMEOUT_S:g} s"
            )
        except PeciaError as error:
            self.degraded.append(f"lexical only: {error}")

    async def _find_nearest(self, embedder: Embedder, visible: VisibleSet) -> None:
        # Phrases and titles must match literally: the keyword index's task.
        query = self.plan.query
        if self.vector is not None and not query.phrases and not query.titles:
            self.nearest = dict(
                await knn.find_nearest(
                    self.tx, self.vector, embedder.name, MAX_NEAREST, self.plan.within, visible
                )
            )

    def _may_find_more(self, began_with: VisibleSet) -> bool:
        """Whether the current visible set may have more neighbours than the cached one."""
        now = self.visible
        same = now.chunks <= began_with.chunks and now.classes == began_with.classes
        return not same and len(self.nearest) < min(MAX_NEAREST, now.chunks)

    async def _wait_for_own_writes(self, found: KeywordHits) -> bool:
        """Whether the hits hold the caller's own writes; else wait for the index to have them."""
        own = self.visible.own
        if own <= (found.cursor or 0):
            return True
        if not await self.indexes.reader_cache.wait_for_commit(self.caller.tenant_id, own):
            self.degraded.append("your last writes are not indexed yet: search again shortly")
        return False

    async def _select_lexical(self, queried: KeywordHits | None) -> VisibleHits:
        """The best lexical hits that the caller may see, exactly."""
        if not self.visible.chunks:
            return NO_VISIBLE_HITS
        if queried is None or queried.scope != self.indexes.keyword_scope(self.plan, self.visible):
            queried = await self.indexes.query_keywords(self.caller, self.plan, self.visible)
        found = self._drop_hidden(queried)
        # An index that is behind says nothing of what it lacks.
        self.terms = found.terms if found.is_now else found.terms._replace(absent=())
        if self.vector is None:
            few = await self._select_few(found)
            key = visibility_key(self.caller, self.plan)
            self.indexes.visibility_cache.record_few(key, did=few is not None)
            if few is not None:
                return VisibleHits(few, {})
        max_hits = reach = self.plan.max_hits
        while found.cursor is not None:
            hits = found.hits[:reach] if found.is_theirs else found.hits
            seen = await self._filter_visible(found, hits)
            if len(seen.hits) >= max_hits or (found.is_complete and len(hits) == len(found.hits)):
                return VisibleHits(seen.hits[:max_hits], seen.files)
            reach *= 2
            found = await self._query_more(found)
        self.degraded.append("the keyword index is being built: search again shortly")
        return NO_VISIBLE_HITS

    async def _apply_context(self, found: VisibleHits) -> VisibleHits:
        """The hits with the scores by their context. Hidden ones among those that were scored may
        have taken the place of visible ones, which are scored now: none keeps another score for it.
        """
        first = found.hits[: context_depth(is_hybrid=self.vector is not None)]
        if not has_context(first):
            return found
        if unscored := [it.id for it in first if it.id not in self.context]:
            query, visible = self.plan.query, self.visible.visible
            self.context |= await self.indexes.reader_cache.submit(
                self.caller.tenant_id,
                lambda index: index.context_scores(query, unscored, visible),
            )
        return found._replace(hits=apply_context(found.hits, self.context, len(first)))

    async def _query_more(self, last: KeywordHits) -> KeywordHits:
        """Twice as many as the last time, and at least as many as planned."""
        limit = max(2 * last.limit, self.indexes.keyword_limit(self.plan, self.visible))
        return self._drop_hidden(
            await self.indexes.query_keywords(self.caller, self.plan, self.visible, limit)
        )

    def _drop_hidden(self, found: KeywordHits) -> KeywordHits:
        """Drop hidden hits by ACL class, if the index is at the database's commit. Where it lags or
        is ahead, every file has to be checked.
        """
        self.context = {**found.context}
        if found.cursor != self.visible.clock:
            return found
        if found.is_theirs:
            return replace(found, is_now=True)
        classes = frozenset(self.visible.classes)
        theirs = [it for it in found.hits if it.acl in classes]
        return replace(found, hits=theirs, is_theirs=True, is_now=True)

    async def _select_few(self, found: KeywordHits) -> list[KeywordHit] | None:
        """The hits to rerank, if the page ends within them and none is of a long file: then no file
        has to be loaded. Else None.
        """
        if self.plan.end >= RERANK_DEPTH or found.cursor is None:
            return None
        overfetch = self.indexes.policy.overfetch
        likely = found.hits[
            : RERANK_DEPTH if found.is_theirs else overfetch(self.visible, RERANK_DEPTH)
        ]
        seen = likely
        if not found.is_now:
            readable = await self.chunks.read([it.id for it in likely])
            seen = [it for it in likely if it.id in readable][:RERANK_DEPTH]
        if len(seen) < RERANK_DEPTH and not (found.is_complete and len(likely) == len(found.hits)):
            return None
        return None if any(it.group in found.long for it in seen) else seen

    async def _filter_visible(self, found: KeywordHits, hits: list[KeywordHit]) -> VisibleHits:
        """The hits that the caller may see; for a hybrid search their cosines are loaded too."""
        if found.is_now and not any(it.group in found.long for it in hits):
            if (vector := self._query_vector()) is not None:
                self.cosines |= await knn.load_cosines(self.tx, [it.id for it in hits], *vector)
            return VisibleHits(hits, {})
        files = await self._load_visible_files(hits)
        return VisibleHits([it for it in hits if it.group in files], files)

    def _query_vector(self) -> "tuple[Vectors, str] | None":
        """The query's embedding and its model."""
        embedder = self.indexes.embedder
        return None if self.vector is None or embedder is None else (self.vector, embedder.name)

    async def _load_visible_files(self, hits: Sequence[KeywordHit]) -> dict[int, VisibleFile]:
        """The visible files of these hits; for a hybrid search the cosines are loaded too."""
        if (vector := self._query_vector()) is None:
            groups = array_literal({it.group for it in hits})
            files = await self.tx.fetch_mapped(VisibleFile._make, SQL["files"], ids=groups)
            return {it.id: it for it in files}
        pairs = [(it.id, it.group) for it in hits]
        near = await knn.load_candidates(self.tx, pairs, *vector)
        self.cosines |= {it.chunk_id: it.cosine for it in near if it.cosine is not None}
        return {it.file_id: VisibleFile(it.file_id, it.key, it.title, it.chunks) for it in near}

    async def _search_named_files(self, found: VisibleHits) -> CandidatePool:
        """The candidates: the best lexical hits, and the best inside files that the query names."""
        hits, query = found.hits[:MAX_CANDIDATES], self.plan.query
        if not found.files or not query.has_terms:
            return build_pool(hits)
        best = {it.group: it.score for it in reversed(hits)}
        files = [FileCandidate(*found.files[it], best=score) for it, score in best.items()]
        named = detect_named_files(self.plan.ask.query, query, files)
        if named is None:
            return build_pool(hits)
        groups = [*named.files]
        max_hits = HITS_PER_FILE * len(groups)
        visible = self.visible.visible
        inside = await self.indexes.reader_cache.submit(
            self.caller.tenant_id,
            lambda index: index.search_groups(named.query, groups, max_hits, visible),
        )
        nearest = await self._find_nearest_inside([found.files[it] for it in named.close])
        return replace(merge_pools(hits, inside, named), nearest=nearest)

    async def _find_nearest_inside(self, files: Sequence[VisibleFile]) -> dict[int, float]:
        """The chunks of these files that are nearest in meaning; of none that are too long."""
        vector, query = self._query_vector(), self.plan.query
        ends = accumulate(it.chunks for it in files)
        ids = [it.id for it, end in zip(files, ends, strict=True) if end <= MAX_COMPARED_CHUNKS]
        if vector is None or not ids or query.phrases or query.titles:
            return {}
        return await knn.find_nearest_inside(self.tx, ids, *vector, MAX_NEAREST_INSIDE)

    async def _load_pool_cosines(self, pool: CandidatePool) -> dict[int, float]:
        """The cosines of all candidates. Loaded already, except for hits inside named files."""
        known = self.cosines
        if pool.by_file and (vector := self._query_vector()) is not None:
            known = await knn.load_cosines(self.tx, [*pool.scores], *vector)
        return {it: known[it] for it in pool.scores if it in known} | self.nearest


def count_terms(index: KeywordIndex, query: Query, visible: VisibleStatistics | None) -> QueryTerms:
    if not query.has_terms:
        return NO_TERMS
    return QueryTerms(index.rarity(query, visible), index.absent_words(query, visible))


def context_depth(*, is_hybrid: bool) -> int:
    """How many of the best hits are scored by their context: those that are ranked, whatever page
    is asked for."""
    return MAX_CANDIDATES if is_hybrid else RERANK_DEPTH


def visibility_key(caller: Caller, plan: SearchPlan) -> VisibilityKey:
    return caller.credential_id, plan.within.sources


RetrieverTask: TypeAlias = Callable[[], Coroutine[None, None, None]]


async def run_both(first: RetrieverTask, other: RetrieverTask) -> None:
    """Run both concurrently. A failure is raised bare, not as a group: the store and the interfaces
    handle it by type.
    """
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(other)
            await first()
    except ExceptionGroup as failed:
        # If the request was cancelled, the tasks fail because their connection was closed.
        await checkpoint_if_cancelled()
        raise failed.exceptions[0] from failed
