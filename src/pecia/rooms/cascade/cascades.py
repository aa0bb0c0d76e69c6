"""The cascades of a server by name: opened when first asked for, opened anew when changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from pecia.kernel.errors import InvalidInput, NotFound, PeciaError
from pecia.kernel.identity.caller import Caller
from pecia.kernel.logs import Log
from pecia.kernel.settings.account import expanded
from pecia.rooms.cascade.access import MayRead, visible_layers
from pecia.rooms.cascade.cascade import Cascade
from pecia.rooms.cascade.layers.making import make_layers
from pecia.rooms.cascade.layers.reading import Report, quiet
from pecia.rooms.cascade.manifest import Manifest, read_manifest
from pecia.rooms.cascade.ports import Ports
from pecia.rooms.cascade.sources import SourceReading
from pecia.rooms.cascade.trust import TrustFile
from pecia.rooms.cascade.view import View

_log = Log(__name__)


@dataclass(frozen=True, slots=True)
class Place:
    """A cascade that was configured: where its manifest is, or the manifest itself."""

    name: str
    file: Path | None = None
    manifest: Manifest | None = None


@dataclass(slots=True)
class _Open:
    cascade: Cascade
    stamp: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Seen:
    """A cascade as one caller sees it."""

    name: str
    view: View


@dataclass(slots=True)
class Cascades:
    """Every cascade that is configured."""

    places: Mapping[str, Place]
    ports: Ports
    trust: TrustFile
    may_read: MayRead
    _opened: dict[str, _Open] = field(default_factory=dict[str, _Open])
    _opening: anyio.Lock = field(default_factory=anyio.Lock)

    async def seen(self, caller: Caller, name: str | None, concept: str | None = None) -> Seen:
        """The cascade of that name, else the first, of the layers that the caller may read.

        With a concept its own files are looked at, so that a read is never behind an edit.
        """
        for place in self._meant(name):
            cascade = await self.opened(place)
            layers = await self._visible(caller, cascade.manifest)
            if layers:
                await cascade.refresh()
                if concept is not None:
                    await cascade.look(concept)
                sources = await self._sources(caller, cascade.manifest, layers)
                return Seen(place.name, await cascade.view(layers, sources))
        raise _unknown(name)

    async def names(self, caller: Caller) -> list[str]:
        """The cascades of which this caller sees anything."""
        found: list[str] = []
        for place in self.places.values():
            cascade = await self.opened(place)
            if await self._visible(caller, cascade.manifest):
                found.append(place.name)
        return found

    async def opened(self, place: Place, report: Report = quiet) -> Cascade:
        """The cascade, read; read anew when its manifest is another one."""
        async with self._opening:
            known = self._opened.get(place.name)
            stamp = await run_sync(_stamp, place.file)
            if known is None or known.stamp != stamp:
                known = await self._renewed(place, known, stamp)
                self._opened[place.name] = known
        await known.cascade.open(report)
        return known.cascade

    async def news(self) -> dict[str, set[str]]:
        """By cascade: the concepts that changed since this was last asked."""
        for it in self._opened.values():
            if it.cascade.is_open:
                await it.cascade.refresh()
        taken = {name: it.cascade.take_news() for name, it in self._opened.items()}
        return {name: concepts for name, concepts in taken.items() if concepts}

    def close(self) -> None:
        for it in self._opened.values():
            it.cascade.close()
        self._opened.clear()

    async def _renewed(
        self, place: Place, known: _Open | None, stamp: tuple[int, int] | None
    ) -> _Open:
        """The cascade of the manifest as it is now; a wrong one leaves the last good one."""
        try:
            manifest = await run_sync(_manifest, place)
        except PeciaError as error:
            if known is None:
                raise
            _log.warning("cascade.manifest", cascade=place.name, reason=error.message)
            return _Open(known.cascade, stamp)
        if known is not None:
            known.cascade.close()
        return _Open(self._made(manifest), stamp)

    async def _visible(self, caller: Caller, manifest: Manifest) -> frozenset[str]:
        return await visible_layers(caller, manifest, self.may_read, self.ports.sources)

    async def _sources(
        self, caller: Caller, manifest: Manifest, layers: frozenset[str]
    ) -> dict[str, SourceReading]:
        """What this caller sees of the server's own sources among the layers."""
        read = self.ports.sources
        named = [it for it in manifest.layers if it.source and it.name in layers]
        if read is None:
            return {}
        return {it.name: await read.read(caller, it.source or "", it.name) for it in named}

    def _made(self, manifest: Manifest) -> Cascade:
        trusted = self.trust.trusts(manifest)
        layers = make_layers(manifest, self.ports, trusted=trusted)
        return Cascade(manifest, layers, self.ports)

    def _meant(self, name: str | None) -> Sequence[Place]:
        if name is None:
            return [*self.places.values()]
        return [self.places[name]] if name in self.places else []


def places_of(entries: Sequence[str]) -> dict[str, Place]:
    """What a setting names: `name=/path` or a path, whose folder lends the name."""
    found: dict[str, Place] = {}
    for entry in entries:
        name, equals, path = entry.partition("=")
        file = expanded(Path(path if equals else entry), "cascade.manifests")
        named = name if equals else file.parent.name
        if not file.is_absolute() or not named or named in found:
            raise InvalidInput(
                f"{entry!r} names no cascade, or one that is named already",
                field="cascade.manifests",
                expected="name=/an/absolute/path",
            )
        found[named] = Place(named, file)
    return found


def _manifest(place: Place) -> Manifest:
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


def _unknown(name: str | None) -> NotFound:
    if name is None:
        return NotFound("there is no cascade here, or none that you may read")
    return NotFound(f"no cascade {name!r}", cascade=name)
