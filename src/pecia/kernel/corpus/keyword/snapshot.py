"""One commit of an index, as it is searched. Immutable, so threads may share it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeAlias

import tantivy

from pecia.kernel.corpus.keyword.analysis.analyzer import (
    ANALYZER_VERSION,
    CURSOR_ROLE,
    Weighted,
    query_terms,
    weighted_context_terms,
    weighted_inside,
    weighted_query_terms,
)
from pecia.kernel.corpus.keyword.analysis.token_filters import STEMMERS, STOP_WORDS, NamePart
from pecia.kernel.corpus.keyword.analysis.tokenizer import folding_analyzer
from pecia.kernel.corpus.keyword.entry import NO_HITS, IndexedChunk, KeywordHit, TopHits
from pecia.kernel.corpus.keyword.idf import DocumentFrequencies, VisibleStatistics
from pecia.kernel.corpus.keyword.query.builder import (
    bm25_query,
    chunk_query,
    filter_clauses,
    filtered_query,
    group_query,
    must_clauses,
)
from pecia.kernel.corpus.keyword.query.parser import NO_FILTER, Filter, Query

# The words of texts, and those of names that no text has.
_COMPLETED_FIELDS = ("folded", "path")
# Fetched beyond the limit, to resolve most ties at its end at once.
_MARGIN = 8
_MAX_CACHED_QUERIES = 64

Terms: TypeAlias = Callable[[Query, tuple[str, ...]], Iterable[Weighted]]
"""The terms of a query in texts of some languages."""

_ID, _SCORE = attrgetter("id"), attrgetter("score")


class IndexSnapshot:
    """The read methods of `KeywordIndex`, for one commit."""

    def __init__(self, index: tantivy.Index) -> None:
        self._schema = index.schema
        self._searcher = index.searcher()
        self._cursor = self._read_cursor()
        self._rarity = DocumentFrequencies(self._schema, self._searcher)
        self._languages = self._rarity.visible_languages(STEMMERS, None)
        # A search asks for the terms of its query twice.
        self._terms = lru_cache(_MAX_CACHED_QUERIES)(self._weigh_terms)

    def cursor(self) -> int | None:
        return self._cursor

    def _read_cursor(self) -> int | None:
        role = tantivy.Query.term_query(self._schema, "role", CURSOR_ROLE, "basic")
        found = [it for _, it in self._searcher.search(role, 1, count=False).hits]
        versions, cursors = self._values(found, "version", "cursor")
        return cursors[0] if versions == [ANALYZER_VERSION] else None

    def top(
        self, query: Query, asked: Filter, most: int, least: int, visible: VisibleStatistics | None
    ) -> TopHits:
        if query.has_terms:
            wanted = bm25_query(self._schema, self._terms(weighted_query_terms, query, visible))
            if wanted is None:
                return NO_HITS
            return self._top(self._add_filters(query, asked, wanted), most, least)
        if query.within == NO_FILTER:
            return NO_HITS
        found = self._search_by_id(self._add_filters(query, asked, tantivy.Query.all_query()), most)
        return TopHits(found, is_all=len(found) < most)

    def search_groups(
        self, query: Query, groups: Sequence[int], limit: int, visible: VisibleStatistics | None
    ) -> list[KeywordHit]:
        if not groups or not query.has_terms:
            return []
        terms = self._terms(weighted_inside, query, visible)
        wanted = group_query(self._schema, query, terms, groups)
        return [it for it in self._top(wanted, limit, limit).hits if it.score > 0]

    def context_scores(
        self, query: Query, ids: Sequence[int], visible: VisibleStatistics | None
    ) -> dict[int, float]:
        if not ids or not query.has_terms:
            return {}
        own = self._terms(weighted_query_terms, query, visible)
        context = self._terms(weighted_context_terms, query, visible)
        terms = [*(it for it in own if it.name != "stems"), *context]
        found = self._search_by_score(chunk_query(self._schema, terms, ids), len(ids))
        return {it.id: it.score for it in found}

    def count(self, asked: Filter) -> int:
        everything = self._add_filters(Query(), asked, tantivy.Query.exists_query("id"))
        # The engine's stubs do not say that a result has a count.
        found: Any = self._searcher.search(everything, 1, count=True)
        return int(found.count)

    def long_groups(self, groups: Iterable[int], size: int) -> frozenset[int]:
        return frozenset(it for it in groups if self._searcher.doc_freq("group", it) >= size)

    def rarity(self, query: Query, visible: VisibleStatistics | None) -> dict[str, float]:
        languages = self._visible_languages(visible)
        stems = [
            (field, term)
            for name, field, term in query_terms(query, languages)
            if name in ("stems", "cjk")
        ]
        stems += (("stems_en", term) for it in query.translated for term, _ in it.terms)
        return self._rarity.rarity(stems, visible)

    def absent_words(self, query: Query, visible: VisibleStatistics | None) -> tuple[str, ...]:
        languages = self._visible_languages(visible)
        return tuple(
            word
            for word in query.words
            if not any(word in STOP_WORDS[it] for it in (*languages, "en"))
            and not self._occurs(word, languages, visible)
        )

    def completions(
        self, beginning: str, visible: VisibleStatistics | None, limit: int
    ) -> tuple[str, ...]:
        if self._occurs(beginning, self._visible_languages(visible), visible):
            return ()
        begun = "".join(folding_analyzer().analyze(beginning))
        # Hidden words must not take the place of visible ones.
        only = (
            None
            if visible is None
            else next(filter_clauses(self._schema, Filter(classes=visible.classes)))
        )
        found = [
            it
            for field in _COMPLETED_FIELDS
            for it in self._searcher.terms_with_prefix(field, begun, only, limit)
        ]
        best = sorted(found, key=lambda it: (-it[1], it[0]))
        return tuple(dict.fromkeys(word for word, count in best if count))[:limit]

    def _occurs(
        self, word: str, languages: tuple[str, ...], visible: VisibleStatistics | None
    ) -> bool:
        # Most words stand as they are; to stem one in every language takes longer than to count it.
        if self._rarity.frequency("folded", word, visible):
            return True
        terms = query_terms(Query(words=(word,), parts=(NamePart(word, word, 1),)), languages)
        return any(self._rarity.frequency(field, term, visible) for _, field, term in terms)

    def explain(
        self, query: Query, ids: Sequence[int], visible: VisibleStatistics | None
    ) -> dict[int, dict[str, float]]:
        found: dict[int, dict[str, float]] = {it: {} for it in ids}
        if not ids:
            return found
        only = tantivy.Query.term_set_query(self._schema, "id", list(ids))
        terms = self._terms(weighted_query_terms, query, visible)
        for name in dict.fromkeys(it.name for it in terms):
            wanted = bm25_query(self._schema, (it for it in terms if it.name == name))
            if wanted is not None:
                for hit in self._search_by_score(filtered_query(wanted, [only]), len(ids)):
                    found[hit.id][name] = hit.score
        return found

    def iter_chunks(self) -> Iterator[IndexedChunk]:
        return (
            IndexedChunk(*it)
            for it in zip(*self._columns("id", "group", "acl", "mark"), strict=True)
        )

    def groups(self) -> set[int]:
        return set(self._columns("group")[0])

    def _add_filters(self, query: Query, asked: Filter, wanted: tantivy.Query) -> tantivy.Query:
        places = dict.fromkeys((query.within, asked))
        conditions = [it for place in places for it in filter_clauses(self._schema, place)]
        return filtered_query(wanted, [*must_clauses(self._schema, query), *conditions])

    def _weigh_terms(
        self, terms: Terms, query: Query, visible: VisibleStatistics | None
    ) -> list[Weighted]:
        """The engine's query, weighted as in an index of the visible texts alone."""
        languages = self._visible_languages(visible)
        return [*self._rarity.apply_visible_idf(terms(query, languages), visible)]

    def _visible_languages(self, visible: VisibleStatistics | None) -> tuple[str, ...]:
        if visible is None:
            return self._languages
        return self._rarity.visible_languages(self._languages, visible)

    def _top(self, wanted: tantivy.Query, most: int, least: int) -> TopHits:
        asked = most + _MARGIN
        while True:
            found = self._search_by_score(wanted, asked)
            if first := _top_hits(found, asked, most, least):
                return first
            asked *= 4

    def _search_by_score(self, wanted: tantivy.Query, limit: int) -> list[KeywordHit]:
        """Hits in the engine's order."""
        # Counting takes a fifth more. The driver keeps the engine from skipping in either case.
        found = self._searcher.search(wanted, limit, count=False).hits
        addresses = [it for _, it in found]
        ids, groups, acls, chunks = self._values(addresses, "id", "group", "acl", "chunks")
        scores = (_round(score) for score, _ in found)
        return [*map(KeywordHit._make, zip(ids, groups, scores, acls, chunks, strict=True))]

    def _search_by_id(self, wanted: tantivy.Query, limit: int) -> list[KeywordHit]:
        found = self._searcher.search(
            wanted, limit, count=False, order_by_field="id", order=tantivy.Order.Asc
        )
        ids, groups, acls = self._values([it for _, it in found.hits], "id", "group", "acl")
        return [
            KeywordHit(id_, group, 0.0, acl)
            for id_, group, acl in zip(ids, groups, acls, strict=True)
        ]

    def _columns(self, *names: str) -> list[list[int]]:
        everything = tantivy.Query.exists_query("id")
        found = self._searcher.search(everything, max(1, self._searcher.num_docs), count=False)
        return self._values([it for _, it in found.hits], *names)

    def _values(self, addresses: list[tantivy.DocAddress], *names: str) -> list[list[int]]:
        """Columns of the same chunks. Every chunk has them, so none is None."""
        values: Any = self._searcher.fast_field_values
        return [values(it, addresses) for it in names]


def _top_hits(found: list[KeywordHit], asked: int, most: int, least: int) -> TopHits | None:
    """The first of what was found, by score, then id. The engine breaks ties otherwise, so one at
    the end that may go on is left out; None when too few stay.
    """
    is_whole = len(found) < asked
    sure = found if is_whole else [it for it in found if it.score > found[-1].score]
    if not is_whole and len(sure) < least:
        return None
    ranked = sorted(sorted(sure, key=_ID), key=_SCORE, reverse=True)
    return TopHits(ranked[:most], is_all=is_whole and len(ranked) <= most)


def _round(score: float) -> float:
    """Rounded: the last digits depend on the engine's order of summation."""
    return float(f"{score:.5g}")
