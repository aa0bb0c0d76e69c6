"""A query and its filter in the language of the engine. Nothing here searches."""

from collections.abc import Iterable, Iterator, Sequence

import tantivy

from pecia.kernel.corpus.keyword.analysis import analyzer
from pecia.kernel.corpus.keyword.analysis.analyzer import Weighted
from pecia.kernel.corpus.keyword.analysis.token_filters import cjk_query_bigrams
from pecia.kernel.corpus.keyword.query.parser import Filter, Query
from pecia.kernel.errors import InvalidFormat
from pecia.kernel.text.glob import to_tantivy_regex

_MUST, _SHOULD = tantivy.Occur.Must, tantivy.Occur.Should


def bm25_query(schema: tantivy.Schema, terms: Iterable[Weighted]) -> tantivy.Query | None:
    """Whatever holds one of the terms; None without a term.

    It is flat: the engine is quickest where all parts are plain terms.
    """
    parts = [(_SHOULD, _weighted_query(schema, it)) for it in terms]
    return tantivy.Query.boolean_query(parts) if parts else None


def group_query(
    schema: tantivy.Schema, query: Query, terms: Iterable[Weighted], groups: Sequence[int]
) -> tantivy.Query:
    """The terms of the query on the pages of some groups, whatever their names are.

    The groups are a clause beside the terms: the engine then reads nothing outside them.
    """
    parts = [(_SHOULD, _weighted_query(schema, it)) for it in terms]
    only = tantivy.Query.term_set_query(schema, "group", list(groups))
    conditions = (only, *must_clauses(schema, query))
    silent = [(_MUST, tantivy.Query.const_score_query(it, 0.0)) for it in conditions]
    return tantivy.Query.boolean_query([*silent, *parts])


def chunk_query(
    schema: tantivy.Schema, terms: Iterable[Weighted], ids: Iterable[int]
) -> tantivy.Query:
    """These chunks, by the terms. A set of ids takes eight times as long as each by itself."""
    parts = [(_SHOULD, _weighted_query(schema, it)) for it in terms]
    each = [(_SHOULD, tantivy.Query.term_query(schema, "id", it)) for it in ids]
    only = tantivy.Query.const_score_query(tantivy.Query.boolean_query(each), 0.0)
    return tantivy.Query.boolean_query([(_MUST, only), *parts])


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


def filter_clauses(schema: tantivy.Schema, asked: Filter) -> Iterator[tantivy.Query]:
    """What a chunk must fulfil, all of it. No clause adds to a score."""
    if asked.classes is not None:
        yield _any_of(schema, "acl", asked.classes)
    if asked.sources is not None:
        yield _any_of(schema, "source", asked.sources)
    if asked.path_glob is not None:
        yield _path(schema, asked.path_glob)
    if asked.content_type is not None:
        yield tantivy.Query.term_query(schema, "type", asked.content_type.lower(), "basic")
    if asked.modified_after_ms is not None or asked.modified_before_ms is not None:
        yield _modified_range(schema, asked)
    if asked.authors is not None:
        yield _any_of(schema, "author", asked.authors)


def _weighted_query(schema: tantivy.Schema, it: Weighted) -> tantivy.Query:
    found = tantivy.Query.term_query(schema, it.field, it.term, "freq")
    if it.field in analyzer.PRESENCE_FIELDS:
        return tantivy.Query.const_score_query(found, it.weight)
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


def _any_of(
    schema: tantivy.Schema, field: str, values: frozenset[int] | frozenset[str]
) -> tantivy.Query:
    if not values:
        return tantivy.Query.empty_query()
    if len(values) == 1:
        return tantivy.Query.term_query(schema, field, next(iter(values)), "basic")
    return tantivy.Query.term_set_query(schema, field, list(values))


def _modified_range(schema: tantivy.Schema, asked: Filter) -> tantivy.Query:
    return tantivy.Query.range_query(
        schema,
        "modified",
        tantivy.FieldType.Integer,
        asked.modified_after_ms,
        asked.modified_before_ms,
        include_upper=asked.modified_before_ms is None,
    )


def _path(schema: tantivy.Schema, glob: str) -> tantivy.Query:
    wanted = to_tantivy_regex(glob)
    if wanted is None:
        return tantivy.Query.empty_query()
    try:
        return tantivy.Query.regex_query(schema, "key", wanted)
    except ValueError:
        raise InvalidFormat(f"{glob!r} is too complex", field="path") from None
