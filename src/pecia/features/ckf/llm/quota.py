"""Daily quota of compiles that this server pays for: per user and in total, persistent."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from math import ceil
from typing import Protocol
from uuid import UUID

from pecia.kernel.errors import RateLimited
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store

SQL = load_queries("pecia.features.ckf.llm", "queries.sql")


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class DailyAllowance:
    """Daily limits per user and in total."""

    per_user: int
    total: int


class QuotaCounter(Protocol):
    """Counts compiles."""

    async def take(
        self, tenant_id: UUID, payer: UUID, day: date, allowed: DailyAllowance
    ) -> str | None:
        """Count one and return None, or count none and return the limit reached: user or total."""
        ...


@dataclass(frozen=True, slots=True)
class StoredQuotaCounter:
    """Counts in the database, for every process of the server."""

    store: Store

    async def take(
        self, tenant_id: UUID, payer: UUID, day: date, allowed: DailyAllowance
    ) -> str | None:
        # The count spans all tenants, so it runs as the system, not as the caller.
        async with self.store.system() as tx:
            return await tx.fetch_value(
                SQL["take_compile"],
                tenant_id=tenant_id,
                payer=payer,
                day=day,
                per_user=allowed.per_user,
                total=allowed.total,
            )


class DailyQuota:
    """The quota per UTC day."""

    def __init__(
        self,
        allowed: DailyAllowance,
        counter: QuotaCounter,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._allowed = allowed
        self._counter = counter
        self._clock = clock

    async def take(self, tenant_id: UUID, payer: UUID) -> None:
        """Count one compile of this user, or RateLimited with the seconds until midnight."""
        moment = self._clock()
        spent = await self._counter.take(tenant_id, payer, moment.date(), self._allowed)
        if spent == "user":
            raise _quota_exceeded("your", self._allowed.per_user, moment, spent)
        if spent:
            raise _quota_exceeded("this server's", self._allowed.total, moment, spent)


def _quota_exceeded(whose: str, limit: int, moment: datetime, quota: str) -> RateLimited:
    midnight = datetime.combine(moment.date() + timedelta(days=1), datetime.min.time(), UTC)
    return RateLimited(
        f"{whose} {limit} compiles of today are used up",
        retry_after_seconds=max(1, ceil((midnight - moment).total_seconds())),
        quota=quota,
        limit=limit,
        hint="Pass byok_key with a provider to go on with a key of your own.",
    )
