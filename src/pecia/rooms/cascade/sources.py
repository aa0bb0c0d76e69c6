"""Sources of the server as layers: each file under its own rights, asked anew for every caller.

What is kept is kept by what was seen, the very files and revisions, so that two callers share it
only when they see the same.
"""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Protocol

from pecia.kernel.compute.pool import compute
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store
from pecia.rooms.cascade.layers.reading import RawFile, Reading, read_files

SQL = load_queries("pecia.rooms.cascade", "sources.sql")
MOST_KEPT = 8


@dataclass(frozen=True, slots=True)
class SourceReading:
    """What a caller sees of a source. Equal marks mean that the very same is seen."""

    mark: str
    reading: Reading


class Sources(Protocol):
    """Reads a source as far as the caller may."""

    async def has(self, caller: Caller, source: str) -> bool:
        """Whether the caller's tenant has such a source, whoever may read it."""
        ...

    async def read(self, caller: Caller, source: str, layer: str) -> SourceReading: ...


@dataclass(slots=True)
class StoreSources:
    """The sources of the store. Its row-level security decides what there is to read."""

    store: Store
    _kept: "OrderedDict[tuple[str, str], SourceReading]" = field(
        default_factory=lambda: OrderedDict[tuple[str, str], SourceReading]()
    )

    async def has(self, caller: Caller, source: str) -> bool:
        # Asked for nobody: what no caller may see and what is not there must be told apart.
        async with self.store.system() as tx:
            return await tx.value(SQL["exists"], tenant_id=caller.tenant_id, source_id=source)

    async def read(self, caller: Caller, source: str, layer: str) -> SourceReading:
        async with self.store.reading(caller) as tx:
            seen = await tx.all(SQL["visible_revisions"], source_id=source)
            if not seen and not await self.has(caller, source):
                return SourceReading("missing", Reading(degraded=f"there is no source {source!r}"))
            said = repr((caller.tenant_id, source, [(it["key"], it["revision_id"]) for it in seen]))
            key = layer, hashlib.sha256(said.encode()).hexdigest()
            unread = key not in self._kept
            rows = await tx.all(SQL["visible_texts"], source_id=source) if unread else []
        if unread:
            # After the transaction: what strangers wrote may take until the deadline to read.
            files = [RawFile(it["key"], it["text"].encode()) for it in rows]
            reading = await compute(caller.tenant_id, read_files, layer, files, len(files))
            self._kept[key] = SourceReading(key[1], reading)
        self._kept.move_to_end(key)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return self._kept[key]
