"""Packages by handle: `pecia://package/ID`, kept in memory for the caller that compiled them.

A handle is the hash of its package. Nothing is stored: after an hour without use, or when the
server starts again, the text must be compiled again and has the same handle. What was compiled from
a URI is given only while the caller may read that URI.
"""

import re
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

import anyio.to_thread

from pecia.features.ckf.examples.loader import TOPICS, load_example
from pecia.features.ckf.library.library import PostLibrary
from pecia.features.ckf.model import ReadSource
from pecia.features.ckf.package.archive import PREFIX, PackedPackage, unpack_package
from pecia.features.ckf.package.model import Package
from pecia.kernel.errors import Json, NotFound
from pecia.kernel.identity.caller import Caller

KEPT_S = 3600.0
MAX_BYTES = 64 * 1024 * 1024
MAX_BYTES_PER_CALLER = 16 * 1024 * 1024


@dataclass(slots=True)
class _Kept:
    packed: PackedPackage
    used_at: float


@dataclass(slots=True)
class PackageCache:
    """LRU by bytes, for each caller and in all; entries unused for an hour are dropped."""

    max_bytes: int = MAX_BYTES
    max_bytes_per_caller: int = MAX_BYTES_PER_CALLER
    clock: Callable[[], float] = time.monotonic
    _kept: OrderedDict[tuple[UUID, UUID | None, str], _Kept] = field(
        default_factory=OrderedDict["tuple[UUID, UUID | None, str]", _Kept]
    )

    def put(self, caller: Caller, packed: PackedPackage) -> None:
        key = (caller.tenant_id, caller.user_id, packed.id)
        self._kept[key] = _Kept(packed, self.clock())
        self._kept.move_to_end(key)
        self._evict(caller)

    def get(self, caller: Caller, package_id: str) -> PackedPackage | None:
        key = (caller.tenant_id, caller.user_id, package_id)
        found = self._kept.get(key)
        if found is None:
            return None
        if self.clock() - found.used_at > KEPT_S:
            del self._kept[key]
            return None
        found.used_at = self.clock()
        self._kept.move_to_end(key)
        return found.packed

    def _evict(self, caller: Caller) -> None:
        """Drop what is too old, then the least recently used beyond the limits."""
        now = self.clock()
        for key in [it for it, kept in self._kept.items() if now - kept.used_at > KEPT_S]:
            del self._kept[key]
        mine = (caller.tenant_id, caller.user_id)
        own = [it for it in self._kept if it[:2] == mine]
        self._shrink(own, self.max_bytes_per_caller)
        self._shrink([*self._kept], self.max_bytes)

    def _shrink(self, keys: list[tuple[UUID, UUID | None, str]], limit: int) -> None:
        size = sum(len(self._kept[it].packed.data) for it in keys)
        # The newest stays, however large: its handle was just given.
        for key in keys[:-1]:
            if size <= limit:
                break
            size -= len(self._kept.pop(key).packed.data)


@dataclass(frozen=True, slots=True)
class PackageHandles:
    """Opens what a package argument names: a handle, a post or an example."""

    library: PostLibrary
    read_source: ReadSource
    cache: PackageCache = field(default_factory=PackageCache)

    def keep(self, caller: Caller, packed: PackedPackage) -> None:
        self.cache.put(caller, packed)

    async def resolve(self, caller: Caller, value: Json) -> Json:
        """The body of the package that a URI names; any other argument as it is."""
        if not isinstance(value, str) or not _HANDLE.fullmatch(value.strip()):
            return value
        return (await self.open(caller, value.strip())).body

    async def open(self, caller: Caller, uri: str) -> Package:
        """The package at a handle, `ckf://post/…` or `ckf://example/…`, or NotFound."""
        kind, _, name = uri.partition("://")[2].partition("/")
        if not uri.startswith(PREFIX):
            return await self._open_published(caller, uri, kind, name)
        packed = self.cache.get(caller, name)
        if packed is None:
            raise NotFound(
                f"no package at {uri}",
                uri=uri,
                hint="A handle is valid for an hour and for who compiled it; compile again.",
            )
        if packed.uri:
            # The right to the text may be gone.
            await self.read_source(caller, packed.uri)
        return await anyio.to_thread.run_sync(unpack_package, packed)

    async def _open_published(self, caller: Caller, uri: str, kind: str, name: str) -> Package:
        if kind == "post":
            return (await self.library.fetch(caller, name))[1]
        if name not in TOPICS:
            raise NotFound(f"no example on {name}", uri=uri, hint=f"One of {', '.join(TOPICS)}.")
        return (await anyio.to_thread.run_sync(load_example, name)).package


_HANDLE = re.compile(r"pecia://package/[0-9a-f]{1,64}|ckf://(?:post|example)/[a-z0-9-]{1,200}")
