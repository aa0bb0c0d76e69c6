"""Queries the keyword and vector indexes. Results are candidates: none is shown before it is read
under the caller's rights.

For a caller in the visibility cache, both are queried at once with the cached visible set, while
the current one is loaded: the keyword index even before there is a transaction. Results of a
stale visible set are discarded.
"""

import math
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from pecia.kernel.corpus.keyword.idf import VisibleStatistics
from pecia.kernel.corpus.keyword.index import NO_HITS, KeywordHit, KeywordIndex
from pecia.kernel.corpus.keyword.query.parser import Filter, Query
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.corpus.search.named_files import LONG_FILE_CHUNKS
from pecia.kernel.corpus.vectors import knn
from pecia.kernel.corpus.vectors.embedder import Embedder
from pecia.kernel.corpus.vectors.knn import VisibleSet
from pecia.kernel.corpus.visibility import VisibilityCache, VisibilityKey
from pecia.kernel.errors import PeciaError
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.transaction import Transaction

if TYPE_CHECKING:
    from pecia.kernel.corpus.vectors.embedder import Vectors

# For a caller who sees at least this fraction, the engine runs faster without an ACL filter.
BROAD_VISIBILITY = 0.5
EMBED_TIMEOUT_S = 2.0
# Hidden hits come in clusters, as copies of a text do. Of callers who see half, with a factor of 10
# 2 in 100 searches query the index again; with 3, 17.
HIDDEN_CLUSTER_FACTOR = 10


class KeywordScope(NamedTuple):
    """The filter of a keyword query, and the visible set that IDF is computed over."""

    within: Filter
    visible: VisibleStatistics | None


@dataclass(frozen=True, slots=True)
class KeywordHits:
    """Hits of one keyword query. `cursor` is the index's commit; None: no index, or one of another
    version. `is_complete`: there are no more hits. `is_theirs`: nothing hidden is among them.
    `long`: files large enough to search inside. `is_now`: the index is at the database's commit, so
    that `is_theirs` and `long` are exact.
    """

    search_filter: KeywordScope
    limit: int
    found: list[KeywordHit]
    cursor: int | None
    is_complete: bool
    is_theirs: bool
    long: frozenset[int]
    is_now: bool = False


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """How many lexical hits to fetch and, for a hybrid search, how many nearest neighbours.

    `few_hits` suffice for a lexical search where no file is large enough to search inside.
    """

    text: str
    query: Query
    within: Filter
    is_semantic: bool
    max_hits: int
    few_hits: int
    max_nearest: int


@dataclass(frozen=True, slots=True)
class Prefetch:
    """A keyword query started with the cached visible set."""

    visible: VisibleSet
    hits: Awaitable[KeywordHits]


@dataclass(frozen=True, slots=True)
class SearchIndexes:
    """The indexes, the embedder and the visibility cache."""

    reader_cache: ReaderCache
    visibility_cache: VisibilityCache
    embedder: Embedder | None

    def prefetch(self, caller: Caller, plan: SearchPlan) -> Prefetch | None:
        """Start the keyword query; None if the caller is not in the visibility cache."""
        entry = self.visibility_cache.get(_visibility_key(caller, plan))
        if entry is None:
            return None
        visible_set, few_suffice = entry.visible, entry.few_suffice and not plan.is_semantic
        limit = (
            overfetch(visible_set, plan.few_hits)
            if few_suffice
            else _keyword_limit(plan, visible_set)
        )
        return Prefetch(
            visible_set,
            self.submit_keyword_query(caller, plan, _keyword_scope(plan, visible_set), limit),
        )

    def query_keywords(
        self, caller: Caller, plan: SearchPlan, visible_set: VisibleSet
    ) -> Awaitable[KeywordHits]:
        return self.submit_keyword_query(
            caller, plan, _keyword_scope(plan, visible_set), _keyword_limit(plan, visible_set)
        )

    def submit_keyword_query(
        self, caller: Caller, plan: SearchPlan, scope: KeywordScope, limit: int
    ) -> Awaitable[KeywordHits]:
        def question(index: KeywordIndex) -> KeywordHits:
            cursor = index.cursor()
            min_hits = min(limit, plan.max_hits if plan.is_semantic else plan.few_hits)
            within, visible = scope
            found = (
                NO_HITS
                if cursor is None
                else index.top(plan.query, within, limit, min_hits, visible)
            )
            long = index.long_groups({it.group for it in found.hits}, LONG_FILE_CHUNKS)
            is_theirs = within.classes is not None
            return KeywordHits(scope, limit, found.hits, cursor, found.is_all, is_theirs, long)

        return self.reader_cache.submit(caller.tenant_id, question)


