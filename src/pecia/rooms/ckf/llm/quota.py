"""How many compiles a day this server pays for: by user and in all, over restarts."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from math import ceil
from typing import Protocol
from uuid import UUID

from pecia.kernel.errors import RateLimited
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store

SQL = load_queries("pecia.rooms.ckf.llm", "quota.sql")


def now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Allowance:
    """The most that one user, and all of them together, may have in a day."""

    per_user: int
    total: int


class Ledger(Protocol):
    """Where compiles are counted."""

    async def take(self, tenant_id: UUID, payer: UUID, day: date, allowed: Allowance) -> str | None:
        """Count one and say nothing, or count none and name what is used up: user or total."""
        ...


@dataclass(frozen=True, slots=True)
class StoredLedger:
    """Counts in the database, for every process of the server."""

    store: Store

    async def take(self, tenant_id: UUID, payer: UUID, day: date, allowed: Allowance) -> str | None:
        # It counts over all tenants, so it is the house that counts and not the caller.
        async with self.store.system() as tx:
            return await tx.value(
                SQL["take_compile"],
                tenant_id=tenant_id,
                payer=payer,
                day=day,
                per_user=allowed.per_user,
                total=allowed.total,
            )


class DailyQuota:
    """An allowance for each day, as UTC counts days."""

    def __init__(
        self, allowed: Allowance, ledger: Ledger, clock: Callable[[], datetime] = now
    ) -> None:
        self._allowed = allowed
        self._ledger = ledger
        self._clock = clock

    async def take(self, tenant_id: UUID, payer: UUID) -> None:
        """Count one compile of this user, or RateLimited with the seconds until midnight."""
        moment = self._clock()
        spent = await self._ledger.take(tenant_id, payer, moment.date(), self._allowed)
        if spent == "user":
            raise _spent("your", self._allowed.per_user, moment, spent)
        if spent:
            raise _spent("this server's", self._allowed.total, moment, spent)


def _spent(whose: str, limit: int, moment: datetime, quota: str) -> RateLimited:
    midnight = datetime.combine(moment.date() + timedelta(days=1), datetime.min.time(), UTC)
    return RateLimited(
        f"{whose} {limit} compiles of today are used up",
        retry_after_seconds=max(1, ceil((midnight - moment).total_seconds())),
        quota=quota,
        limit=limit,
        hint="Pass byok_key with a provider to go on with a key of your own.",
    )
