"""Tools that come and go at run time, and differ by caller. Types only: a feature lists them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from pecia.kernel.identity.caller import Caller
from pecia.kernel.tool.model import AnyTool, WithheldTool

CHANNEL = "pecia_tools"
"""NOTIFY channel of changed tools; the payload is the tenant."""


# Compared by identity, which makes it a cheap key.
@dataclass(frozen=True, slots=True, eq=False)
class DynamicToolList:
    """Tools in order, and by name those that exist and may not be called yet. The same object as
    long as nothing changed."""

    tools: tuple[AnyTool, ...] = ()
    withheld: Mapping[str, WithheldTool] = field(default_factory=dict[str, WithheldTool])


NO_DYNAMIC_TOOLS = DynamicToolList()


class DynamicTools(Protocol):
    """Lists tools beside the built-in ones. The list may be a second stale; calls are not.

    Changes are notified on `CHANNEL`.
    """

    async def of(self, caller: Caller) -> DynamicToolList:
        """The tools this caller may call now."""
        ...

    def forget(self, tenant_id: UUID) -> None:
        """Something changed in that tenant: reload."""
        ...
