"""Sources of the server as layers: rights are checked per file, for every caller.

The cache key is the exact set of visible files and revisions, so that two callers share an entry
only when they see the same.
"""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field

from pecia.features.cascade.layers.layer import LayerContent, LayerFile, parse_files
from pecia.kernel.compute.pool import compute
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store

SQL = load_queries("pecia.features.cascade", "queries.sql")
MAX_CACHED_READINGS = 8


@dataclass(frozen=True, slots=True)
class SourceContent:
    """What a caller sees of a source. Equal marks mean equal content."""

    version: str
    content: LayerContent


@dataclass(slots=True)
class StoreSources:
    """The sources of the store. Its row-level security decides what there is to read."""

    store: Store
    _cache: "OrderedDict[tuple[str, str], SourceContent]" = field(
        default_factory=lambda: OrderedDict[tuple[str, str], SourceContent]()
    )

    async def has(self, caller: Caller, source: str) -> bool:
        """Whether the caller's tenant has such a source, visible or not."""
        # Without a caller: "not visible" must be distinguished from "does not exist".
        async with self.store.system() as tx:
            return await tx.fetch_value(SQL["exists"], tenant_id=caller.tenant_id, source_id=source)

    async def read(self, caller: Caller, source: str, layer: str) -> SourceContent:
        async with self.store.reading(caller) as tx:
            seen = await tx.fetch_all(SQL["visible_revisions"], source_id=source)
            if not seen and not await self.has(caller, source):
                return SourceContent("missing", LayerContent(degraded=f"no source {source!r}"))
            fingerprint = repr(
                (caller.tenant_id, source, [(it["key"], it["revision_id"]) for it in seen])
            )
            key = layer, hashlib.sha256(fingerprint.encode()).hexdigest()
            unread = key not in self._cache
            rows = await tx.fetch_all(SQL["visible_texts"], source_id=source) if unread else []
        if unread:
            # After the transaction: parsing untrusted files may take until the deadline.
            files = [LayerFile(it["key"], it["text"].encode()) for it in rows]
            reading = await compute(caller.tenant_id, parse_files, layer, files, len(files))
            self._cache[key] = SourceContent(key[1], reading)
        self._cache.move_to_end(key)
        while len(self._cache) > MAX_CACHED_READINGS:
            self._cache.popitem(last=False)
        return self._cache[key]
