"""Search over everything a caller may see: plan, retrieve, fuse, rerank, hydrate, in this order in
`Corpus.search_in`.

Index results are hints: every hit is read under the caller's rights before it is shown, and text
that they may not see changes nothing in the answer.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice

from pecia.kernel.corpus.catalog import catalog
from pecia.kernel.corpus.changelog import EMBEDDING_NODE_PREFIX
from pecia.kernel.corpus.keyword.analysis.tokenizer import find_translated
from pecia.kernel.corpus.keyword.lag import IndexLag
from pecia.kernel.corpus.keyword.query.parser import Query
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.corpus.search.evidence import CandidateText
from pecia.kernel.corpus.search.explain import explain
from pecia.kernel.corpus.search.fuse import (
    NO_SCORES,
    SEMANTIC_WEIGHT,
    FusedHit,
    choose_semantic_weight,
    fuse,
)
from pecia.kernel.corpus.search.hydrate import ChunkReader, HydratedChunk, SearchHit, build_hits
from pecia.kernel.corpus.search.match import (
    NO_ANSWER_MATCH,
    MatchEstimator,
    detect_text_language,
)
from pecia.kernel.corpus.search.plan import (
    QueryTranslator,
    SearchMode,
    SearchPlan,
    SearchRequest,
    build_plan,
    translatable_text,
)
from pecia.kernel.corpus.search.rerank import (
    MAX_PAGE_SHARE,
    NO_MATCHES,
    RERANK_DEPTH,
    RankedHit,
    assign_ranks,
    diversify,
    keep_fused_order,
    promote_nearest,
    rank_lexical_tail,
    rank_unread,
    rerank,
    rerank_lexical,
)
from pecia.kernel.corpus.search.retrieve import Candidates, Prefetch, Retrieval, SearchIndexes
from pecia.kernel.corpus.vectors import knn
from pecia.kernel.corpus.vectors.embedder import Embedder
from pecia.kernel.corpus.visibility import VisibilityCache, VisibilityPolicy
from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.store import Store, Transaction

__all__ = ["Corpus", "SearchHit", "SearchMode", "SearchRequest", "SearchResult"]

MAX_ABSENT_WORDS = 5
MAX_ABSENT_WORD_CHARS = 60
# The best hits decide whether anything answers, however many are shown.
MIN_JUDGED_HITS = 8


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first. `degraded` says what the answer had to do without, and why. `more` are the
    files that have many hits, with how many come later, as far as was looked. `absent` are words of
    the query that stand in nothing that the caller sees. `is_unlikely`: there are hits, and none of
    the best is likely to answer; a later page does not tell.
    """

    hits: tuple[SearchHit, ...]
    has_more: bool
    degraded: tuple[str, ...] = field(default=())
    more: Mapping[int, int] = field(default_factory=dict[int, int])
    absent: tuple[str, ...] = ()
    is_unlikely: bool = False


