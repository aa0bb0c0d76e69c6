"""Fair queue: slots are granted round robin over principals, FIFO in each.

Pure: no clock, no loop. A slot is free only while no waiting call may take it.
"""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

W = TypeVar("W", bound=Hashable)
K = TypeVar("K")


class SlotOwner(NamedTuple):
    """Whose calls are counted together, and in which tenant."""

    tenant: Hashable
    name: Hashable


@dataclass(frozen=True, slots=True)
class SlotLimits:
    """How many calls run at one time, and how many may wait for that."""

    running: int = 16
    tenant_running: int = 12
    """Less than all: another tenant finds a slot however busy this one is."""
    principal_running: int = 4
    waiting: int = 4096
    principal_waiting: int = 256


class FairQueue(Generic[W]):
    """Slots, and a queue for each principal that waits for one.

    A principal who may run waits for at most one grant to each other principal: one that got a slot
    goes to the end of the ring. One that is at its own limit, or whose tenant is, keeps its place.
    """

    def __init__(self, limits: SlotLimits) -> None:
        self.limits = limits
        self.running = 0
        self.waiting = 0
        self._of_principal: dict[SlotOwner, int] = {}
        self._of_tenant: dict[Hashable, int] = {}
        self._ring: OrderedDict[SlotOwner, OrderedDict[W, None]] = OrderedDict()

    def try_acquire(self, who: SlotOwner) -> bool:
        """Take a slot at once; False if this principal has to wait."""
        if self.running >= self.limits.running or not self._may_run(who):
            return False
        self._grant(who)
        return True

    def has_capacity(self) -> bool:
        """Whether anybody at all may still wait."""
        return self.waiting < self.limits.waiting

    def has_capacity_for(self, who: SlotOwner) -> bool:
        """Whether one more call of this principal may wait."""
        return len(self._ring.get(who, ())) < self.limits.principal_waiting

    def enqueue(self, who: SlotOwner, waiter: W) -> None:
        """Queue up behind the principal's own calls."""
        self._ring.setdefault(who, OrderedDict())[waiter] = None
        self.waiting += 1

    def remove(self, who: SlotOwner, waiter: W) -> None:
        """Stop waiting. Idempotent."""
        queue = self._ring.get(who)
        if queue is None or waiter not in queue:
            return
        del queue[waiter]
        self.waiting -= 1
        if not queue:
            del self._ring[who]

    def release(self, who: SlotOwner) -> tuple[SlotOwner, W] | None:
        """Release a slot. Returns who gets it now, and for which call."""
        self.running -= 1
        _decrement(self._of_principal, who)
        _decrement(self._of_tenant, who.tenant)
        if not self._ring or self.running >= self.limits.running:
            return None
        following = next((it for it in self._ring if self._may_run(it)), None)
        return None if following is None else (following, self._pop(following))

    def count_waiting(self, who: SlotOwner) -> int:
        """How many calls of this principal wait."""
        return len(self._ring.get(who, ()))

    def is_idle(self) -> bool:
        """Whether nothing is held and nothing kept."""
        return not (self.running or self.waiting or self._of_principal or self._of_tenant) and (
            not self._ring
        )

    def _pop(self, who: SlotOwner) -> W:
        queue = self._ring[who]
        waiter, _ = queue.popitem(last=False)
        self.waiting -= 1
        if queue:
            self._ring.move_to_end(who)
        else:
            del self._ring[who]
        self._grant(who)
        return waiter

    def _may_run(self, who: SlotOwner) -> bool:
        limits = self.limits
        return (
            self._of_principal.get(who, 0) < limits.principal_running
            and self._of_tenant.get(who.tenant, 0) < limits.tenant_running
        )

    def _grant(self, who: SlotOwner) -> None:
        self.running += 1
        self._of_principal[who] = self._of_principal.get(who, 0) + 1
        self._of_tenant[who.tenant] = self._of_tenant.get(who.tenant, 0) + 1


def _decrement(counts: dict[K, int], key: K) -> None:
    left = counts[key] - 1
    if left:
        counts[key] = left
    else:
        # Drop idle principals: their number is unbounded.
        del counts[key]
