"""Rate limit per principal or address. Pure but for the clock it is given.

A tenant has no rate limit of its own: `SlotLimits.tenant_running` bounds how many of its calls run
at one time. Belongs to one event loop; it neither waits nor knows what a call is.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from pecia.kernel.errors import OutOfRange, RateLimited

_NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class RateLimit:
    """`calls` every `per_s` seconds in the long run, and at most `burst` at once."""

    calls: int
    per_s: int
    burst: int
    setting: str = ""
    """What sets `calls`, for the error; empty where nothing does."""

    def describe(self) -> str:
        """The limit in words, for whoever is over it."""
        rate = self.calls / self.per_s
        often = f"{rate:g} a second" if rate >= 1 else f"{self.calls} in {self.per_s} s"
        named = f" ({self.setting})" if self.setting else ""
        return f"at most {often}{named}, and {self.burst} at once"

    def __post_init__(self) -> None:
        for name, number in (("calls", self.calls), ("per_s", self.per_s), ("burst", self.burst)):
            if number < 1:
                raise OutOfRange(f"{name} must be at least 1; got {number}", field=name, min=1)


class RateLimiter:
    """One token bucket per key, each kept as the moment at which it will be full again.

    LRU, `max_keys` entries. So that eviction gives nobody a fresh bucket, an unknown key starts
    with the largest debt among the evicted. That is a little strict towards new keys under load,
    and never too lenient.

    Time is counted in nanoseconds times `calls`, which makes every sum exact.
    """

    def __init__(
        self,
        limit: RateLimit,
        *,
        max_keys: int = 100_000,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        if max_keys < 1:
            raise OutOfRange(
                f"max_keys must be at least 1; got {max_keys}", field="max_keys", min=1
            )
        self.limit = limit
        self._max_keys = max_keys
        self._clock_ns = clock_ns
        self._full_at_by_key: OrderedDict[Hashable, int] = OrderedDict()
        self._evicted_full_at = 0

    def __len__(self) -> int:
        return len(self._full_at_by_key)

    def take(self, key: Hashable, cost: int = 1) -> None:
        """Count one call of this key, or raise RateLimited with the seconds to wait."""
        if not 1 <= cost <= self.limit.burst:
            raise OutOfRange(
                f"cost must be 1 to {self.limit.burst}; got {cost}",
                field="cost",
                min=1,
                max=self.limit.burst,
            )
        per_call = self.limit.per_s * _NS_PER_S
        now = self._clock_ns() * self.limit.calls
        full_at = max(self._full_at(key), now) + cost * per_call
        excess = full_at - now - self.limit.burst * per_call
        if excess > 0:
            raise self._refusal(excess)
        self._full_at_by_key[key] = full_at
        self._evict_idle()

    def _full_at(self, key: Hashable) -> int:
        if key not in self._full_at_by_key:
            return self._evicted_full_at
        # Also before a refusal: a key in debt must not be evicted next, or its debt would be
        # charged to new keys.
        self._full_at_by_key.move_to_end(key)
        return self._full_at_by_key[key]

    def _evict_idle(self) -> None:
        while len(self._full_at_by_key) > self._max_keys:
            _, full_at = self._full_at_by_key.popitem(last=False)
            self._evicted_full_at = max(self._evicted_full_at, full_at)

    def _refusal(self, excess: int) -> RateLimited:
        seconds = -(-excess // (self.limit.calls * _NS_PER_S))
        return RateLimited(
            f"too many calls: {self.limit.describe()}; try again in {seconds} s",
            retry_after_seconds=seconds,
        )
