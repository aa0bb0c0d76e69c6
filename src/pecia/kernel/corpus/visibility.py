"""What callers saw when they last asked, so that their next search can begin before it is known.

It decides nothing: whoever begins with it asks again meanwhile, and drops what does not fit.
"""

from collections import OrderedDict
from dataclasses import dataclass
from uuid import UUID

from pecia.kernel.corpus.vectors.knn import VisibleSet

MAX_ENTRIES = 256
# So many times in a row the first few hits must have done before no more are asked for: to ask
# again costs ten times what is saved.
MIN_STREAK = 8

VisibilityKey = tuple[UUID, frozenset[str] | None]
"""A credential, and the sources it looked in."""


@dataclass(slots=True)
class VisibilityEntry:
    """What one saw last, and how many times in a row the first few hits by words did."""

    visible: VisibleSet
    few_streak: int = 0

    @property
    def few_suffice(self) -> bool:
        return self.few_streak >= MIN_STREAK


class VisibilityCache:
    """The longest unasked is forgotten first."""

    def __init__(self, most: int = MAX_ENTRIES) -> None:
        self._max_entries = most
        self._entries: OrderedDict[VisibilityKey, VisibilityEntry] = OrderedDict()

    def get(self, place: VisibilityKey) -> VisibilityEntry | None:
        return self._entries.get(place)

    def put(self, place: VisibilityKey, share: VisibleSet) -> None:
        seen = self._entries.setdefault(place, VisibilityEntry(share))
        seen.visible = share
        self._entries.move_to_end(place)
        if len(self._entries) > self._max_entries:
            self._entries.popitem(last=False)

    def record_few(self, place: VisibilityKey, *, did: bool) -> None:
        """Whether the first few were enough this time."""
        if (seen := self._entries.get(place)) is not None:
            seen.few_streak = seen.few_streak + 1 if did else 0