@dataclass(slots=True)
class Retrieval:
    """One search's queries to the indexes. `degraded` says what it had to do without."""

    indexes: SearchIndexes
    tx: Transaction
    caller: Caller
    plan: SearchPlan
    prefetch: Prefetch | None = None
    visible: VisibleSet = field(default_factory=lambda: VisibleSet([], 0, 0))
    hits: KeywordHits | None = None
    vector: "Vectors | None" = None
    nearest: dict[int, float] = field(default_factory=dict[int, float])
    degraded: list[str] = field(default_factory=list[str])

    async def start(self) -> None:
        """Query both indexes, and load what the caller sees."""
        prefetched = self.prefetch or self.indexes.prefetch(self.caller, self.plan)
        visible_set = (
            prefetched.visible
            if prefetched
            else await knn.load_visible_set(self.tx, self.plan.within)
        )
        lexical = (
            prefetched.hits
            if prefetched
            else self.indexes.query_keywords(self.caller, self.plan, visible_set)
        )
        embedder = self._choose_embedder(visible_set)

        async def find_near() -> None:
            if embedder is not None:
                await self._embed(embedder)
                await self._find_nearest(embedder, visible_set)

        async def load_visible() -> None:
            self.visible = (
                await knn.load_visible_set(self.tx, self.plan.within) if prefetched else visible_set
            )

        # A lexical search has one thing to wait for, and a task group takes .1 ms.
        await (run_both(load_visible, find_near) if embedder else load_visible())
        self.hits = await lexical
        if embedder is not None and self._may_find_more(visible_set):
            await self._find_nearest(embedder, self.visible)
        await self._wait_for_own_writes()
        self.indexes.visibility_cache.put(_visibility_key(self.caller, self.plan), self.visible)

    async def lexical_hits(self) -> KeywordHits:
        """The best hits, usually as many as planned."""
        scope = _keyword_scope(self.plan, self.visible)
        if self.hits is None or self.hits.search_filter != scope:
            self.hits = await self.indexes.query_keywords(self.caller, self.plan, self.visible)
        return self._drop_hidden(self.hits)

    async def more_lexical_hits(self) -> KeywordHits:
        """Twice as many as the last time, and at least as many as planned."""
        last = await self.lexical_hits()
        limit = max(2 * last.limit, _keyword_limit(self.plan, self.visible))
        self.hits = await self.indexes.submit_keyword_query(
            self.caller, self.plan, last.search_filter, limit
        )
        return self._drop_hidden(self.hits)

    def record_few(self, *, did: bool) -> None:
        """Record whether the first few lexical hits sufficed: the next search then fetches few."""
        self.indexes.visibility_cache.record_few(_visibility_key(self.caller, self.plan), did=did)

    def _drop_hidden(self, lexical: KeywordHits) -> KeywordHits:
        """Drop hidden hits by ACL class, if the index is at the database's commit. Where it lags or
        is ahead, every file has to be checked.
        """
        if lexical.cursor != self.visible.clock:
            return lexical
        if lexical.is_theirs:
            return replace(lexical, is_now=True)
        classes = frozenset(self.visible.classes)
        found = [it for it in lexical.found if it.acl in classes]
        return replace(lexical, found=found, is_theirs=True, is_now=True)

    def _choose_embedder(self, visible_set: VisibleSet) -> Embedder | None:
        """The embedder of a hybrid search; None for lexical, with the reason in `degraded`."""
        if not self.plan.is_semantic:
            return None
        if visible_set.has_vectors and self.indexes.embedder is not None:
            return self.indexes.embedder
        why = "no embedder is configured" if visible_set.has_vectors else knn.NO_VECTOR_EXTENSION
        self.degraded.append(f"lexical only: {why}")
        return None

    async def _wait_for_own_writes(self) -> None:
        own = self.visible.own
        reached = self.hits.cursor if self.hits else None
        if own > (reached or 0):
            self.hits = None
            if not await self.indexes.reader_cache.wait_for_commit(self.caller.tenant_id, own):
                self.degraded.append("your last writes are not indexed yet: search again shortly")

    async def _embed(self, embedder: Embedder) -> None:
        try:
            with anyio.fail_after(EMBED_TIMEOUT_S):
                self.vector = (await embedder.embed([self.plan.text]))[0]
        except TimeoutError:
            self.degraded.append(
                f"lexical only: the embedder took longer than {EMBED_TIMEOUT_S:g} s"
            )
        except PeciaError as error:
            self.degraded.append(f"lexical only: {error}")

    async def _find_nearest(self, embedder: Embedder, visible_set: VisibleSet) -> None:
        # Phrases and titles must match literally: the keyword index's task.
        query = self.plan.query
        if self.vector is not None and not query.phrases and not query.titles:
            plan = self.plan
            self.nearest = dict(
                await knn.find_nearest(
                    self.tx, self.vector, embedder.name, plan.max_nearest, plan.within, visible_set
                )
            )

    def _may_find_more(self, began_with: VisibleSet) -> bool:
        """Whether the current visible set may have more neighbours than the cached one."""
        now = self.visible
        same = now.chunks <= began_with.chunks and now.classes == began_with.classes
        return not same and len(self.nearest) < min(self.plan.max_nearest, now.chunks)


def _visibility_key(caller: Caller, plan: SearchPlan) -> VisibilityKey:
    return caller.credential_id, plan.within.sources


def _keyword_scope(plan: SearchPlan, visible_set: VisibleSet) -> KeywordScope:
    return KeywordScope(_with_acl_filter(plan, visible_set), visible_set.visible)


def _with_acl_filter(plan: SearchPlan, visible_set: VisibleSet) -> Filter:
    if _is_broad(visible_set):
        return plan.within
    return replace(plan.within, classes=frozenset(visible_set.classes))


def _keyword_limit(plan: SearchPlan, visible_set: VisibleSet) -> int:
    """A lexical search overfetches nothing: its first hits usually suffice."""
    return overfetch(visible_set, plan.max_hits) if plan.is_semantic else plan.max_hits


def overfetch(visible_set: VisibleSet, many: int) -> int:
    """How many lexical hits to fetch to get `many` visible ones: without a filter, some are hidden.

    A second query takes as long as the first; overfetching costs next to nothing.
    """
    if visible_set.chunks >= visible_set.of_chunks or not _is_broad(visible_set):
        return many
    fraction = visible_set.chunks / visible_set.of_chunks
    return math.ceil((many + HIDDEN_CLUSTER_FACTOR * (1 - fraction) * math.sqrt(many)) / fraction)


def _is_broad(visible_set: VisibleSet) -> bool:
    return visible_set.chunks >= BROAD_VISIBILITY * visible_set.of_chunks


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
