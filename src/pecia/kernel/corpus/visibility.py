"""What a caller may see of a tenant's chunks, and how the keyword index is queried for it.

Nothing here grants anything: every hit is read under the caller's rights before it is shown.
"""

import math
from collections import OrderedDict
from dataclasses import dataclass, replace
from uuid import UUID

from pecia.kernel.corpus.keyword.idf import VisibleStatistics
from pecia.kernel.corpus.keyword.query.parser import Filter
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Transaction

SQL = load_queries("pecia.kernel.corpus", "visibility.sql")

# For a caller who sees at least this fraction, a search takes less CPU without an ACL filter in the
# keyword index, in either mode, whether or not the index lags: bench/visibility.py, ADR 48.
BROAD_FRACTION = 0.5
# Hidden hits come in clusters, as copies of a text do. Of callers who see half, with a factor of 10
# 2 in 100 searches query the index again; with 3, 17.
HIDDEN_CLUSTER_FACTOR = 10
MAX_ENTRIES = 256
# The first few hits must have sufficed this many times in a row before only few are fetched: a
# second query costs ten times what is saved.
MIN_STREAK = 8

VisibilityKey = tuple[UUID, frozenset[str] | None]
"""A credential, and the sources searched."""


@dataclass(frozen=True, slots=True)
class VisibleSet:
    """What a caller may see of a tenant's chunks, from the counts per ACL class.

    `own` is the number of the caller's last write, `clock` that of anybody's, `has_vectors` whether
    pgvector is installed. `visible` is what they see of all sources, whatever the filter: IDF is
    computed over it; None when it is everything.
    """

    classes: list[int]
    chunks: int
    of_chunks: int
    own: int = 0
    clock: int = 0
    has_vectors: bool = True
    visible: VisibleStatistics | None = None


async def load_visible_set(tx: Transaction, filters: Filter) -> VisibleSet:
    """What the caller sees under these filters."""
    if filters.sources is None:
        row = await tx.fetch_one(SQL["visible_classes"], "no classes")
        classes, chunks = row["classes"], row["chunks"]
    else:
        sources = sorted(filters.sources)
        row = await tx.fetch_one(SQL["visible_classes_in"], "no classes", sources=sources)
        classes, chunks = row.pop("all_classes"), row.pop("all_chunks")
    if filters.classes is not None:
        row["classes"] = [it for it in row["classes"] if it in filters.classes]
    visible = None if chunks >= row["of_chunks"] else VisibleStatistics(frozenset(classes), chunks)
    return VisibleSet(**row, visible=visible)


@dataclass(frozen=True, slots=True)
class VisibilityPolicy:
    """Who is searched for with an ACL filter in the keyword index, and who without: then hits that
    they may not see are among the results, and are dropped afterwards.
    """

    broad_fraction: float = BROAD_FRACTION

    def is_broad(self, visible: VisibleSet) -> bool:
        return visible.chunks >= self.broad_fraction * visible.of_chunks

    def add_filter(self, within: Filter, visible: VisibleSet) -> Filter:
        """The filter of a keyword query, with the caller's ACL classes if they see little."""
        if self.is_broad(visible):
            return within
        return replace(within, classes=frozenset(visible.classes))

    def overfetch(self, visible: VisibleSet, many: int) -> int:
        """How many hits to fetch to get `many` visible ones: without a filter, some are hidden.

        A second query takes as long as the first; overfetching costs next to nothing.
        """
        if visible.chunks >= visible.of_chunks or not self.is_broad(visible):
            return many
        fraction = visible.chunks / visible.of_chunks
        spare = HIDDEN_CLUSTER_FACTOR * (1 - fraction) * math.sqrt(many)
        return math.ceil((many + spare) / fraction)


@dataclass(slots=True)
class VisibilityEntry:
    """The last visible set, and how many times in a row the first few lexical hits sufficed."""

    visible: VisibleSet
    few_streak: int = 0

    @property
    def few_suffice(self) -> bool:
        return self.few_streak >= MIN_STREAK


class VisibilityCache:
    """What callers could see at their last search, so that the next one can start early. LRU, 256
    entries. The search reloads visibility meanwhile and drops hits that do not fit.
    """

    def __init__(self, max_entries: int = MAX_ENTRIES) -> None:
        self._max_entries = max_entries
        self._entries: OrderedDict[VisibilityKey, VisibilityEntry] = OrderedDict()

    def get(self, key: VisibilityKey) -> VisibilityEntry | None:
        return self._entries.get(key)

    def put(self, key: VisibilityKey, visible: VisibleSet) -> None:
        entry = self._entries.setdefault(key, VisibilityEntry(visible))
        entry.visible = visible
        self._entries.move_to_end(key)
        if len(self._entries) > self._max_entries:
            self._entries.popitem(last=False)

    def record_few(self, key: VisibilityKey, *, did: bool) -> None:
        """Whether the first few were enough this time."""
        if (entry := self._entries.get(key)) is not None:
            entry.few_streak = entry.few_streak + 1 if did else 0
