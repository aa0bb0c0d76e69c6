"""The layer that a manifest describes. One whose way is closed is there, and says why."""

from dataclasses import dataclass
from pathlib import Path

from pecia.rooms.cascade.layers.archive import ArchiveLayer
from pecia.rooms.cascade.layers.folder import FolderLayer
from pecia.rooms.cascade.layers.foreign import ForeignLayer
from pecia.rooms.cascade.layers.git import GitLayer
from pecia.rooms.cascade.layers.plain import FilesLayer
from pecia.rooms.cascade.layers.reading import Layer, Reading, Report, quiet
from pecia.rooms.cascade.manifest import Kind, LayerSpec, Manifest
from pecia.rooms.cascade.ports import Ports

UNTRUSTED = (
    "the manifest is not trusted to start programs; look at it, then: pecia cascade trust MANIFEST"
)

NO_SERVER = (
    "spaces and sources of a server are read there: name the manifest in its "
    "PECIA_CASCADE_MANIFESTS, then ask with --cascade NAME"
)


@dataclass(frozen=True, slots=True)
class ClosedLayer:
    """A layer that cannot be read here; `reason` says why."""

    spec: LayerSpec
    reason: str

    async def read(self, report: Report = quiet) -> Reading:
        return Reading(degraded=self.reason)


@dataclass(frozen=True, slots=True)
class SourceLayer:
    """A source of the server. It holds nothing here: every caller sees another part of it."""

    spec: LayerSpec

    async def read(self, report: Report = quiet) -> Reading:
        return Reading()


def make_layers(manifest: Manifest, ports: Ports, *, trusted: bool) -> list[Layer]:
    """Every layer of a manifest, ready to be read. Only a trusted one may start a program."""
    folder = manifest.file.parent if manifest.file else Path.cwd()
    return [_layer(it, ports, folder, trusted=trusted) for it in manifest.layers]


def _layer(spec: LayerSpec, ports: Ports, folder: Path, *, trusted: bool) -> Layer:
    match spec.kind:
        case Kind.FOLDER:
            return FolderLayer(spec)
        case Kind.FILES:
            return FilesLayer(spec)
        case Kind.ARCHIVE:
            return ArchiveLayer(spec, ports.fetched)
        case Kind.GIT if ports.git is not None:
            return GitLayer(spec, ports.git)
        case Kind.MCP if not trusted:
            return ClosedLayer(spec, UNTRUSTED)
        case Kind.MCP if ports.foreign is not None:
            return ForeignLayer(spec, ports.foreign, folder)
        case Kind.WIKI | Kind.LAKE if ports.sources is not None:
            return SourceLayer(spec)
        case Kind.WIKI | Kind.LAKE:
            return ClosedLayer(spec, NO_SERVER)
        case _:
            return ClosedLayer(spec, f"layers of kind {spec.kind} cannot be read here")