@dataclass(frozen=True, slots=True)
class Corpus:
    """The searchable corpus; every search is for one caller."""

    store: Store
    reader_cache: ReaderCache
    embedder: Embedder | None = None
    visibility_cache: VisibilityCache = field(default_factory=VisibilityCache)
    lag: IndexLag | None = None
    policy: VisibilityPolicy = field(default_factory=VisibilityPolicy)
    translator: QueryTranslator | None = None

    async def search(self, caller: Caller, ask: SearchRequest) -> SearchResult:
        """The answer, as the caller may see it at this moment."""
        prefetched = await self.prefetch(caller, ask)
        async with self.store.reading(caller) as tx:
            return await self.search_in(tx, caller, ask, prefetched)

    async def prefetch(self, caller: Caller, ask: SearchRequest) -> Prefetch | None:
        """Start what needs no transaction, before one is opened."""
        return self._indexes.prefetch(caller, await self._plan(ask))

    async def search_in(
        self,
        tx: Transaction,
        caller: Caller,
        ask: SearchRequest,
        prefetched: Prefetch | None = None,
    ) -> SearchResult:
        """Search in a transaction of that caller."""
        plan = await self._plan(ask)
        # A source that is absent, hidden or switched off is an error, not an empty result.
        for source in sorted(plan.within.sources or ()):
            await catalog.get_enabled_source(tx, source)
        chunks = ChunkReader(tx)

        found = await Retrieval(self._indexes, tx, caller, plan, chunks).run(prefetched)
        weight = self._semantic_weight(ask, found)
        pool = found.pool
        fused = fuse(pool.scores, found.cosines, weight=weight, by_file=pool.by_file)

        texts = await _read_texts(plan, found, fused, chunks)
        estimator = self._match_estimator(plan, found, weight)
        ranked = _rank(plan, found, fused, texts, weight, estimator)
        if len(ranked) <= plan.end:
            ranked = [*ranked, *rank_lexical_tail(found.lexical, ranked)]
        end = ask.offset + ask.limit
        judged = [*assign_ranks(ranked[: plan.end])][ask.offset :]
        page = judged[: ask.limit]

        shown = await chunks.read([it.id for it, _ in judged])
        why = await self._explain(caller, plan, found, [it for it, _ in page], weight, shown)
        visible = [(shown[it.id], rank) for it, rank in page if it.id in shown]
        best = [it.id for it, _ in judged if it.id in shown]
        matches = _estimate(plan, estimator, {it: shown[it] for it in best})
        hits = await build_hits(tx, visible, plan.query, matches, why)

        stalled = self.lag.stall_warning(caller.tenant_id) if self.lag else None
        unembedded = await self._unembedded_warning(tx, found, hits)
        degraded = (stalled, *found.degraded, unembedded)
        return SearchResult(
            tuple(hits),
            len(ranked) > end,
            tuple(it for it in degraded if it is not None),
            _count_later(ranked, found, end, hits),
            _select_absent(plan.query, found.terms.absent) if visible and ask.offset == 0 else (),
            is_unlikely=ask.offset == 0 and _is_unlikely(best, matches),
        )

    async def _plan(self, ask: SearchRequest) -> SearchPlan:
        if ask.offset == 0:
            ask = replace(ask, limit=max(ask.limit, MIN_JUDGED_HITS))
        if self.translator is None:
            return build_plan(ask)
        return build_plan(ask, await self.translator.translate(translatable_text(ask.query)))

    @property
    def _indexes(self) -> SearchIndexes:
        return SearchIndexes(self.reader_cache, self.visibility_cache, self.embedder, self.policy)

    def _semantic_weight(self, ask: SearchRequest, found: Candidates) -> float:
        language = self.embedder.language if self.embedder else ""
        return choose_semantic_weight(ask.query, language) if found.cosines else 0.0

    def _match_estimator(
        self, plan: SearchPlan, found: Candidates, weight: float
    ) -> MatchEstimator | None:
        """Cosines count for a query in the embedder's language: others say little. None where the
        query has no terms, or nothing was found.
        """
        if not plan.query.has_terms or not (found.pool.scores or found.cosines):
            return None
        is_polyglot = self.embedder is not None and not self.embedder.language
        return MatchEstimator(
            plan.query,
            found.terms.rarity,
            {**found.cosines, **found.pool.nearest} if weight >= SEMANTIC_WEIGHT else NO_SCORES,
            detect_text_language(plan.ask.query) if is_polyglot else None,
        )

    async def _explain(
        self,
        caller: Caller,
        plan: SearchPlan,
        found: Candidates,
        page: Sequence[RankedHit],
        weight: float,
        shown: Mapping[int, HydratedChunk],
    ) -> dict[int, dict[str, Json]]:
        """Why each hit of the page ranks where it does, if that was asked."""
        if not plan.ask.explain or not page:
            return {}
        ids, visible = [it.id for it in page], found.visible.visible
        fields = await self.reader_cache.submit(
            caller.tenant_id, lambda index: index.explain(plan.query, ids, visible)
        )
        reasons = {it.id: explain(it, fields.get(it.id, {}), weight=weight) for it in page}
        return {
            id_: {
                "score": it.score,
                "parts": dict(it.parts),
                "found_by_words": it.found_by_words,
                "cosine": it.cosine,
                "trust": it.trust,
                "evidence": asdict(it.evidence),
                **_translated_words(plan, shown.get(id_)),
            }
            for id_, it in reasons.items()
        }

    async def _unembedded_warning(
        self, tx: Transaction, found: Candidates, hits: Sequence[SearchHit]
    ) -> str | None:
        """A warning where hits were ranked without a vector, or may be missing for want of one."""
        if not found.is_hybrid or self.embedder is None or not found.visible.chunks:
            return None
        embedded = {*found.cosines, *found.pool.nearest}
        lacking = [it.passage for it in hits if it.passage.id not in embedded]
        if lacking:
            is_short = await knn.are_embedded(tx, {it.source_id for it in lacking})
            where = f"for {len(lacking)} of {len(hits)} hits"
        else:
            node = f"{EMBEDDING_NODE_PREFIX}{self.embedder.name}"
            is_short = not hits and await knn.newest_lack(tx, node, self.embedder.name)
            where = "for new files"
        if not is_short:
            return None
        return f"lexical only {where}: embeddings are still being made; search again shortly"


