"""Cache of what callers could see at their last search, so that the next one can start early.

It grants nothing: the search reloads visibility meanwhile and drops hits that do not fit.
"""

from collections import OrderedDict
from dataclasses import dataclass
from uuid import UUID

from pecia.kernel.corpus.vectors.knn import VisibleSet

MAX_ENTRIES = 256
# The first few hits must have sufficed this many times in a row before only few are fetched: a
# second query costs ten times what is saved.
MIN_STREAK = 8

VisibilityKey = tuple[UUID, frozenset[str] | None]
"""A credential, and the sources searched."""


@dataclass(slots=True)
class VisibilityEntry:
    """The last visible set, and how many times in a row the first few lexical hits sufficed."""

    visible: VisibleSet
    few_streak: int = 0

    @property
    def few_suffice(self) -> bool:
        return self.few_streak >= MIN_STREAK


class VisibilityCache:
    """LRU, 256 entries."""

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
