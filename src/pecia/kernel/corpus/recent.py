"""What callers saw when they last asked, so that their next search can begin before it is known.

It decides nothing: whoever begins with it asks again meanwhile, and drops what does not fit.
"""

from collections import OrderedDict
from uuid import UUID

from pecia.kernel.corpus.vectors import Share

MOST = 256

Place = tuple[UUID, frozenset[str] | None]
"""A credential, and the sources it looked in."""


class Recent:
    """The longest unasked is forgotten first."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._shares: OrderedDict[Place, Share] = OrderedDict()

    def last(self, place: Place) -> Share | None:
        return self._shares.get(place)

    def note(self, place: Place, share: Share) -> None:
        self._shares[place] = share
        self._shares.move_to_end(place)
        if len(self._shares) > self._most:
            self._shares.popitem(last=False)
