"""Tools that come and go while we run, and differ by caller. Only shapes: a room knows which."""

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from pecia.kernel.identity.caller import Caller
from pecia.kernel.tool.model import AnyTool


# A list is itself and equal to no other, which makes it a cheap key.
@dataclass(frozen=True, slots=True, eq=False)
class DynamicToolList:
    """Tools in order. The same object as long as nothing changed."""

    tools: tuple[AnyTool, ...] = ()


NO_DYNAMIC_TOOLS = DynamicToolList()


class DynamicTools(Protocol):
    """Knows which tools there are besides ours. It may be a second behind; calls are not.

    Where others may be there now, the store says so on the channel `pecia_tools`, by tenant.
    """

    async def of(self, caller: Caller) -> DynamicToolList:
        """What this caller may call now."""
        ...

    def forget(self, tenant_id: UUID) -> None:
        """Something changed in that tenant: ask anew."""
        ...
