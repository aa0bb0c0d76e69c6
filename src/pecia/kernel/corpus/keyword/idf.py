"""IDF over the texts that a caller may see.

The engine weighs it among all texts of a tenant. Multiplied by what is found here, it weighs as it
would in an index of what the caller sees: else one could ask which words hidden texts hold.
"""

import json
import math
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import tantivy

from pecia.kernel.corpus.keyword.analysis.analyzer import PRESENCE_FIELDS, Weighted

if TYPE_CHECKING:
    import numpy as np

Ints: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
Counts: TypeAlias = "tuple[Ints, Ints]"
"""ACL classes, and how many chunks of each contain a term."""

# Pairs of ACL class and count, 16 bytes each, cached for a commit of an index.
MAX_CACHED_PAIRS = 2_000_000
# Sets of ACL classes whose counts are cached for a commit.
MAX_CACHED_SETS = 64
# Terms cached for each set.
MAX_TERMS_PER_SET = 20_000
# A set of classes up to this number is looked up in a table.
_MAX_TABLE_SIZE = 4_000_000
# The engine's maximum of buckets.
MAX_BUCKETS = 65_000


class VisibleStatistics(NamedTuple):
    """The ACL classes a caller may see in a tenant, and how many chunks they hold."""

    classes: frozenset[int]
    chunks: int


class _SetFrequencies:
    """A set of ACL classes, how many of its chunks contain each term, and their languages."""

    def __init__(self, classes: frozenset[int]) -> None:
        # Lazy import, here and below: a server that was not searched yet does without.
        import numpy as np

        self.counts: dict[tuple[str, str], int] = {}
        self.languages: tuple[str, ...] | None = None
        self._classes = np.fromiter(classes, np.int64, len(classes))
        self._table = None
        if min(classes, default=0) >= 0 and (most := max(classes, default=0)) < _MAX_TABLE_SIZE:
            # The last entry stands for all classes beyond, which are not in the set.
            self._table = np.zeros(most + 2, np.bool_)
            self._table[self._classes] = True

    def sum_visible(self, classes: Ints, counts: Ints) -> int:
        import numpy as np

        if self._table is None:
            return int(counts[np.isin(classes, self._classes)].sum())
        places = np.minimum(classes, len(self._table) - 1)
        return int(counts[self._table[places]].sum())


