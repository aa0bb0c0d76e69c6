"""An open cascade: the last content of its layers, and the cached views on them."""

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress

import anyio
from anyio.to_thread import run_sync

from pecia.features.cascade.core.view import CascadeView, RankedLayer
from pecia.features.cascade.layers.factory import SourceLayer
from pecia.features.cascade.layers.folder import FolderLayer
from pecia.features.cascade.layers.layer import (
    CascadeLayer,
    LayerContent,
    ReportProgress,
    no_progress,
)
from pecia.features.cascade.manifest import CascadeManifest
from pecia.features.cascade.model import LayerRank
from pecia.features.cascade.ports import CascadePorts, FolderChanges
from pecia.features.cascade.store import SourceContent

REFRESH_INTERVAL_S = 60.0
"""TTL of a layer without change notifications; it is reread on the next request."""

MAX_VIEWS = 4
"""Cached views, one per set of layers, each with its own index."""


class Cascade:
    """The layers of one manifest. Callers are unknown here: a view is keyed by layer names."""

    def __init__(
        self,
        manifest: CascadeManifest,
        layers: Sequence[CascadeLayer],
        ports: CascadePorts | None = None,
    ) -> None:
        self.manifest = manifest
        self._layers = {it.spec.name: it for it in layers}
        self._readings: dict[str, LayerContent] = {}
        self._views: OrderedDict[Hashable, CascadeView] = OrderedDict()
        self._ports = ports or CascadePorts()
        self._read_at: dict[str, float] = {}
        self._news: set[str] = set()
        self._notices: dict[str, FolderChanges] = {}
        self._changing = anyio.Lock()

    @property
    def is_open(self) -> bool:
        return self._readings.keys() == self._layers.keys()

    async def open(self, report: ReportProgress = no_progress) -> None:
        """Read every layer. Watching starts before reading."""
        async with self._changing:
            if self.is_open:
                return
            self._start_watches()
            # Shielded: if the caller gives up, the next one finds it done.
            with anyio.CancelScope(shield=True):
                async with anyio.create_task_group() as group:
                    group.start_soon(self._read_folders, report)
                    for layer in self._layers.values():
                        if not isinstance(layer, FolderLayer):
                            group.start_soon(self._read, layer, report)

    async def view(
        self, layers: frozenset[str], seen: Mapping[str, SourceContent] | None = None
    ) -> CascadeView:
        """The view of these layers only; of a source, only the content the caller sees."""
        await self.open()
        own = seen or {}
        key = layers, frozenset((name, it.version) for name, it in own.items())
        async with self._changing:
            if key not in self._views:
                readings = {**self._readings, **{name: it.content for name, it in own.items()}}
                # In manifest order, in which degraded layers are reported.
                held = [
                    RankedLayer(_layer_rank(layer), readings[name])
                    for name, layer in self._layers.items()
                    if name in layers
                ]
                self._views[key] = await run_sync(CascadeView, held)
            self._views.move_to_end(key)
            while len(self._views) > MAX_VIEWS:
                self._views.popitem(last=False)
            return self._views[key]

    async def refresh(self) -> set[str]:
        """Apply the folder changes since the last call; returns the changed ids."""
        changed: set[str] = set()
        for name, layer in self._layers.items():
            is_old = self._read_at[name] + REFRESH_INTERVAL_S < anyio.current_time()
            if is_old and not isinstance(layer, FolderLayer | SourceLayer):
                changed |= await self._refresh_layer(layer)
        for name, notices in self._notices.items():
            paths = notices.take()
            layer = self._layers[name]
            if paths == frozenset() or not isinstance(layer, FolderLayer):
                continue
            changed |= await self._reread(layer, paths)
        return changed

    async def refresh_concept(self, concept: str) -> set[str]:
        """Recheck a concept's own files, so that a read is never behind an edit."""
        folders = [it for it in self._layers.values() if isinstance(it, FolderLayer)]
        async with self._changing:
            found = {it.spec.name: await run_sync(it.refresh_concept, concept) for it in folders}
            return self._update_views(found)

    def take_changes(self) -> set[str]:
        """Concepts that changed since the last call, however it was detected."""
        taken, self._news = self._news, set()
        return taken

    def close(self) -> None:
        for it in self._notices.values():
            it.close()
        self._notices.clear()

    async def _read_folders(self, report: ReportProgress) -> None:
        """Sequentially: parsing threads only contend for the GIL."""
        for layer in self._layers.values():
            if isinstance(layer, FolderLayer):
                await self._read(layer, report)

    async def _read(self, layer: CascadeLayer, report: ReportProgress) -> None:
        reading = await layer.read(report)
        git = self._ports.git
        if git is not None and isinstance(layer, FolderLayer) and layer.has_undated:
            layer.apply_git_days(await git.days(layer.root))
        self._readings[layer.spec.name] = reading
        self._read_at[layer.spec.name] = anyio.current_time()

    async def _refresh_layer(self, layer: CascadeLayer) -> set[str]:
        """Reread a layer without change notifications. Meanwhile others see the old content."""
        name = layer.spec.name
        self._read_at[name] = anyio.current_time()
        reading = await layer.read()
        async with self._changing:
            before, after = self._readings[name].documents, reading.documents
            self._readings[name] = reading
            every = before.keys() | after.keys()
            return self._record_changes({it for it in every if before.get(it) != after.get(it)})

    async def _reread(self, layer: FolderLayer, paths: frozenset[str] | None) -> set[str]:
        async with self._changing:
            if paths is not None and not await run_sync(layer.is_unclear, paths):
                found = await run_sync(layer.reread, paths)
                return self._update_views({layer.spec.name: found})
            before = dict(layer.current_content().documents)
            reading = await layer.read()
            after = reading.documents
            every = before.keys() | after.keys()
            found = {it for it in every if before.get(it) is not after.get(it)}
            self._readings[layer.spec.name] = reading
            return self._update_views({layer.spec.name: found})

    def _update_views(self, by_layer: dict[str, set[str]]) -> set[str]:
        for name in by_layer:
            layer = self._layers[name]
            assert isinstance(layer, FolderLayer)
            self._readings[name] = layer.current_content()
        return self._record_changes({it for found in by_layer.values() for it in found})

    def _record_changes(self, concepts: set[str]) -> set[str]:
        self._news |= concepts
        # Source content is per caller, and never replaced by the empty shared content.
        own = {
            name: reading
            for name, reading in self._readings.items()
            if not isinstance(self._layers[name], SourceLayer)
        }
        for view in self._views.values():
            view.update(own, concepts)
        return concepts

    def _start_watches(self) -> None:
        watch = self._ports.watch
        if watch is None:
            return
        for name, layer in self._layers.items():
            if isinstance(layer, FolderLayer):
                with suppress(OSError):
                    self._notices[name] = watch(layer.root)


def _layer_rank(layer: CascadeLayer) -> LayerRank:
    return LayerRank(layer.spec.name, layer.spec.level, layer.spec.position)
