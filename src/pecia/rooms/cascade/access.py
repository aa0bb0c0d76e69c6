"""Which layers of a cascade a caller may read. What is left out leaves no trace anywhere."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from pecia.kernel.identity.caller import Caller
from pecia.rooms.cascade.manifest import LayerSpec, Manifest

MayRead: TypeAlias = Callable[[Caller, str], Awaitable[bool]]
"""Whether the caller may read a source, asked of the store."""


async def visible_layers(caller: Caller, manifest: Manifest, may_read: MayRead) -> frozenset[str]:
    """The layers that this caller's cascade is made of."""
    if caller.tenant != manifest.tenant:
        return frozenset()
    return frozenset([it.name for it in manifest.layers if await _may(caller, it, may_read)])


async def _may(caller: Caller, layer: LayerSpec, may_read: MayRead) -> bool:
    if layer.readers is not None and caller.user not in layer.readers:
        return False
    needed = layer.rights or layer.source
    return needed is None or await may_read(caller, needed)
