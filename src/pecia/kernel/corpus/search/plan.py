"""A search request, and the plan that the other stages work from. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import Protocol

from pecia.kernel.corpus.keyword.query.globs import validate_search_glob
from pecia.kernel.corpus.keyword.query.parser import (
    NO_FILTER,
    Filter,
    Query,
    TranslatedWord,
    parse_query,
)
from pecia.kernel.corpus.search.rerank import RERANK_DEPTH
from pecia.kernel.errors import InvalidFormat, InvalidInput

# Candidates that are fused and reranked; later hits keep their lexical order.
MAX_CANDIDATES = 100
# Nearest neighbours. On every set, more never came among the first ten; for callers who see a
# tenth, 30 took 2 ms longer.
MAX_NEAREST = 20


class SearchMode(StrEnum):
    HYBRID = "hybrid"
    LEXICAL = "lexical"


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search. None does not filter; no argument is ignored."""

    query: str
    limit: int = 20
    offset: int = 0
    mode: SearchMode = SearchMode.HYBRID
    source: str | None = None
    path: str | None = None
    content_type: str | None = None
    modified_after: datetime | None = None
    modified_before: datetime | None = None
    authors: frozenset[str] | None = None
    rerank: bool = True
    explain: bool = False
    fold_neighbours: bool = True
    """Whether a chunk beside a better one gives way: who shows wide windows shows it anyway."""


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """What to retrieve. `end` is the end of the requested page: offset plus limit.

    `max_hits` lexical hits are fetched; `few_hits` suffice for a lexical search where no file is
    large enough to search inside.
    """

    ask: SearchRequest
    query: Query
    within: Filter
    is_semantic: bool
    end: int
    max_hits: int
    few_hits: int


class QueryTranslator(Protocol):
    """Translates the words of a query into English."""

    async def translate(self, text: str) -> tuple[TranslatedWord, ...]:
        """Nothing for a text in English. The same for the same text, and quickly again."""
        ...


def build_plan(ask: SearchRequest, translated: tuple[TranslatedWord, ...] = ()) -> SearchPlan:
    """The plan of a request. A filter that is invalid or given twice is an error."""
    read = parse_strict_query(ask.query)
    within = merge_filters(ask, read.within)
    query = replace(read, within=NO_FILTER, translated=translated)
    end = ask.offset + ask.limit
    max_hits = max(MAX_CANDIDATES, end + 1)
    return SearchPlan(
        ask,
        query,
        within,
        is_semantic=ask.mode is SearchMode.HYBRID and query.has_terms,
        end=end,
        max_hits=max_hits,
        few_hits=RERANK_DEPTH if end < RERANK_DEPTH else max_hits,
    )


def translatable_text(text: str) -> str:
    """A query as it was typed, where all of it is words: its language is told by every one.
    What is in quotation marks is asked for as it stands.
    """
    read = parse_strict_query(text)
    is_plain = read.within == NO_FILTER and not read.phrases and not read.titles
    return text if is_plain else " ".join(read.words)


@lru_cache(256)
def parse_strict_query(text: str) -> Query:
    """The parsed query. An invalid filter in it is an error: it would be ignored otherwise."""
    query = parse_query(text)
    if query.unclear:
        raise InvalidFormat(
            f"{query.unclear[0]!r} in the query is not a valid filter",
            field="query",
            got=query.unclear[0],
            expected='path:GLOB, source:ID, type:TYPE, after:DATE, before:DATE, or "in quotes"',
        )
    return query


def merge_filters(ask: SearchRequest, within: Filter) -> Filter:
    """The filters of the arguments and of the query, combined."""
    for name, argument, in_query in (
        ("path", ask.path, within.path_glob),
        ("content_type", ask.content_type, within.content_type),
        ("source_id", ask.source, within.sources),
    ):
        if argument is not None and in_query is not None:
            raise InvalidInput(f'"{name}" is given twice: also in the query', field=name)
    field, glob = ("path", ask.path) if ask.path is not None else ("query", within.path_glob)
    return Filter(
        sources=within.sources if ask.source is None else frozenset({ask.source}),
        path_glob=None if glob is None else validate_search_glob(glob, field=field),
        content_type=(ask.content_type or within.content_type or "").lower() or None,
        modified_after_ms=_combine(max, _ms(ask.modified_after), within.modified_after_ms),
        modified_before_ms=_combine(min, _ms(ask.modified_before), within.modified_before_ms),
        authors=ask.authors,
    )


def _combine(which: Callable[[int, int], int], one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return one if other is None else other
    return which(one, other)


def _ms(moment: datetime | None) -> int | None:
    if moment is None:
        return None
    whole = moment.astimezone(UTC) - _EPOCH
    # Up, so that a fraction of a millisecond neither lets one in nor leaves one out.
    return -(-int(whole.total_seconds() * 1_000_000) // 1000)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
