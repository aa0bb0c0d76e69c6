"""The cascades of a server by name: opened on first use, reopened when the manifest changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from pecia.features.cascade.cascade import Cascade
from pecia.features.cascade.core.view import CascadeView
from pecia.features.cascade.layers.factory import build_layers
from pecia.features.cascade.layers.layer import ReportProgress, no_progress
from pecia.features.cascade.manifest import CascadeManifest, read_manifest
from pecia.features.cascade.ports import CascadePorts
from pecia.features.cascade.store import SourceContent
from pecia.features.cascade.trust import TrustFile
from pecia.features.cascade.visibility import MayRead, find_visible_layers
from pecia.kernel.errors import InvalidInput, NotFound, PeciaError
from pecia.kernel.identity.caller import Caller
from pecia.kernel.logs import Log
from pecia.kernel.settings.account import expand_user

_log = Log(__name__)


@dataclass(frozen=True, slots=True)
class CascadeOrigin:
    """A configured cascade: the path of its manifest, or the manifest itself."""

    name: str
    file: Path | None = None
    manifest: CascadeManifest | None = None


@dataclass(slots=True)
class _OpenCascade:
    cascade: Cascade
    stamp: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class VisibleCascade:
    """A cascade as one caller sees it."""

    name: str
    view: CascadeView


@dataclass(slots=True)
class CascadeRegistry:
    """All configured cascades."""

    origins: Mapping[str, CascadeOrigin]
    ports: CascadePorts
    trust: TrustFile
    may_read: MayRead
    _opened: dict[str, _OpenCascade] = field(default_factory=dict[str, _OpenCascade])
    _open_lock: anyio.Lock = field(default_factory=anyio.Lock)

    async def find_visible(
        self, caller: Caller, name: str | None, concept: str | None = None
    ) -> VisibleCascade:
        """The named cascade, else the first, with the layers that the caller may read.

        With a concept, its own files are rechecked, so that a read is never behind an edit.
        """
        for place in self._select(name):
            cascade = await self.get_or_open(place)
            layers = await self._visible(caller, cascade.manifest)
            if layers:
                await cascade.refresh()
                if concept is not None:
                    await cascade.refresh_concept(concept)
                sources = await self._read_sources(caller, cascade.manifest, layers)
                return VisibleCascade(place.name, await cascade.view(layers, sources))
        raise _not_found(name)

    async def list_visible(self, caller: Caller) -> list[str]:
        """The cascades with a layer visible to the caller."""
        found: list[str] = []
        for place in self.origins.values():
            cascade = await self.get_or_open(place)
            if await self._visible(caller, cascade.manifest):
                found.append(place.name)
        return found

    async def get_or_open(
        self, place: CascadeOrigin, report: ReportProgress = no_progress
    ) -> Cascade:
        """The open cascade; reloaded when its manifest changed."""
        async with self._open_lock:
            known = self._opened.get(place.name)
            stamp = await run_sync(_stamp, place.file)
            if known is None or known.stamp != stamp:
                known = await self._reload(place, known, stamp)
                self._opened[place.name] = known
        await known.cascade.open(report)
        return known.cascade

    async def take_changes(self) -> dict[str, set[str]]:
        """Concepts that changed since the last call, by cascade."""
        for it in self._opened.values():
            if it.cascade.is_open:
                await it.cascade.refresh()
        taken = {name: it.cascade.take_changes() for name, it in self._opened.items()}
        return {name: concepts for name, concepts in taken.items() if concepts}

    def close(self) -> None:
        for it in self._opened.values():
            it.cascade.close()
        self._opened.clear()

    async def _reload(
        self, place: CascadeOrigin, known: _OpenCascade | None, stamp: tuple[int, int] | None
    ) -> _OpenCascade:
        """Reload from the current manifest; an invalid one keeps the last good cascade."""
        try:
            manifest = await run_sync(_load_manifest, place)
        except PeciaError as error:
            if known is None:
                raise
            _log.warning("cascade.manifest", cascade=place.name, reason=error.message)
            return _OpenCascade(known.cascade, stamp)
        if known is not None:
            known.cascade.close()
        return _OpenCascade(self._build(manifest), stamp)

    async def _visible(self, caller: Caller, manifest: CascadeManifest) -> frozenset[str]:
        return await find_visible_layers(caller, manifest, self.may_read, self.ports.sources)

    async def _read_sources(
        self, caller: Caller, manifest: CascadeManifest, layers: frozenset[str]
    ) -> dict[str, SourceContent]:
        """The caller's content of the layers that are sources of this server."""
        read = self.ports.sources
        named = [it for it in manifest.layers if it.source and it.name in layers]
        if read is None:
            return {}
        return {it.name: await read.read(caller, it.source or "", it.name) for it in named}

    def _build(self, manifest: CascadeManifest) -> Cascade:
        trusted = self.trust.is_trusted(manifest)
        layers = build_layers(manifest, self.ports, trusted=trusted)
        return Cascade(manifest, layers, self.ports)

    def _select(self, name: str | None) -> Sequence[CascadeOrigin]:
        if name is None:
            return [*self.origins.values()]
        return [self.origins[name]] if name in self.origins else []


def parse_origins(entries: Sequence[str]) -> dict[str, CascadeOrigin]:
    """Parse the setting: `name=/path`, or a path, named after its folder."""
    found: dict[str, CascadeOrigin] = {}
    for entry in entries:
        name, equals, path = entry.partition("=")
        file = expand_user(Path(path if equals else entry), "cascade.manifests")
        named = name if equals else file.parent.name
        if not file.is_absolute() or not named or named in found:
            raise InvalidInput(
                f"{entry!r} has no cascade name, or a duplicate one",
                field="cascade.manifests",
                expected="name=/an/absolute/path",
            )
        found[named] = CascadeOrigin(named, file)
    return found


def _load_manifest(place: CascadeOrigin) -> CascadeManifest:
    if place.manifest is not None:
        return place.manifest
    assert place.file is not None
    return read_manifest(place.file, place.name)


def _stamp(file: Path | None) -> tuple[int, int] | None:
    try:
        found = file.stat() if file else None
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size) if found else None


def _not_found(name: str | None) -> NotFound:
    if name is None:
        return NotFound(
            "no cascade is configured, or none that you may read",
            hint="The setting cascade.manifests names them; without a server, --manifest does.",
        )
    return NotFound(f"no cascade {name!r}", cascade=name)
