"""How many denials of one address become audit rows. Pure but for the clock it is given."""

import time
from collections import OrderedDict
from collections.abc import Callable

from pecia.kernel.errors import RateLimited
from pecia.kernel.rate_limit import RateLimit, RateLimiter

ROWS = RateLimit(calls=10, per_s=60, burst=10)
MAX_ADDRESSES = 10_000


class DenialThrottle:
    """A flood of refused requests must not fill the audit log: the next row counts the rest."""

    def __init__(self, clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._limiter = RateLimiter(ROWS, max_keys=MAX_ADDRESSES, clock_ns=clock_ns)
        # LRU, MAX_ADDRESSES entries.
        self._unwritten: OrderedDict[str, int] = OrderedDict()

    def admit(self, address: str) -> int | None:
        """Denials of this address since its last row; None where this one is to have no row."""
        try:
            self._limiter.take(address)
        except RateLimited:
            self._unwritten[address] = self._unwritten.pop(address, 0) + 1
            if len(self._unwritten) > MAX_ADDRESSES:
                self._unwritten.popitem(last=False)
            return None
        return self._unwritten.pop(address, 0)
