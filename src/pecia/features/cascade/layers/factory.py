"""Builds the layers of a manifest. One that cannot be read here is degraded, with the reason."""

from dataclasses import dataclass
from pathlib import Path

from pecia.features.cascade.layers.archive import ArchiveLayer
from pecia.features.cascade.layers.folder import FolderLayer
from pecia.features.cascade.layers.git import GitLayer
from pecia.features.cascade.layers.layer import (
    CascadeLayer,
    LayerContent,
    ReportProgress,
    no_progress,
)
from pecia.features.cascade.layers.mcp import McpLayer
from pecia.features.cascade.layers.pages import PagesLayer
from pecia.features.cascade.manifest import CascadeManifest, LayerKind, LayerSpec
from pecia.features.cascade.ports import CascadePorts

UNTRUSTED_REASON = (
    "the manifest is not trusted to start programs; review it, then: pecia cascade trust MANIFEST"
)

NO_SERVER_REASON = (
    "spaces and sources of a server are read there: name the manifest in its "
    "PECIA_CASCADE_MANIFESTS, then use --cascade NAME"
)


@dataclass(frozen=True, slots=True)
class ClosedLayer:
    """A layer that cannot be read here; `reason` says why."""

    spec: LayerSpec
    reason: str

    async def read(self, report: ReportProgress = no_progress) -> LayerContent:
        return LayerContent(degraded=self.reason)


@dataclass(frozen=True, slots=True)
class SourceLayer:
    """A source of the server. Empty here: its content depends on the caller."""

    spec: LayerSpec

    async def read(self, report: ReportProgress = no_progress) -> LayerContent:
        return LayerContent()


def build_layers(
    manifest: CascadeManifest, ports: CascadePorts, *, trusted: bool
) -> list[CascadeLayer]:
    """Every layer of a manifest, unread. Only a trusted manifest may start programs."""
    folder = manifest.file.parent if manifest.file else Path.cwd()
    return [_build_layer(it, ports, folder, trusted=trusted) for it in manifest.layers]


def _build_layer(
    spec: LayerSpec, ports: CascadePorts, folder: Path, *, trusted: bool
) -> CascadeLayer:
    match spec.kind:
        case LayerKind.FOLDER:
            return FolderLayer(spec)
        case LayerKind.FILES:
            return PagesLayer(spec)
        case LayerKind.ARCHIVE:
            return ArchiveLayer(spec, ports.fetched)
        case LayerKind.GIT if ports.git is not None:
            return GitLayer(spec, ports.git)
        case LayerKind.MCP if not trusted:
            return ClosedLayer(spec, UNTRUSTED_REASON)
        case LayerKind.MCP if ports.foreign is not None:
            return McpLayer(spec, ports.foreign, folder)
        case LayerKind.WIKI | LayerKind.LAKE if ports.sources is not None:
            return SourceLayer(spec)
        case LayerKind.WIKI | LayerKind.LAKE:
            return ClosedLayer(spec, NO_SERVER_REASON)
        case _:
            return ClosedLayer(spec, f"layers of kind {spec.kind} cannot be read here")
