"""Search while somebody types: lexical alone, the last word as the beginning of words.

A keystroke's search is read for a moment. So nothing is reranked, no match is estimated, no
neighbour is read and the caller's last writes are not waited for. What a caller may not see changes
nothing here either: hits come from their ACL classes and are read under their rights.
"""

from dataclasses import dataclass, replace

from pecia.kernel.corpus.keyword.analysis.token_filters import split_words
from pecia.kernel.corpus.keyword.entry import KeywordHit
from pecia.kernel.corpus.keyword.idf import VisibleStatistics
from pecia.kernel.corpus.keyword.index import KeywordIndex
from pecia.kernel.corpus.keyword.query.parser import Filter, Query
from pecia.kernel.corpus.search.excerpt import build_snippet, build_window
from pecia.kernel.corpus.search.hydrate import ChunkReader, HydratedChunk, SearchHit
from pecia.kernel.corpus.search.plan import SearchRequest, merge_filters, parse_strict_query
from pecia.kernel.corpus.search.search import Corpus, SearchResult
from pecia.kernel.corpus.visibility import VisibleSet, load_visible_set
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.store import Transaction
from pecia.kernel.text.span import Span

# A shorter beginning is that of too many words to mean any.
MIN_PREFIX_CHARS = 3
MAX_COMPLETIONS = 6
SPARE_HITS = 4


@dataclass(frozen=True, slots=True)
class _Lookup:
    """What one look into the index found; `query` has the completions too."""

    query: Query
    hits: list[KeywordHit]
    is_all: bool
    is_built: bool


async def search_typed(
    corpus: Corpus, tx: Transaction, caller: Caller, ask: SearchRequest
) -> SearchResult:
    """The best hits by words so far."""
    visible = await load_visible_set(tx, merge_filters(ask, parse_strict_query(ask.query).within))
    chunks = ChunkReader(tx)
    reach = ask.limit + 1 + SPARE_HITS
    while True:
        found = await corpus.reader_cache.submit(
            caller.tenant_id, lambda index, reach=reach: look_up(index, ask, visible, reach)
        )
        read = await chunks.read([it.id for it in found.hits])
        # Hits of an index that lags may be gone, or hidden since.
        if len(read) > ask.limit or found.is_all:
            break
        reach *= 4
    shown = [it for it in found.hits if it.id in read]
    best = shown[0].score if shown else 0.0
    ranked = [(read[it.id], it.score / best if best else 1.0) for it in shown]
    hits = tuple(_typed_hit(it, rank, found.query) for it, rank in ranked[: ask.limit])
    degraded = () if found.is_built else ("the keyword index is being built: search again shortly",)
    return SearchResult(hits, len(ranked) > ask.limit, degraded)


def look_up(index: KeywordIndex, ask: SearchRequest, visible: VisibleSet, reach: int) -> _Lookup:
    """The hits in the caller's ACL classes."""
    asked = parse_strict_query(ask.query)
    if index.cursor() is None:
        return _Lookup(asked, [], is_all=True, is_built=False)
    within = merge_filters(ask, asked.within)
    if visible.visible is not None:
        within = replace(within, classes=frozenset(visible.classes))
    query = complete(index, replace(asked, within=Filter()), ask.query, visible.visible)
    found = index.top(query, within, reach, reach - SPARE_HITS, visible.visible)
    return _Lookup(query, found.hits, found.is_all, is_built=True)


def complete(
    index: KeywordIndex, query: Query, typed: str, visible: VisibleStatistics | None
) -> Query:
    """The query with the words that its last one may become, if it is none yet."""
    word = next(reversed(split_words(typed.split()[-1])), "")
    is_open = typed[-1].isalnum() and len(word) >= MIN_PREFIX_CHARS
    if not is_open or word not in query.words:
        return query
    return replace(query, words=(*query.words, *index.completions(word, visible, MAX_COMPLETIONS)))


def _typed_hit(it: HydratedChunk, rank: float, query: Query) -> SearchHit:
    snippet = build_snippet(it.text, query, it.language)
    focus = Span(it.start + snippet.start, it.start + snippet.end)
    return SearchHit(it, build_window([it], it.seq, focus=focus), focus, snippet.html, rank)
