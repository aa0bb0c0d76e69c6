"""What callers saw when they last asked, so that their next search can begin before it is known.

It decides nothing: whoever begins with it asks again meanwhile, and drops what does not fit.
"""

from collections import OrderedDict
from dataclasses import dataclass
from uuid import UUID

from pecia.kernel.corpus.vectors import Share

MOST = 256
# So many times in a row the first few hits must have done before no more are asked for: to ask
# again costs ten times what is saved.
IN_A_ROW = 8

Place = tuple[UUID, frozenset[str] | None]
"""A credential, and the sources it looked in."""


@dataclass(slots=True)
class Seen:
    """What one saw last, and how many times in a row the first few hits by words did."""

    share: Share
    few_did: int = 0

    @property
    def few_do(self) -> bool:
        return self.few_did >= IN_A_ROW


class Recent:
    """The longest unasked is forgotten first."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._seen: OrderedDict[Place, Seen] = OrderedDict()

    def last(self, place: Place) -> Seen | None:
        return self._seen.get(place)

    def note(self, place: Place, share: Share) -> None:
        seen = self._seen.setdefault(place, Seen(share))
        seen.share = share
        self._seen.move_to_end(place)
        if len(self._seen) > self._most:
            self._seen.popitem(last=False)

    def note_few(self, place: Place, *, did: bool) -> None:
        """Whether the first few were enough this time."""
        if (seen := self._seen.get(place)) is not None:
            seen.few_did = seen.few_did + 1 if did else 0
