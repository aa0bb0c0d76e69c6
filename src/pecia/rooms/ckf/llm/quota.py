"""How many compiles a day this server pays for: by user, and in all. Counts in memory alone."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from math import ceil

from pecia.kernel.errors import RateLimited


def now() -> datetime:
    return datetime.now(UTC)


class DailyQuota:
    """Counts within one UTC day. A restart of the process starts the count again."""

    def __init__(self, per_user: int, total: int, clock: Callable[[], datetime] = now) -> None:
        self.per_user = per_user
        self.total = total
        self._clock = clock
        self._day = clock().date()
        self._used: Counter[str] = Counter()

    def take(self, user: str) -> None:
        """Count one compile of this user, or RateLimited with the seconds until midnight."""
        moment = self._clock()
        if moment.date() != self._day:
            self._day, self._used = moment.date(), Counter()
        if self._used[user] >= self.per_user:
            raise _spent("your", self.per_user, moment, "user")
        if self._used.total() >= self.total:
            raise _spent("this server's", self.total, moment, "total")
        self._used[user] += 1


def _spent(whose: str, limit: int, moment: datetime, quota: str) -> RateLimited:
    midnight = datetime.combine(moment.date() + timedelta(days=1), datetime.min.time(), UTC)
    return RateLimited(
        f"{whose} {limit} compiles of today are used up",
        retry_after_seconds=max(1, ceil((midnight - moment).total_seconds())),
        quota=quota,
        limit=limit,
        hint="Pass byok_key with a provider to go on with a key of your own.",
    )