class DocumentFrequencies:
    """Document frequencies in one commit of an index. Thread-safe."""

    def __init__(self, schema: tantivy.Schema, searcher: tantivy.Searcher) -> None:
        self._schema = schema
        self._searcher = searcher
        self._lock = threading.Lock()
        self._counts: OrderedDict[tuple[str, str], Counts] = OrderedDict()
        self._kept = 0
        self._sets: OrderedDict[frozenset[int], _SetFrequencies] = OrderedDict()
        self._live: dict[tuple[str, str], int] = {}
        # A search asks for each of its terms several times, and the engine looks in every segment.
        self._engine_frequency = lru_cache(MAX_TERMS_PER_SET)(searcher.doc_freq)
        self._documents: int | None = None
        self._chunks: int | None = None

    def apply_visible_idf(
        self, terms: Iterable[Weighted], visible: VisibleStatistics | None
    ) -> Iterator[Weighted]:
        """The terms that occur anywhere, each with its IDF among the visible texts; None is all.

        Those in hidden texts alone are not left out: what was just granted is hidden by the classes
        of an index that lags, and found all the same.
        """
        counted = None if visible is None else self._frequencies_of_set(visible.classes)
        of = self.chunk_count if visible is None else visible.chunks
        for it in terms:
            held = self._engine_frequency(it.field, it.term)
            documents = self._document_count(it.field, it.term) if held else None
            if documents is not None:
                if counted is None:
                    seen = self._live_frequency(it.field, it.term)
                else:
                    seen = self._visible_frequency(it.field, it.term, counted)
                if it.whole:
                    seen = max(seen, self.frequency("folded", it.whole, visible))
                factor = _visible_idf(seen, of)
                if it.field not in PRESENCE_FIELDS:
                    factor /= _idf(held, documents)
                yield it._replace(weight=it.weight * factor)

    def rarity(
        self, terms: Iterable[tuple[str, str]], visible: VisibleStatistics | None
    ) -> dict[str, float]:
        """The IDF of each term, given with its field, among the visible texts, as a share of that
        of a term which none of them has.
        """
        of = self.chunk_count if visible is None else visible.chunks
        # A text is in one language: its stems are in one of the fields.
        held = Counter[str]()
        for field, term in terms:
            held[term] += self.frequency(field, term, visible)
        return {term: _visible_idf(count, of) / _visible_idf(0, of) for term, count in held.items()}

    def frequency(self, field: str, term: str, visible: VisibleStatistics | None) -> int:
        """How many of the visible texts have a term in that field."""
        if visible is None:
            return self._live_frequency(field, term)
        return self._visible_frequency(field, term, self._frequencies_of_set(visible.classes))

    @property
    def chunk_count(self) -> int:
        """How many chunks there are, without balance documents."""
        if self._chunks is None:
            everything = tantivy.Query.exists_query("id")
            # The engine's stubs do not say that a result has a count.
            found: Any = self._searcher.search(everything, 1, count=True)
            self._chunks = int(found.count)
        return self._chunks

    def visible_languages(
        self, known: Iterable[str], visible: VisibleStatistics | None
    ) -> tuple[str, ...]:
        """Those of the known languages that visible texts are in."""
        if visible is None:
            return tuple(it for it in known if self._live_frequency("language", it))
        counted = self._frequencies_of_set(visible.classes)
        if counted.languages is None:
            found = (it for it in known if self._visible_frequency("language", it, counted))
            counted.languages = tuple(found)
        return counted.languages

    def _frequencies_of_set(self, classes: frozenset[int]) -> "_SetFrequencies":
        with self._lock:
            known = self._sets.get(classes)
            if known is None:
                known = self._sets[classes] = _SetFrequencies(classes)
            self._sets.move_to_end(classes)
            if len(self._sets) > MAX_CACHED_SETS:
                self._sets.popitem(last=False)
            return known

    def _live_frequency(self, field: str, term: str) -> int:
        """How many texts have the term. The engine's own count includes deleted texts for a while,
        and who sees all that is left may never have seen those."""
        held = self._engine_frequency(field, term)
        if not held or not self._has_deleted(field, term):
            return held
        known = self._live.get((field, term))
        if known is None:
            wanted = tantivy.Query.term_query(self._schema, field, term, "basic")
            found: Any = self._searcher.search(wanted, 1, count=True)
            known = int(found.count)
            if len(self._live) < MAX_TERMS_PER_SET:
                self._live[field, term] = known
        return known

    def _has_deleted(self, field: str, term: str) -> bool:
        documents = self._document_count(field, term)
        return documents is None or documents > self._searcher.num_docs

    def _visible_frequency(self, field: str, term: str, counted: "_SetFrequencies") -> int:
        key = (field, term)
        known = counted.counts.get(key)
        if known is None:
            known = counted.sum_visible(*self._frequencies_by_class(field, term))
            if len(counted.counts) < MAX_TERMS_PER_SET:
                counted.counts[key] = known
        return known

    def _frequencies_by_class(self, field: str, term: str) -> Counts:
        key = (field, term)
        with self._lock:
            if (known := self._counts.get(key)) is not None:
                self._counts.move_to_end(key)
                return known
        counted = self._aggregate_by_class(field, term)
        with self._lock:
            if key not in self._counts:
                self._counts[key] = counted
                self._kept += len(counted[0])
            while self._kept > MAX_CACHED_PAIRS and len(self._counts) > 1:
                _, (gone, _) = self._counts.popitem(last=False)
                self._kept -= len(gone)
        return counted

    def _aggregate_by_class(self, field: str, term: str) -> Counts:
        """Without deleted chunks: how long the engine keeps those depends on all its writes."""
        wanted = tantivy.Query.term_query(self._schema, field, term, "basic")
        by_class = {"terms": {"field": "acl", "size": MAX_BUCKETS, "segment_size": MAX_BUCKETS}}
        searcher: Any = self._searcher
        try:
            found = searcher.aggregate(wanted, {"classes": by_class})["classes"]
        except ValueError:
            return self._count_each_hit(wanted)
        if found["sum_other_doc_count"]:
            return self._count_each_hit(wanted)
        import numpy as np

        buckets: list[dict[str, int]] = found["buckets"]
        return (
            np.fromiter((it["key"] for it in buckets), np.int64, len(buckets)),
            np.fromiter((it["doc_count"] for it in buckets), np.int64, len(buckets)),
        )

    def _count_each_hit(self, wanted: tantivy.Query) -> Counts:
        """The same with more classes than the engine has buckets: slowly, hit by hit."""
        import numpy as np

        searcher: Any = self._searcher
        hits = searcher.search(wanted, max(1, searcher.num_docs), count=False).hits
        held = searcher.fast_field_values("acl", [it for _, it in hits])
        classes, counts = np.unique(np.array(held, np.int64), return_counts=True)
        return classes, counts.astype(np.int64)

    def _document_count(self, field: str, term: str) -> int | None:
        """The engine's own count, an upper bound: it includes some deleted chunks.
        Nothing but an explanation tells, and there is none of a term that only those hold.
        """
        if self._documents is None:
            wanted = tantivy.Query.term_query(self._schema, field, term, "basic")
            for _, address in self._searcher.search(wanted, 1, count=False).hits:
                said = json.loads(wanted.explain(self._searcher, address).to_json())
                self._documents = int(next(_values(said, "N, ")))
        return self._documents


def _visible_idf(held: int, of: int) -> float:
    """As if there were one text more: a term that all of them have still counts for something."""
    return _idf(held, of + 1)


def _idf(held: int, of: int) -> float:
    """BM25's IDF. One count may be ahead of the other, which comes from the database."""
    return math.log(1 + (max(of, held) - held + 0.5) / (held + 0.5))


def _values(said: dict[str, Any], name: str) -> Iterator[float]:
    if str(said["description"]).startswith(name):
        yield said["value"]
    for part in cast(list[dict[str, Any]], said.get("details") or []):
        yield from _values(part, name)
