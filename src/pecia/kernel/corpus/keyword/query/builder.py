"""A query in the language of the engine. Nothing here searches."""

from collections.abc import Iterable, Iterator, Sequence

import tantivy

from pecia.kernel.corpus.keyword.analysis import analyzer
from pecia.kernel.corpus.keyword.analysis.analyzer import Weighted
from pecia.kernel.corpus.keyword.analysis.token_filters import cjk_query_bigrams
from pecia.kernel.corpus.keyword.query.parser import Query

_MUST, _SHOULD = tantivy.Occur.Must, tantivy.Occur.Should


def bm25_query(schema: tantivy.Schema, terms: Iterable[Weighted]) -> tantivy.Query | None:
    """Whatever holds one of the terms; None without a term.

    It is flat: the engine is quickest where all parts are plain terms.
    """
    parts = [(_SHOULD, _boosted(schema, it)) for it in terms]
    return tantivy.Query.boolean_query(parts) if parts else None


def group_query(
    schema: tantivy.Schema, query: Query, terms: Iterable[Weighted], groups: Sequence[int]
) -> tantivy.Query:
    """The terms of the query on the pages of some groups, whatever their names are.

    The groups are a clause beside the terms: the engine then reads nothing outside them.
    """
    parts = [(_SHOULD, _boosted(schema, it)) for it in terms]
    only = tantivy.Query.term_set_query(schema, "group", list(groups))
    conditions = (only, *must_clauses(schema, query))
    silent = [(_MUST, tantivy.Query.const_score_query(it, 0.0)) for it in conditions]
    return tantivy.Query.boolean_query([*silent, *parts])


def must_clauses(schema: tantivy.Schema, query: Query) -> Iterator[tantivy.Query]:
    """What has to be there whatever else is: phrases, and words of the title."""
    for text in query.phrases:
        yield from _phrase(schema, text)
    for word in query.titles:
        for term in analyzer.folding_analyzer().analyze(word):
            yield tantivy.Query.term_query(schema, "title", term, "freq")


def filtered_query(wanted: tantivy.Query, clauses: Sequence[tantivy.Query]) -> tantivy.Query:
    """What also fulfils every clause, scored as before."""
    if not clauses:
        return wanted
    silent = [(_MUST, tantivy.Query.const_score_query(it, 0.0)) for it in clauses]
    return tantivy.Query.boolean_query([(_MUST, wanted), *silent])


def _boosted(schema: tantivy.Schema, it: Weighted) -> tantivy.Query:
    found = tantivy.Query.term_query(schema, it.field, it.term, "freq")
    return tantivy.Query.boost_query(found, it.weight)


def _phrase(schema: tantivy.Schema, text: str) -> Iterator[tantivy.Query]:
    words = analyzer.phrase_terms(text)
    pairs = cjk_query_bigrams(text)
    if len(words) > 1:
        yield tantivy.Query.phrase_query(schema, "folded", list(words))
    elif words:
        yield tantivy.Query.term_query(schema, "folded", words[0][1], "freq")
    elif not pairs:
        # A word too long for the index is in no text of it.
        yield tantivy.Query.empty_query()
    for pair in pairs:
        yield tantivy.Query.term_query(schema, "cjk", pair, "freq")