def _is_unlikely(best: Sequence[int], matches: Mapping[int, float]) -> bool:
    judged = [matches[it] for it in best[:MIN_JUDGED_HITS] if it in matches]
    return bool(judged) and max(judged) < NO_ANSWER_MATCH


def _select_absent(query: Query, absent: tuple[str, ...]) -> tuple[str, ...]:
    """The absent words that are worth telling. Of a query in another language than the texts most
    words are absent, and that says nothing: one that was translated, or has other letters."""
    is_ascii = all(it.isascii() for it in query.words)
    is_foreign = bool(query.translated) or (not is_ascii and 2 * len(absent) > len(query.words))
    told = (it for it in absent if len(it) <= MAX_ABSENT_WORD_CHARS)
    return () if is_foreign else tuple(islice(told, MAX_ABSENT_WORDS))


def _count_later(
    ranked: Sequence[RankedHit], found: Candidates, end: int, hits: Sequence[SearchHit]
) -> dict[int, int]:
    """How many hits come later of each file that has as many on this page as it may."""
    shown = Counter(it.passage.file_id for it in hits)
    groups = {it.id: it.group for it in found.lexical}
    later = Counter(groups.get(it.id, it.file) for it in ranked[end:])
    return {
        file: later[file] for file, held in shown.items() if held >= MAX_PAGE_SHARE and later[file]
    }


async def _read_texts(
    plan: SearchPlan, found: Candidates, fused: list[FusedHit], chunks: ChunkReader
) -> dict[int, CandidateText]:
    """The texts of the best candidates, as far as the caller may see them."""
    chosen = found.pool.top(fused, RERANK_DEPTH)
    ids = dict.fromkeys([*(it.id for it in chosen), *found.pool.nearest])
    return _candidate_texts(plan, await chunks.read([*ids]))


def _rank(
    plan: SearchPlan,
    found: Candidates,
    fused: list[FusedHit],
    texts: dict[int, CandidateText],
    weight: float,
    estimator: MatchEstimator | None,
) -> list[RankedHit]:
    """The candidates that were read, reranked and diversified; then the others, if the page needs
    them.
    """
    chosen = found.pool.top(fused, RERANK_DEPTH)
    # The pages of a named file need not hold its name.
    does_count = plan.ask.rerank and not found.pool.by_file
    matches = estimator.estimate(texts) if estimator and does_count else NO_MATCHES
    if not plan.ask.rerank:
        ranked = keep_fused_order(chosen, texts)
    elif found.cosines:
        ranked = rerank(chosen, texts, plan.query, weight=weight, matches=matches)
    else:
        ranked = rerank_lexical(chosen, texts, matches)
    diverse = diversify(ranked, texts, found.pool.close, plan.end)
    if plan.ask.rerank:
        diverse = promote_nearest(diverse, found.pool.nearest, texts, found.pool.unnamed)
    if len(diverse) > plan.end:
        return diverse
    read = {it.id for it in (*chosen, *diverse)}
    return [*diverse, *rank_unread([it for it in fused if it.id not in read], ranked)]


def _estimate(
    plan: SearchPlan, estimator: MatchEstimator | None, chunks: dict[int, HydratedChunk]
) -> dict[int, float]:
    return estimator.estimate(_candidate_texts(plan, chunks)) if estimator else {}


def _translated_words(plan: SearchPlan, chunk: HydratedChunk | None) -> dict[str, Json]:
    """The words of the query that a text has in translation only, and which those are."""
    if chunk is None:
        return {}
    text = " ".join((chunk.title, *chunk.headings, chunk.prefix, chunk.text))
    found = find_translated(plan.query, text, chunk.language)
    return {"translated": {word: [*terms] for word, terms in found.items()}} if found else {}


def _candidate_texts(
    plan: SearchPlan, chunks: dict[int, HydratedChunk]
) -> dict[int, CandidateText]:
    return {
        id_: CandidateText(
            it.file_id,
            it.prefix + it.text,
            it.title,
            " ".join(it.headings),
            it.language,
            page=it.page_no,
            seq=it.seq if plan.ask.fold_neighbours else None,
        )
        for id_, it in chunks.items()
    }
