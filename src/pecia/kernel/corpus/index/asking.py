"""A query in the language of the engine. Nothing here searches."""

from collections.abc import Iterable, Iterator, Sequence

import tantivy

from pecia.kernel.corpus.index import analyse
from pecia.kernel.corpus.index.query import Query
from pecia.kernel.corpus.index.words import cjk_wanted

_MUST, _SHOULD = tantivy.Occur.Must, tantivy.Occur.Should


def union(schema: tantivy.Schema, query: Query, languages: Iterable[str]) -> tantivy.Query | None:
    """Every term of the query in every field, weighted; None without a term.

    It is flat: the engine is quickest where all parts are plain terms.
    """
    parts = [
        (_SHOULD, _boosted(schema, field, term, weight))
        for _, field, term, weight in analyse.weighted(query, languages)
    ]
    return tantivy.Query.boolean_query(parts) if parts else None


def matches(
    schema: tantivy.Schema, query: Query, languages: Iterable[str], only: str
) -> tantivy.Query | None:
    """Every term of the query in one field, each worth its weight; None without a term.

    Not BM25: that holds how rare a word is, and how long texts are, among texts that whoever reads
    the explanation may not see.
    """
    parts = [
        (_SHOULD, tantivy.Query.const_score_query(_term(schema, field, term), weight))
        for name, field, term, weight in analyse.weighted(query, languages)
        if name == only
    ]
    return tantivy.Query.boolean_query(parts) if parts else None


def inside(
    schema: tantivy.Schema, query: Query, languages: Iterable[str], groups: Sequence[int]
) -> tantivy.Query:
    """The terms of the query on the pages of some groups, whatever their names are.

    The groups are a part beside the terms: the engine then looks at nothing outside them.
    """
    parts = [
        (_SHOULD, _boosted(schema, field, term, analyse.INSIDE_WEIGHTS[name]))
        for name, field, term in analyse.terms(query, languages)
        if name in analyse.INSIDE_WEIGHTS
    ]
    only = tantivy.Query.term_set_query(schema, "group", list(groups))
    conditions = (only, *musts(schema, query))
    silent = [(_MUST, tantivy.Query.const_score_query(it, 0.0)) for it in conditions]
    return tantivy.Query.boolean_query([*silent, *parts])


def musts(schema: tantivy.Schema, query: Query) -> Iterator[tantivy.Query]:
    """What has to be there whatever else is: phrases, and words of the title."""
    for text in query.phrases:
        yield from _phrase(schema, text)
    for word in query.titles:
        for term in analyse.folding().analyze(word):
            yield tantivy.Query.term_query(schema, "title", term, "freq")


def narrowed(wanted: tantivy.Query, clauses: Sequence[tantivy.Query]) -> tantivy.Query:
    """What also fulfils every clause, scored as before."""
    if not clauses:
        return wanted
    silent = [(_MUST, tantivy.Query.const_score_query(it, 0.0)) for it in clauses]
    return tantivy.Query.boolean_query([(_MUST, wanted), *silent])


def _boosted(schema: tantivy.Schema, field: str, term: str, weight: float) -> tantivy.Query:
    return tantivy.Query.boost_query(_term(schema, field, term), weight)


def _term(schema: tantivy.Schema, field: str, term: str) -> tantivy.Query:
    return tantivy.Query.term_query(schema, field, term, "freq")


def _phrase(schema: tantivy.Schema, text: str) -> Iterator[tantivy.Query]:
    words = analyse.phrase(text)
    pairs = cjk_wanted(text)
    if len(words) > 1:
        yield tantivy.Query.phrase_query(schema, "folded", list(words))
    elif words:
        yield tantivy.Query.term_query(schema, "folded", words[0][1], "freq")
    elif not pairs:
        # A word too long for the index is in no text of it.
        yield tantivy.Query.empty_query()
    for pair in pairs:
        yield tantivy.Query.term_query(schema, "cjk", pair, "freq")
