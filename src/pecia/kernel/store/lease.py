"""Leases by name, with a fencing token against holders that lost theirs.

A lease that was not renewed in time may be taken by another; until one does, it is still held.
What is written outside the database is not fenced here: its owner checks first, and locks besides.
"""

from dataclasses import dataclass
from typing import Any, NoReturn
from uuid import UUID

import anyio

from pecia.kernel.errors import Conflict, PeciaError, Unavailable
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store
from pecia.kernel.store.transaction import Transaction

SQL = load_queries("pecia.kernel.store", "lease.sql")

LEASE_TTL_S = 15.0


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease as its holder knows it. Whether it still holds, only the database can say."""

    tenant_id: UUID
    name: str
    holder: str
    fence: int
    lasts_s: float

    async def check(self, tx: Transaction) -> None:
        """To be called in every write of the holder: Conflict when the lease is another's by now.

        Until the transaction ends nobody can take the lease, so what is written in it is in time.
        """
        if not await tx.fetch_value(SQL["check"], **self._row()):
            raise self._lost()

    async def renew(self, tx: Transaction) -> None:
        """Hold it for another while, from now; Conflict when it is lost."""
        if not await tx.execute(SQL["renew"], lasts_s=self.lasts_s, **self._row()):
            raise self._lost()

    async def release(self, tx: Transaction) -> None:
        """Give it back, for anybody to take at once. Nothing happens when it is lost."""
        await tx.execute(SQL["release"], **self._row())

    def _row(self) -> dict[str, Any]:
        return {"tenant_id": self.tenant_id, "name": self.name, "fence": self.fence}

    def _lost(self) -> Conflict:
        return Conflict(f"the lease {self.name!r} is no longer held", lease=self.name)


async def acquire(
    tx: Transaction, tenant_id: UUID, name: str, *, holder: str, lasts_s: float = LEASE_TTL_S
) -> Lease:
    """Take a lease that is free. Unavailable, with its holder, while another has it."""
    where = {"tenant_id": tenant_id, "name": name}
    fence = await tx.fetch_value(SQL["take"], holder=holder, lasts_s=lasts_s, **where)
    if fence is None:
        other = await tx.fetch_value(SQL["holder"], **where)
        raise Unavailable(f"the lease {name!r} is held by {other}", lease=name, holder=other)
    return Lease(tenant_id, name, holder, fence, lasts_s)


async def renew_forever(store: Store, lease: Lease) -> NoReturn:
    """Renew a lease for ever, in a task of its holder. Conflict when it is lost.

    It counts as lost, too, when no renewal got through for as long as it lasts: another may have
    it by then, and we cannot know.
    """
    renewed_at = anyio.current_time()
    while True:
        await anyio.sleep(lease.lasts_s / 3)
        with anyio.CancelScope(deadline=renewed_at + lease.lasts_s) as limit:
            renewed_at = await _renew_with_retry(store, lease)
        if limit.cancelled_caught:
            raise Conflict(f"the lease {lease.name!r} could not be renewed", lease=lease.name)


async def _renew_with_retry(store: Store, lease: Lease) -> float:
    """Renew once, asking until the database answers. When the successful asking began."""
    while True:
        began = anyio.current_time()
        try:
            async with store.system() as tx:
                await lease.renew(tx)
        except Conflict:
            raise
        except PeciaError:
            await anyio.sleep(lease.lasts_s / 30)
        else:
            return began
