"""Which layers of a cascade a caller may read. Hidden layers are not observable."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from pecia.features.cascade.manifest import CascadeManifest, LayerSpec
from pecia.features.cascade.store import StoreSources
from pecia.kernel.identity.caller import Caller

MayRead: TypeAlias = Callable[[Caller, str], Awaitable[bool]]
"""Whether the caller may read a source; the store decides."""


async def find_visible_layers(
    caller: Caller,
    manifest: CascadeManifest,
    may_read: MayRead,
    sources: StoreSources | None = None,
) -> frozenset[str]:
    """The layers of this caller's cascade.

    A layer whose source does not exist is included: it is empty, and reported as missing.
    """
    if caller.tenant != manifest.tenant:
        return frozenset()
    found: list[str] = []
    for it in manifest.layers:
        if await _may_read_layer(caller, it, may_read) or await _is_missing(caller, it, sources):
            found.append(it.name)
    return frozenset(found)


async def _may_read_layer(caller: Caller, layer: LayerSpec, may_read: MayRead) -> bool:
    if layer.readers is not None and caller.user not in layer.readers:
        return False
    needed = layer.rights or layer.source
    return needed is None or await may_read(caller, needed)


async def _is_missing(caller: Caller, layer: LayerSpec, sources: StoreSources | None) -> bool:
    if layer.source is None or layer.readers is not None or layer.rights is not None:
        return False
    return sources is not None and not await sources.has(caller, layer.source)
