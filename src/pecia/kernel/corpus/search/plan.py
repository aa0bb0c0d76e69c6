"""Search request and result. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache

from pecia.kernel.corpus.keyword.query.globs import validate_search_glob
from pecia.kernel.corpus.keyword.query.parser import Filter, Query, parse_query
from pecia.kernel.corpus.search.hydrate import HydratedChunk
from pecia.kernel.errors import InvalidFormat, InvalidInput, Json
from pecia.kernel.text.chunks.window import TextWindow


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
    rerank: bool = True
    explain: bool = False


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A passage that answers. `rank` is 1 for the best and falls from there."""

    passage: HydratedChunk
    window: TextWindow
    snippet: str
    rank: float
    why: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first. `degraded` says what the answer had to do without, and why."""

    hits: tuple[SearchHit, ...]
    has_more: bool
    degraded: tuple[str, ...] = field(default=())


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
