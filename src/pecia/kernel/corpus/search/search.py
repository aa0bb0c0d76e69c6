"""Search over everything a caller may see: lexical and semantic candidates, fused, reranked, read.

Index results are hints: every hit is read under the caller's rights before it is shown, and text
that they may not see changes nothing in the answer.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import NamedTuple

from pecia.kernel.corpus.catalog import catalog
from pecia.kernel.corpus.changelog import EMBEDDING_NODE_PREFIX
from pecia.kernel.corpus.keyword.index import KeywordHit
from pecia.kernel.corpus.keyword.lag import IndexLag
from pecia.kernel.corpus.keyword.query.parser import NO_FILTER, Query
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.corpus.search import hydrate
from pecia.kernel.corpus.search.candidates import CandidatePool, build_pool, merge_pools
from pecia.kernel.corpus.search.diversify import diversify, diversify_first
from pecia.kernel.corpus.search.evidence import CandidateText
from pecia.kernel.corpus.search.explain import explain
from pecia.kernel.corpus.search.fuse import FusedHit, choose_semantic_weight, fuse
from pecia.kernel.corpus.search.hydrate import HydratedChunk
from pecia.kernel.corpus.search.named_files import HITS_PER_FILE, FileCandidate, detect_named_files
from pecia.kernel.corpus.search.plan import (
    SearchHit,
    SearchMode,
    SearchRequest,
    SearchResult,
    merge_filters,
    parse_strict_query,
)
from pecia.kernel.corpus.search.rerank import RERANK_DEPTH, RankedHit, keep_fused_order, rerank
from pecia.kernel.corpus.search.retrieve import (
    KeywordHits,
    Prefetch,
    Retrieval,
    SearchIndexes,
    SearchPlan,
    overfetch,
)
from pecia.kernel.corpus.search.snippet import Snippet, build_snippet
from pecia.kernel.corpus.vectors import knn
from pecia.kernel.corpus.vectors.embedder import Embedder, Vectors
from pecia.kernel.corpus.visibility import VisibilityCache
from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store
from pecia.kernel.store.transaction import Transaction, array_literal
from pecia.kernel.text.chunks.window import WindowSlice, build_window
from pecia.kernel.text.span import Span


def rank_unread(fused: Sequence[FusedHit], above: Sequence[RankedHit]) -> Iterator[RankedHit]:
    """Candidates whose text was not read, below those that were."""
    lowest = above[-1].score if above else 1.0
    for it in fused:
        yield RankedHit(it.id, None, min(lowest, it.score), it)


def rank_lexical_tail(
    words: Sequence[KeywordHit], above: Sequence[RankedHit]
) -> Iterator[RankedHit]:
    """Lexical hits that were not ranked, below those that were."""
    lowest = above[-1].score if above else 1.0
    ranked = {it.id for it in above}
    best = words[0].score if words else 0.0
    for it in words:
        if it.id not in ranked:
            ratio = it.score / best if best else 0.0
            yield RankedHit(it.id, it.group, lowest * ratio, FusedHit(it.id, lowest * ratio, ratio))


def assign_ranks(order: Sequence[RankedHit]) -> Iterator[tuple[RankedHit, float]]:
    """Each with its rank: 1 for the best, never above the one before."""
    best = order[0].score if order else 0.0
    rank = 1.0
    for it in order:
        rank = min(rank, it.score / best if best > 0 else 0.0)
        yield it, rank


__all__ = ["Corpus", "SearchHit", "SearchMode", "SearchRequest", "SearchResult"]

SQL = load_queries("pecia.kernel.corpus.search", "search.sql")

# Candidates that are fused and reranked; later hits keep their lexical order.
MAX_CANDIDATES = 100
# Nearest neighbours. On every set, more never came among the first ten; for callers who see a
# tenth, 30 took 2 ms longer.
MAX_NEAREST = 20
# Read this many more than are shown: they mostly prove that no other candidate gets in.
RERANK_MARGIN = 4


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

    words: list[KeywordHit]
    files: Mapping[int, VisibleFile]


NO_VISIBLE_HITS = VisibleHits([], {})


@dataclass(frozen=True, slots=True)
class Corpus:
    """The searchable corpus; every search is for one caller."""

    store: Store
    reader_cache: ReaderCache
    embedder: Embedder | None = None
    visibility_cache: VisibilityCache = field(default_factory=VisibilityCache)
    lag: IndexLag | None = None

    async def search(self, caller: Caller, ask: SearchRequest) -> SearchResult:
        """The answer, as the caller may see it at this moment."""
        prefetched = self.prefetch(caller, ask)
        async with self.store.reading(caller) as tx:
            return await self.search_in(tx, caller, ask, prefetched)

    def prefetch(self, caller: Caller, ask: SearchRequest) -> Prefetch | None:
        """Start what needs no transaction, before one is opened."""
        return self._indexes.prefetch(caller, _build_plan(ask))

    async def search_in(
        self,
        tx: Transaction,
        caller: Caller,
        ask: SearchRequest,
        prefetched: Prefetch | None = None,
    ) -> SearchResult:
        """Search in a transaction of that caller."""
        retrieval = Retrieval(self._indexes, tx, caller, _build_plan(ask), prefetched)
        if self.lag is not None and (warning := self.lag.stall_warning(caller.tenant_id)):
            retrieval.degraded.append(warning)
        search = _Search(self.reader_cache, tx, caller, ask, retrieval.plan.query, retrieval)
        return await search.run()

    @property
    def _indexes(self) -> SearchIndexes:
        return SearchIndexes(self.reader_cache, self.visibility_cache, self.embedder)


def _build_plan(ask: SearchRequest) -> SearchPlan:
    read = parse_strict_query(ask.query)
    within, query = merge_filters(ask, read.within), replace(read, within=NO_FILTER)
    is_semantic = ask.mode is SearchMode.HYBRID and query.has_terms
    max_hits = max(MAX_CANDIDATES, ask.offset + ask.limit + 1)
    few_hits = RERANK_DEPTH if ask.offset + ask.limit < RERANK_DEPTH else max_hits
    return SearchPlan(ask.query, query, within, is_semantic, max_hits, few_hits, MAX_NEAREST)


@dataclass(slots=True)
class _Search:
    """The state of one search."""

    reader_cache: ReaderCache
    tx: Transaction
    caller: Caller
    ask: SearchRequest
    query: Query
    retrieval: Retrieval
    weight: float = 0.0
    embedded: frozenset[int] = frozenset()
    cosines: dict[int, float] = field(default_factory=dict[int, float])
    passages: dict[int, HydratedChunk] = field(default_factory=dict[int, HydratedChunk])

    async def run(self) -> SearchResult:
        # A source that is absent, hidden or switched off is an error, not an empty result.
        for source in sorted(self.retrieval.plan.within.sources or ()):
            await catalog.get_enabled_source(self.tx, source)
        await self.retrieval.start()
        order = await (
            self._rank_lexical() if self.retrieval.vector is None else self._rank_hybrid()
        )
        hits = await self._build_hits([*assign_ranks(order[: self.end])][self.ask.offset :])
        await self._note_unembedded(hits)
        return SearchResult(tuple(hits), len(order) > self.end, tuple(self.retrieval.degraded))

    async def _note_unembedded(self, hits: Sequence[SearchHit]) -> None:
        """Warn where hits were ranked without a vector, or may be missing for want of one."""
        embedder = self.retrieval.indexes.embedder
        if self.retrieval.vector is None or embedder is None or not self.retrieval.visible.chunks:
            return
        lacking = [it.passage for it in hits if it.passage.id not in self.embedded]
        if lacking:
            is_short = await knn.are_embedded(self.tx, {it.source_id for it in lacking})
            where = f"for {len(lacking)} of {len(hits)} hits"
        else:
            node = f"{EMBEDDING_NODE_PREFIX}{embedder.name}"
            is_short = not hits and await knn.newest_lack(self.tx, node, embedder.name)
            where = "for new files"
        if is_short:
            self.retrieval.degraded.append(
                f"lexical only {where}: embeddings are still being made; search again shortly"
            )

    @property
    def end(self) -> int:
        """Offset plus limit: the end of the requested page."""
        return self.ask.offset + self.ask.limit

    async def _rank_lexical(self) -> list[RankedHit]:
        """The pool, reranked and diversified at its top; then the rest."""
        found = await self._find_lexical(may_be_few=True)
        pool = await self._build_pool(found)
        fused = fuse(pool.scores, {}, weight=0.0, by_file=pool.by_file)
        first = await self._rerank_first(fused, pool)
        ranked = first or await self._rerank(fused, pool, is_hybrid=False)
        return self._append_rest(ranked, lambda: rank_lexical_tail(found.words, ranked))

    async def _rank_hybrid(self) -> list[RankedHit]:
        """Candidates of both retrievers, fused and reranked; then the rest, in lexical order."""
        found = await self._find_lexical()
        pool = await self._build_pool(found)
        cosines = await self._load_pool_cosines(pool)
        language = (
            self.retrieval.indexes.embedder.language if self.retrieval.indexes.embedder else ""
        )
        self.embedded = frozenset(cosines)
        self.weight = choose_semantic_weight(self.ask.query, language) if cosines else 0.0
        fused = fuse(pool.scores, cosines, weight=self.weight, by_file=pool.by_file)
        ranked = await self._rerank(fused, pool, is_hybrid=bool(cosines))
        return self._append_rest(ranked, lambda: rank_lexical_tail(found.words, ranked))

    async def _load_pool_cosines(self, pool: CandidatePool) -> dict[int, float]:
        """The cosines of all candidates. Loaded already, except for hits inside named files."""
        known = self.cosines
        if pool.by_file and (vector := self._query_vector()) is not None:
            known = await knn.load_cosines(self.tx, [*pool.scores], *vector)
        return {it: known[it] for it in pool.scores if it in known} | self.retrieval.nearest

    async def _find_lexical(self, *, may_be_few: bool = False) -> VisibleHits:
        """The best lexical hits that the caller may see, exactly."""
        if not self.retrieval.visible.chunks:
            return NO_VISIBLE_HITS
        words = await self.retrieval.lexical_hits()
        if may_be_few:
            first = await self._first_lexical(words)
            self.retrieval.record_few(did=first is not None)
            if first is not None:
                return VisibleHits(first, {})
        max_hits = reach = self.retrieval.plan.max_hits
        while words.cursor is not None:
            found = words.found[:reach] if words.is_theirs else words.found
            seen = await self._filter_visible(words, found)
            if len(seen.words) >= max_hits or (
                words.is_complete and len(found) == len(words.found)
            ):
                return VisibleHits(seen.words[:max_hits], seen.files)
            reach *= 2
            words = await self.retrieval.more_lexical_hits()
        self.retrieval.degraded.append("the keyword index is being built: search again shortly")
        return NO_VISIBLE_HITS

    async def _first_lexical(self, words: KeywordHits) -> list[KeywordHit] | None:
        """The hits to rerank, if the page ends within them and none is of a long file: then no file
        has to be loaded. Else None.
        """
        if self.end >= RERANK_DEPTH or words.cursor is None:
            return None
        likely = words.found[
            : RERANK_DEPTH if words.is_theirs else overfetch(self.retrieval.visible, RERANK_DEPTH)
        ]
        seen = likely if words.is_now else await self._load_readable(likely)
        if len(seen) < RERANK_DEPTH and not (words.is_complete and len(likely) == len(words.found)):
            return None
        return None if any(it.group in words.long for it in seen) else seen

    async def _load_readable(self, found: Sequence[KeywordHit]) -> list[KeywordHit]:
        await self._hydrate([it.id for it in found])
        return [it for it in found if it.id in self.passages][:RERANK_DEPTH]

    async def _filter_visible(self, words: KeywordHits, found: list[KeywordHit]) -> VisibleHits:
        """The hits that the caller may see; for a hybrid search their cosines are loaded too."""
        if words.is_now and not any(it.group in words.long for it in found):
            await self._load_cosines(found)
            return VisibleHits(found, {})
        files = await self._load_visible_files(found)
        return VisibleHits([it for it in found if it.group in files], files)

    async def _load_cosines(self, found: Sequence[KeywordHit]) -> None:
        if (vector := self._query_vector()) is not None:
            self.cosines |= await knn.load_cosines(self.tx, [it.id for it in found], *vector)

    def _query_vector(self) -> "tuple[Vectors, str] | None":
        """The query's embedding and its model."""
        embedder = self.retrieval.indexes.embedder
        if self.retrieval.vector is None or embedder is None:
            return None
        return self.retrieval.vector, embedder.name

    async def _load_visible_files(self, found: Sequence[KeywordHit]) -> dict[int, VisibleFile]:
        """The visible files of these hits; for a hybrid search the cosines are loaded too."""
        if (vector := self._query_vector()) is None:
            groups = array_literal({it.group for it in found})
            return {
                it.id: it
                for it in await self.tx.fetch_mapped(VisibleFile._make, SQL["files"], ids=groups)
            }
        pairs = [(it.id, it.group) for it in found]
        near = await knn.load_candidates(self.tx, pairs, *vector)
        self.cosines |= {it.chunk_id: it.cosine for it in near if it.cosine is not None}
        return {it.file_id: VisibleFile(it.file_id, it.key, it.title, it.chunks) for it in near}

    async def _build_pool(self, found: VisibleHits) -> CandidatePool:
        """The candidates: the best lexical hits, and the best inside files that the query names."""
        words = found.words[:MAX_CANDIDATES]
        best = {it.group: it.score for it in reversed(words)} if found.files else {}
        files = [FileCandidate(*found.files[it], best=score) for it, score in best.items()]
        named = (
            detect_named_files(self.ask.query, self.query, files) if self.query.has_terms else None
        )
        if named is None:
            return build_pool(words)
        groups = [*named.files]
        max_hits = HITS_PER_FILE * len(groups)
        visible = self.retrieval.visible.visible
        inside = await self.reader_cache.submit(
            self.caller.tenant_id,
            lambda index: index.search_groups(named.query, groups, max_hits, visible),
        )
        return merge_pools(words, inside, named)

    async def _rerank(
        self, fused: list[FusedHit], pool: CandidatePool, *, is_hybrid: bool
    ) -> list[RankedHit]:
        chosen = pool.top(fused, RERANK_DEPTH)
        await self._hydrate([it.id for it in chosen])
        first = [it for it in chosen if it.id in self.passages]
        readings = {it.id: _candidate_text(self.passages[it.id]) for it in first}
        if is_hybrid and self.ask.rerank:
            looked = rerank(first, readings, self.query, weight=self.weight)
        else:
            looked = keep_fused_order(first, readings)
        spread = diversify(looked, readings, pool.close, self.end)
        below = {it.id for it in fused} - {it.id for it in chosen}
        return self._append_rest(
            spread, lambda: rank_unread([it for it in fused if it.id in below], looked)
        )

    async def _rerank_first(
        self, fused: list[FusedHit], pool: CandidatePool
    ) -> list[RankedHit] | None:
        """Rerank a lexical search from its first hits alone, if they decide the page; else None."""
        first, rest = (
            fused[: self.end + RERANK_MARGIN],
            fused[self.end + RERANK_MARGIN : RERANK_DEPTH],
        )
        if pool.close or not rest:
            return None
        await self._hydrate([it.id for it in first])
        readings = {
            it.id: _candidate_text(self.passages[it.id]) for it in first if it.id in self.passages
        }
        read = keep_fused_order(first, readings)
        return diversify_first([*read, *rank_unread(rest, read)], readings, self.end)

    def _append_rest(
        self, ranked: list[RankedHit], rest: Callable[[], Iterator[RankedHit]]
    ) -> list[RankedHit]:
        """Append the rest, unless the page and one hit more are there already."""
        return ranked if len(ranked) > self.end else [*ranked, *rest()]

    async def _build_hits(self, page: Sequence[tuple[RankedHit, float]]) -> list[SearchHit]:
        ids = [it.id for it, _ in page]
        await self._hydrate(ids)
        hits = [self.passages[it] for it in ids if it in self.passages]
        around = await hydrate.load_neighbours(self.tx, hits)
        shown = {it.id: build_snippet(it.text, self.query, it.language) for it in hits}
        fields = await self._load_field_scores(ids)
        return [
            self._build_hit(it, rank, shown[it.id], around[it.id], fields.get(it.id, {}))
            for it, rank in page
            if it.id in shown
        ]

    async def _hydrate(self, ids: Sequence[int]) -> None:
        missing = [it for it in ids if it not in self.passages]
        if missing:
            self.passages |= {it.id: it for it in await hydrate.hydrate(self.tx, missing)}

    async def _load_field_scores(self, ids: list[int]) -> dict[int, dict[str, float]]:
        if not self.ask.explain or not ids:
            return {}
        visible = self.retrieval.visible.visible
        return await self.reader_cache.submit(
            self.caller.tenant_id, lambda index: index.explain(self.query, ids, visible)
        )

    def _build_hit(
        self,
        ranked: RankedHit,
        rank: float,
        shown: Snippet,
        around: Sequence[WindowSlice],
        fields: Mapping[str, float],
    ) -> SearchHit:
        passage = self.passages[ranked.id]
        focus = Span(passage.start + shown.start, passage.start + shown.end)
        return SearchHit(
            passage,
            window=build_window(around, passage.seq, focus=focus),
            snippet=shown.html,
            rank=rank,
            why=_explanation(ranked, fields, self.weight) if self.ask.explain else None,
        )


def _candidate_text(it: HydratedChunk) -> CandidateText:
    headings = " ".join(it.headings)
    return CandidateText(
        it.file_id, it.prefix + it.text, it.title, headings, it.language, page=it.page_no
    )


def _explanation(it: RankedHit, fields: Mapping[str, float], weight: float) -> dict[str, Json]:
    why = explain(it, fields, weight=weight)
    return {
        "score": why.score,
        "parts": dict(why.parts),
        "found_by_words": why.found_by_words,
        "cosine": why.cosine,
        "trust": why.trust,
        "evidence": asdict(why.evidence),
    }
